//! Answers that were given to requests with a key, so that the same request again gets the same answer.

use rusqlite::{OptionalExtension, params};

use crate::{StoreError, Transaction, View, events::PRUNE_AT_ONCE, row::signed};

/// An answer that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// Of the request; another one under the same key is a mistake of its sender.
    pub digest: String,
    pub status: u16,
    pub body: Vec<u8>,
}

impl View<'_> {
    /// The answer that was given under a key, within a scope such as a user and an endpoint.
    pub fn recall(&self, scope: &str, key: &str) -> Result<Option<Remembered>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT digest, status, body FROM idempotency WHERE scope = ?1 AND key = ?2")?;
        let found = statement.query_row([scope, key], |row| {
            Ok(Remembered { digest: row.get(0)?, status: row.get(1)?, body: row.get(2)? })
        });
        Ok(found.optional()?)
    }
}

impl Transaction<'_> {
    /// Keeps an answer. If there is one already it stays, and is given back instead.
    pub fn remember(
        &mut self,
        scope: &str,
        key: &str,
        answer: &Remembered,
        now_ms: u64,
    ) -> Result<Option<Remembered>, StoreError> {
        if let Some(earlier) = self.recall(scope, key)? {
            return Ok(Some(earlier));
        }
        self.connection
            .prepare_cached(
                "INSERT INTO idempotency (scope, key, digest, status, body, created_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![scope, key, answer.digest, answer.status, answer.body, signed(now_ms)])?;
        Ok(None)
    }

    /// Forgets the answer under a key.
    pub fn forget(&mut self, scope: &str, key: &str) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached("DELETE FROM idempotency WHERE scope = ?1 AND key = ?2")?;
        statement.execute([scope, key])?;
        Ok(())
    }

    /// Forgets answers from before a time. Gives how many; after [`PRUNE_AT_ONCE`] there may be more.
    pub fn forget_older_than(&mut self, time_ms: u64) -> Result<usize, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "DELETE FROM idempotency WHERE (scope, key) IN \
             (SELECT scope, key FROM idempotency WHERE created_ms < ?1 ORDER BY created_ms LIMIT ?2)",
        )?;
        Ok(statement.execute([signed(time_ms), signed(PRUNE_AT_ONCE as u64)])?)
    }
}
