//! What the database knows of its own restores, and the runs that it has never launched.

use fermi_domain::{
    fleet::{History, KnownRun, StrayRun},
    ids::EnvironmentId,
    task::RunKey,
};
use rusqlite::{OptionalExtension, params};

use crate::{
    StoreError, Transaction, View,
    row::{document, json, signed, unsigned},
};

/// How many cursors a restore passes over, so that what followers have seen since the backup is not numbered again.
const CURSOR_LEAP: i64 = 1 << 32;

impl View<'_> {
    pub fn history(&self) -> Result<History, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT value FROM meta WHERE key = 'history'")?;
        let stored: Option<String> = statement.query_row([], |row| row.get(0)).optional()?;
        stored.map_or_else(|| Ok(History::default()), |json| document("history", &json))
    }

    /// The highest number that a task was given.
    pub fn last_task_number(&self) -> Result<u64, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'tasks'")?;
        Ok(statement.query_row([], |row| row.get(0)).optional()?.map_or(0, unsigned))
    }

    /// The runs that were set aside, in the order of their names.
    pub fn strays(&self) -> Result<Vec<StrayRun>, StoreError> {
        let sql = "SELECT key, environment_id, alive, ending, found_ms FROM strays ORDER BY key, environment_id";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut strays = Vec::new();
        while let Some(row) = rows.next()? {
            let key: String = row.get(0)?;
            strays.push(StrayRun {
                run: key.parse().map_err(|_| StoreError::Value { noun: "run", value: key })?,
                environment: EnvironmentId(row.get(1)?),
                alive: row.get(2)?,
                ending: row.get(3)?,
                found_ms: unsigned(row.get(4)?),
            });
        }
        Ok(strays)
    }
}

impl Transaction<'_> {
    /// Takes note of a restore: numbers and cursors go on where nothing can have been given. `seen` is the highest number
    /// of a task that anything else speaks of.
    pub fn note_restore(&mut self, seen: u64) -> Result<History, StoreError> {
        let mut history = self.history()?;
        let environments = self.environments()?.into_iter().filter(|row| !row.duty.is_lost());
        let environments = environments.map(|row| row.environment.id);
        let next = history.restored(self.last_task_number()?, seen, environments);
        let cursor = self.last_event()?.max(signed(history.epoch).saturating_mul(CURSOR_LEAP));
        for (table, rows) in [("tasks", signed(next)), ("events", cursor)] {
            let changed = self
                .connection
                .prepare_cached("UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1")?
                .execute(params![table, rows])?;
            if changed == 0 {
                self.connection
                    .prepare_cached("INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)")?
                    .execute(params![table, rows])?;
            }
        }
        self.set_history(&history)?;
        Ok(history)
    }

    fn last_event(&self) -> Result<i64, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'events'")?;
        Ok(statement.query_row([], |row| row.get(0)).optional()?.unwrap_or(0))
    }

    pub fn set_history(&mut self, history: &History) -> Result<(), StoreError> {
        let sql = "INSERT INTO meta (key, value) VALUES ('history', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1";
        self.connection.prepare_cached(sql)?.execute([json("history", history)?])?;
        Ok(())
    }

    /// Sets a run aside; one that was before is known to live or not. Says whether it is new.
    pub fn put_stray(&mut self, known: &KnownRun, at: &EnvironmentId, now_ms: u64) -> Result<bool, StoreError> {
        let key = known.run.to_string();
        let changed = self
            .connection
            .prepare_cached("UPDATE strays SET alive = ?3 WHERE key = ?1 AND environment_id = ?2")?
            .execute(params![key, at.as_str(), known.alive])?;
        if changed > 0 {
            return Ok(false);
        }
        self.connection
            .prepare_cached(
                "INSERT INTO strays (key, environment_id, alive, ending, found_ms) VALUES (?1, ?2, ?3, 0, ?4)",
            )?
            .execute(params![key, at.as_str(), known.alive, signed(now_ms)])?;
        Ok(true)
    }

    /// Notes that an operator wants a run ended; false where it is no stray.
    pub fn end_stray(&mut self, run: &RunKey) -> Result<bool, StoreError> {
        let mut statement = self.connection.prepare_cached("UPDATE strays SET ending = 1 WHERE key = ?1")?;
        Ok(statement.execute([run.to_string()])? > 0)
    }

    /// Forgets strays: one of them, or all of an environment. Says whether there were any.
    pub fn remove_strays(&mut self, at: &EnvironmentId, run: Option<&RunKey>) -> Result<bool, StoreError> {
        let sql = "DELETE FROM strays WHERE environment_id = ?1 AND (?2 IS NULL OR key = ?2)";
        let removed =
            self.connection.prepare_cached(sql)?.execute(params![at.as_str(), run.map(ToString::to_string)])?;
        Ok(removed > 0)
    }
}
