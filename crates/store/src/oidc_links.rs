//! Which user a company account is, by issuer and subject.

use fermi_domain::access::oidc::LinkedUser;
use rusqlite::{OptionalExtension, params};

use crate::{StoreError, Transaction, View, row::signed, users::read_role};

impl View<'_> {
    /// The user of a company account, also one who was removed.
    pub fn linked_user(&self, issuer: &str, subject: &str) -> Result<Option<LinkedUser>, StoreError> {
        let sql = "SELECT name, role, removed_ms IS NOT NULL FROM users JOIN oidc_links ON oidc_links.user = users.name \
                   WHERE issuer = ?1 AND subject = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?));
        let found = statement.query_row([issuer, subject], read).optional()?;
        found.map(|(name, role, is_removed)| Ok(LinkedUser { name, role: read_role(&role)?, is_removed })).transpose()
    }

    /// The names of users who have a company account.
    pub fn linked_names(&self) -> Result<Vec<String>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT user FROM oidc_links")?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl Transaction<'_> {
    /// A company account is this user from now on, in the place of what either was linked to.
    pub fn link_user(&mut self, issuer: &str, subject: &str, user: &str, now_ms: u64) -> Result<(), StoreError> {
        let sql = "DELETE FROM oidc_links WHERE issuer = ?1 AND (subject = ?2 OR user = ?3)";
        self.connection.prepare_cached(sql)?.execute([issuer, subject, user])?;
        let sql = "INSERT INTO oidc_links (issuer, subject, user, linked_ms) VALUES (?1, ?2, ?3, ?4)";
        self.connection.prepare_cached(sql)?.execute(params![issuer, subject, user, signed(now_ms)])?;
        Ok(())
    }
}
