//! Secrets, sealed: what is in a row is of no use without the server's key.

use fermi_domain::access::SecretHolder;
use rusqlite::{OptionalExtension, params};

use crate::{
    StoreError, Transaction, View,
    row::{signed, unsigned},
};

/// A value under the server's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedValue {
    pub nonce: [u8; 24],
    pub sealed: Vec<u8>,
}

/// A secret as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRow {
    pub holder: SecretHolder,
    pub name: String,
    pub updated_ms: u64,
}

impl View<'_> {
    /// All of them, what is everyone's first, then by user and name.
    pub fn secrets(&self) -> Result<Vec<SecretRow>, StoreError> {
        let sql = "SELECT user, name, updated_ms FROM secrets ORDER BY user, name";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([], |row| {
            Ok(SecretRow { holder: holder(row.get(0)?), name: row.get(1)?, updated_ms: unsigned(row.get(2)?) })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub fn secret(&self, holder: &SecretHolder, name: &str) -> Result<Option<SealedValue>, StoreError> {
        let sql = "SELECT nonce, sealed FROM secrets WHERE user = ?1 AND name = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let read = |row: &rusqlite::Row<'_>| Ok(SealedValue { nonce: row.get(0)?, sealed: row.get(1)? });
        Ok(statement.query_row([column(holder), name], read).optional()?)
    }
}

impl Transaction<'_> {
    /// Keeps a secret, in the place of one of the same name.
    pub fn set_secret(
        &mut self,
        holder: &SecretHolder,
        name: &str,
        value: &SealedValue,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO secrets (user, name, nonce, sealed, updated_ms) VALUES (?1, ?2, ?3, ?4, ?5)";
        let row = params![column(holder), name, value.nonce, value.sealed, signed(now_ms)];
        self.connection.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// Says whether there was one.
    pub fn remove_secret(&mut self, holder: &SecretHolder, name: &str) -> Result<bool, StoreError> {
        let sql = "DELETE FROM secrets WHERE user = ?1 AND name = ?2";
        Ok(self.connection.prepare_cached(sql)?.execute([column(holder), name])? > 0)
    }

    /// For a user who is removed.
    pub fn remove_secrets_of(&mut self, user: &str) -> Result<usize, StoreError> {
        Ok(self.connection.prepare_cached("DELETE FROM secrets WHERE user = ?1")?.execute([user])?)
    }
}

fn column(holder: &SecretHolder) -> &str {
    holder.user().unwrap_or_default()
}

fn holder(user: String) -> SecretHolder {
    if user.is_empty() { SecretHolder::Shared } else { SecretHolder::User(user) }
}
