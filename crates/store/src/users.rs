//! People, by name.

use fermi_domain::principal::Role;
use rusqlite::{OptionalExtension, Row, params};

use crate::{
    StoreError, Transaction, View,
    row::{signed, unsigned},
};

/// A user as it is kept, but for the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub role: Role,
    pub created_ms: u64,
}

impl View<'_> {
    /// All users that were not removed, by name.
    pub fn users(&self) -> Result<Vec<User>, StoreError> {
        let sql = "SELECT name, role, created_ms FROM users WHERE removed_ms IS NULL ORDER BY name";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut users = Vec::new();
        while let Some(row) = rows.next()? {
            users.push(read(row)?);
        }
        Ok(users)
    }

    pub fn user(&self, name: &str) -> Result<Option<User>, StoreError> {
        let sql = "SELECT name, role, created_ms FROM users WHERE name = ?1 AND removed_ms IS NULL";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([name])?;
        rows.next()?.map(read).transpose()
    }

    /// Whether a user of this name is or was here.
    pub fn is_name_known(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.connection.prepare_cached("SELECT 1 FROM users WHERE name = ?1")?.exists([name])?)
    }

    /// The hash of a user's password; empty where there is none, of a user who comes with a company account.
    pub fn password_of(&self, name: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT password FROM users WHERE name = ?1 AND removed_ms IS NULL";
        Ok(self.connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?)
    }
}

impl Transaction<'_> {
    /// Keeps a user; one of this name that was removed is back, without the tokens and the company account of that time. False
    /// where there is one.
    pub fn add_user(&mut self, name: &str, role: Role, password: &str, now_ms: u64) -> Result<bool, StoreError> {
        let sql = "INSERT INTO users (name, role, password, created_ms) VALUES (?1, ?2, ?3, ?4) \
                   ON CONFLICT (name) DO UPDATE SET role = excluded.role, password = excluded.password, \
                   removed_ms = NULL WHERE removed_ms IS NOT NULL";
        let added =
            self.connection.prepare_cached(sql)?.execute(params![name, role.as_str(), password, signed(now_ms)])?;
        if added > 0 {
            self.connection.prepare_cached("DELETE FROM tokens WHERE user = ?1")?.execute([name])?;
            self.connection.prepare_cached("DELETE FROM oidc_links WHERE user = ?1")?.execute([name])?;
        }
        Ok(added > 0)
    }

    /// False where there is none, here and below.
    pub fn set_role(&mut self, name: &str, role: Role) -> Result<bool, StoreError> {
        let sql = "UPDATE users SET role = ?2 WHERE name = ?1 AND removed_ms IS NULL";
        Ok(self.connection.prepare_cached(sql)?.execute(params![name, role.as_str()])? > 0)
    }

    pub fn set_password(&mut self, name: &str, password: &str) -> Result<bool, StoreError> {
        let sql = "UPDATE users SET password = ?2 WHERE name = ?1 AND removed_ms IS NULL";
        Ok(self.connection.prepare_cached(sql)?.execute(params![name, password])? > 0)
    }

    /// Removes a user with its sessions, tokens and secrets.
    pub fn remove_user(&mut self, name: &str, now_ms: u64) -> Result<bool, StoreError> {
        let sql = "UPDATE users SET removed_ms = ?2, password = '' WHERE name = ?1 AND removed_ms IS NULL";
        let removed = self.connection.prepare_cached(sql)?.execute(params![name, signed(now_ms)])?;
        self.connection.prepare_cached("DELETE FROM tokens WHERE user = ?1")?.execute([name])?;
        self.remove_secrets_of(name)?;
        Ok(removed > 0)
    }
}

fn read(row: &Row<'_>) -> Result<User, StoreError> {
    let role: String = row.get(1)?;
    Ok(User { name: row.get(0)?, role: read_role(&role)?, created_ms: unsigned(row.get(2)?) })
}

pub(crate) fn read_role(text: &str) -> Result<Role, StoreError> {
    text.parse().map_err(|_| StoreError::Value { noun: "role", value: text.to_owned() })
}
