//! Where the time of all tasks has gone, by cause: it only grows.

use std::collections::BTreeMap;

use rusqlite::params;

use crate::{
    StoreError, Transaction, View,
    row::{signed, unsigned},
};

impl View<'_> {
    /// Milliseconds by the name of their cause.
    pub fn spent(&self) -> Result<BTreeMap<String, u64>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT cause, ms FROM spent")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, unsigned(row.get(1)?))))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl Transaction<'_> {
    pub fn add_spent(&mut self, cause: &str, ms: u64) -> Result<(), StoreError> {
        let sql = "INSERT INTO spent (cause, ms) VALUES (?1, ?2) ON CONFLICT (cause) DO UPDATE SET ms = ms + ?2";
        self.connection.prepare_cached(sql)?.execute(params![cause, signed(ms)])?;
        Ok(())
    }
}
