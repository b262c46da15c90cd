//! Whose a dataset, a model or a group is, by its id. Ids are never given twice, so that none comes to a new owner.

use rusqlite::{OptionalExtension, params};

use crate::{StoreError, Transaction, View};

impl View<'_> {
    /// The user who made it; none of what was made before there were users.
    pub fn owner(&self, thing: &str) -> Result<Option<String>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT user FROM owners WHERE thing = ?1")?;
        Ok(statement.query_row([thing], |row| row.get(0)).optional()?)
    }
}

impl Transaction<'_> {
    pub fn set_owner(&mut self, thing: &str, user: &str) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO owners (thing, user) VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![thing, user])?;
        Ok(())
    }

    /// For what is deleted.
    pub fn forget_owner(&mut self, thing: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached("DELETE FROM owners WHERE thing = ?1")?.execute([thing])?;
        Ok(())
    }
}
