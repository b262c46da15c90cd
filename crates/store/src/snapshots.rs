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

/// The digest by which a snapshot is kept, as a task may name it.
pub fn bare(digest: &str) -> String {
    digest.strip_prefix("sha256:").unwrap_or(digest).to_ascii_lowercase()
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
    /// Notes a snapshot. One that is known already counts as sent now: whoever has sent it again is about to name it.
    pub fn put_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let Snapshot { digest, name, bytes, created_ms } = snapshot;
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO snapshots (digest, name, bytes, created_ms) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (digest) DO UPDATE SET created_ms = excluded.created_ms",
        )?;
        statement.execute(params![digest, name, signed(*bytes), signed(*created_ms)])?;
        Ok(())
    }

    /// Notes that a snapshot was sent again; nothing where it is not known any more.
    pub fn renew_snapshot(&mut self, digest: &str, created_ms: u64) -> Result<Option<Snapshot>, StoreError> {
        let mut statement = self.connection.prepare_cached("UPDATE snapshots SET created_ms = ?2 WHERE digest = ?1")?;
        statement.execute(params![digest, signed(created_ms)])?;
        self.snapshot(digest)
    }
}
