//! Snapshots of code folders that were sent once; the bytes themselves are kept elsewhere, by digest.

use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use crate::{
    StoreError, Transaction, View,
    row::{signed, unsigned},
};

/// A snapshot that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    pub digest: String,
    pub name: String,
    /// How many bytes it has.
    pub bytes: u64,
    pub created_ms: u64,
}

impl View<'_> {
    pub fn snapshot(&self, digest: &str) -> Result<Option<Snapshot>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT digest, name, bytes, created_ms FROM snapshots WHERE digest = ?1")?;
        Ok(statement.query_row([digest], read).optional()?)
    }

    /// All snapshots, the newest first.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT digest, name, bytes, created_ms FROM snapshots ORDER BY created_ms DESC, digest")?;
        Ok(statement.query_map([], read)?.collect::<Result<_, _>>()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Snapshot> {
    Ok(Snapshot {
        digest: row.get(0)?,
        name: row.get(1)?,
        bytes: unsigned(row.get(2)?),
        created_ms: unsigned(row.get(3)?),
    })
}

impl Transaction<'_> {
    /// Notes a snapshot; one that is known already stays as it was. Says whether it is new.
    pub fn put_snapshot(&mut self, snapshot: &Snapshot) -> Result<bool, StoreError> {
        let Snapshot { digest, name, bytes, created_ms } = snapshot;
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO snapshots (digest, name, bytes, created_ms) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (digest) DO NOTHING",
        )?;
        Ok(statement.execute(params![digest, name, signed(*bytes), signed(*created_ms)])? > 0)
    }
}
