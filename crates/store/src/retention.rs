//! What the retention asks of the database: who owns what is kept in files, and how much there is.

use std::collections::{HashMap, HashSet};

use fermi_domain::{ids::TaskId, retention::LogOwner, task::ClockNote};
use rusqlite::{OptionalExtension, Row, params};

use crate::{
    StoreError, Transaction, View,
    row::{json, signed, unsigned},
    snapshots::bare,
    tasks::{Standing, task_id, task_seq},
};

const CLOCK: &str = "believed_ms";
const CLOCKS: &str = "clocks";

/// How many rows there are of what has no page of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    pub events: u64,
    pub answers: u64,
}

impl View<'_> {
    /// How each task stands, for what is kept of it in files.
    pub fn log_owners(&self) -> Result<HashMap<TaskId, LogOwner>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT seq, standing, ended_ms, updated_ms FROM tasks")?;
        let mut rows = statement.query([])?;
        let mut owners = HashMap::new();
        while let Some(row) = rows.next()? {
            owners.insert(task_id(row.get(0)?), owner(row)?);
        }
        // What would be let go of now would come once more, from its beginning.
        for trailing in self.trailing()? {
            owners.entry(trailing.run.task).and_modify(|owner| *owner = LogOwner::Live);
        }
        Ok(owners)
    }

    /// How one task stands; none where there is none.
    pub fn log_owner(&self, task: &TaskId) -> Result<Option<LogOwner>, StoreError> {
        let Some(number) = task_seq(task) else { return Ok(None) };
        let mut statement =
            self.connection.prepare_cached("SELECT seq, standing, ended_ms, updated_ms FROM tasks WHERE seq = ?1")?;
        let owner = statement.query_row([number], owner).optional()?;
        let is_trailing = owner.is_some() && !self.trailing_of(task)?.is_empty();
        Ok(if is_trailing { Some(LogOwner::Live) } else { owner })
    }

    /// The digests of code that tasks refer to, without what stands before them.
    pub fn used_snapshots(&self) -> Result<HashSet<String>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT DISTINCT json_extract(document, '$.spec.source.snapshot') FROM tasks \
             WHERE json_extract(document, '$.spec.source.snapshot') IS NOT NULL",
        )?;
        let found = statement.query_map([], |row| row.get::<_, String>(0))?;
        Ok(found.map(|digest| digest.map(|digest| bare(&digest))).collect::<Result<_, _>>()?)
    }

    pub fn row_counts(&self) -> Result<RowCounts, StoreError> {
        let answers: i64 =
            self.connection.prepare_cached("SELECT count(*) FROM idempotency")?.query_row([], |row| row.get(0))?;
        // Cursors have gaps where a backup was put back.
        let events: i64 =
            self.connection.prepare_cached("SELECT count(*) FROM events")?.query_row([], |row| row.get(0))?;
        Ok(RowCounts { events: unsigned(events), answers: unsigned(answers) })
    }

    /// The time that was believed last.
    pub fn believed_ms(&self) -> Result<Option<u64>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
        let found: Option<String> = statement.query_row([CLOCK], |row| row.get(0)).optional()?;
        Ok(found.and_then(|text| text.parse().ok()))
    }

    /// Both clocks as they were noted last; none where no release has noted them that is understood.
    pub fn clock_note(&self) -> Result<Option<ClockNote>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
        let found: Option<String> = statement.query_row([CLOCKS], |row| row.get(0)).optional()?;
        Ok(found.and_then(|text| serde_json::from_str(&text).ok()))
    }
}

fn owner(row: &Row<'_>) -> rusqlite::Result<LogOwner> {
    let is_resting = row.get::<_, i64>(1)? == Standing::Resting as i64;
    let ended: Option<i64> = row.get(2)?;
    let ended_ms = unsigned(ended.map_or_else(|| row.get(3), Ok)?);
    Ok(if is_resting { LogOwner::Over { ended_ms } } else { LogOwner::Live })
}

impl Transaction<'_> {
    pub fn put_believed_ms(&mut self, believed_ms: u64) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        )?;
        statement.execute(params![CLOCK, believed_ms.to_string()])?;
        Ok(())
    }

    pub fn put_clock_note(&mut self, note: &ClockNote) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        )?;
        statement.execute(params![CLOCKS, json("clock", note)?])?;
        Ok(())
    }

    /// Forgets a snapshot, unless it was sent anew or named by a task meanwhile.
    pub fn delete_snapshot(&mut self, digest: &str, created_ms: u64) -> Result<bool, StoreError> {
        if self.used_snapshots()?.contains(digest) {
            return Ok(false);
        }
        let mut statement =
            self.connection.prepare_cached("DELETE FROM snapshots WHERE digest = ?1 AND created_ms = ?2")?;
        Ok(statement.execute(params![digest, signed(created_ms)])? > 0)
    }
}
