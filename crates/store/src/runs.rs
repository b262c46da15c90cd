//! Runs: how much of each node's journal has been taken in.
//!
//! The length is advanced in the transaction that keeps what the bytes changed, so that each byte counts exactly once.

use fermi_domain::{
    ids::{EnvironmentId, TaskId},
    task::RunKey,
};
use rusqlite::{OptionalExtension, Params, Row, params};
use thiserror::Error;

use crate::{
    StoreError, Transaction, View,
    row::{signed, unsigned},
    tasks::task_seq,
};

/// One launch on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    pub key: RunKey,
    pub environment: EnvironmentId,
    /// How many bytes of its journal have been received, those of the tail included: the next ones belong here.
    pub journal_length: u64,
    /// The last of them, which are not a whole line yet.
    pub tail: Vec<u8>,
    /// No process of it is left.
    pub gone: bool,
}

/// Why a piece of a journal was not taken in.
#[derive(Clone, Debug, Error)]
pub enum JournalError {
    /// The piece does not begin where the last one ended.
    #[error("the journal has been taken in up to {have}")]
    Offset { have: u64 },
    #[error("there is no such run")]
    NoRun,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl View<'_> {
    pub fn run(&self, key: &RunKey) -> Result<Option<RunRow>, StoreError> {
        Ok(self.runs_by("WHERE key = ?1", [key.to_string()])?.pop())
    }

    /// All runs of a task, of all its generations.
    pub fn runs_of(&self, task: &TaskId) -> Result<Vec<RunRow>, StoreError> {
        let Some(seq) = task_seq(task) else { return Ok(Vec::new()) };
        self.runs_by("WHERE task_seq = ?1 ORDER BY key", [seq])
    }

    /// The runs in an environment that are not known to be gone.
    pub fn runs_in(&self, environment: &EnvironmentId) -> Result<Vec<RunRow>, StoreError> {
        self.runs_by("WHERE environment_id = ?1 AND gone = 0 ORDER BY key", [environment.as_str()])
    }

    fn runs_by(&self, which: &str, parameters: impl Params) -> Result<Vec<RunRow>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached(&format!("SELECT key, environment_id, journal_length, tail, gone FROM runs {which}"))?;
        let mut rows = statement.query(parameters)?;
        let mut runs = Vec::new();
        while let Some(row) = rows.next()? {
            runs.push(read(row)?);
        }
        Ok(runs)
    }
}

fn read(row: &Row<'_>) -> Result<RunRow, StoreError> {
    let key: String = row.get(0)?;
    Ok(RunRow {
        key: key.parse().map_err(|_| StoreError::Value { noun: "run", value: key })?,
        environment: EnvironmentId(row.get(1)?),
        journal_length: unsigned(row.get(2)?),
        tail: row.get(3)?,
        gone: row.get(4)?,
    })
}

impl Transaction<'_> {
    /// Notes that a run exists; what is known of it stays. Gives it as it is kept.
    pub fn put_run(&mut self, key: &RunKey, environment: &EnvironmentId) -> Result<RunRow, JournalError> {
        let seq = task_seq(&key.task).ok_or(JournalError::NoRun)?;
        if self.task(&key.task)?.is_none() {
            return Err(JournalError::NoRun);
        }
        self.connection
            .prepare_cached(
                "INSERT INTO runs (key, task_seq, environment_id, journal_length, tail, gone) \
                 VALUES (?1, ?2, ?3, 0, x'', 0) ON CONFLICT (key) DO NOTHING",
            )?
            .execute(params![key.to_string(), seq, environment.as_str()])?;
        self.run(key)?.ok_or(JournalError::NoRun)
    }

    /// Notes that no process of a run is left. Says whether that was news.
    pub fn run_gone(&mut self, key: &RunKey) -> Result<bool, StoreError> {
        let mut statement = self.connection.prepare_cached("UPDATE runs SET gone = 1 WHERE key = ?1 AND gone = 0")?;
        Ok(statement.execute([key.to_string()])? > 0)
    }

    /// Takes the journal on from one length to the next, with the bytes that are not a whole line yet.
    pub fn advance_journal(
        &mut self,
        key: &RunKey,
        expected_length: u64,
        new_length: u64,
        tail: &[u8],
    ) -> Result<(), JournalError> {
        let changed = self
            .connection
            .prepare_cached("UPDATE runs SET journal_length = ?3, tail = ?4 WHERE key = ?1 AND journal_length = ?2")?
            .execute(params![key.to_string(), signed(expected_length), signed(new_length), tail])?;
        if changed > 0 {
            return Ok(());
        }
        let mut statement = self.connection.prepare_cached("SELECT journal_length FROM runs WHERE key = ?1")?;
        let have: Option<i64> = statement.query_row([key.to_string()], |row| row.get(0)).optional()?;
        Err(JournalError::Offset { have: unsigned(have.ok_or(JournalError::NoRun)?) })
    }
}
