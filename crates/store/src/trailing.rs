//! Runs that are gone and of which bytes are still to come: their workers are free, and their agents keep them until all is in.

use fermi_domain::{
    ids::{EnvironmentId, TaskId},
    task::RunKey,
};
use rusqlite::params;

use crate::{StoreError, Transaction, View};

/// Stands before the run in the key of its row.
const PREFIX: &str = "trailing:";

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailingRun {
    pub run: RunKey,
    /// Whose agent has the bytes.
    pub environment: EnvironmentId,
}

impl View<'_> {
    /// All of them, by their names.
    pub fn trailing(&self) -> Result<Vec<TrailingRun>, StoreError> {
        self.trailing_behind(PREFIX)
    }

    /// Those of one task.
    pub fn trailing_of(&self, task: &TaskId) -> Result<Vec<TrailingRun>, StoreError> {
        let mut found = self.trailing_behind(&format!("{PREFIX}{task}-g"))?;
        found.retain(|trailing| trailing.run.task == *task);
        Ok(found)
    }

    fn trailing_behind(&self, prefix: &str) -> Result<Vec<TrailingRun>, StoreError> {
        // No name has a character behind this one.
        let mut statement = self
            .connection
            .prepare_cached("SELECT key, value FROM meta WHERE key >= ?1 AND key < ?1 || '~' ORDER BY key")?;
        let mut rows = statement.query([prefix])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let key: String = row.get(0)?;
            let run = key.strip_prefix(PREFIX).and_then(|run| run.parse().ok());
            let run = run.ok_or(StoreError::Value { noun: "run", value: key })?;
            found.push(TrailingRun { run, environment: EnvironmentId(row.get(1)?) });
        }
        Ok(found)
    }
}

impl Transaction<'_> {
    pub fn put_trailing(&mut self, run: &RunKey, environment: &EnvironmentId) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        )?;
        statement.execute(params![format!("{PREFIX}{run}"), environment.as_str()])?;
        Ok(())
    }

    /// All of it has come, or never will. Says whether anything was to come.
    pub fn remove_trailing(&mut self, run: &RunKey, environment: &EnvironmentId) -> Result<bool, StoreError> {
        let mut statement = self.connection.prepare_cached("DELETE FROM meta WHERE key = ?1 AND value = ?2")?;
        Ok(statement.execute(params![format!("{PREFIX}{run}"), environment.as_str()])? > 0)
    }
}
