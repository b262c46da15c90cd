//! Runs: how much of each node's journal has been taken in.
//!
//! The length is advanced in the transaction that keeps what the bytes changed, so that each byte counts exactly once.

use fermi_domain::{ids::EnvironmentId, task::RunKey};
use rusqlite::{OptionalExtension, Row, params};
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
        let mut statement = self
            .connection
            .prepare_cached("SELECT key, environment_id, journal_length, tail FROM runs WHERE key = ?1")?;
        statement.query_row([key.to_string()], |row| Ok(read(row))).optional()?.transpose()
    }

    /// The environment that a run belongs to, without reading the run's task; none before its first piece has come.
    pub fn environment_of_run(&self, key: &RunKey) -> Result<Option<EnvironmentId>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT environment_id FROM runs WHERE key = ?1")?;
        Ok(statement.query_row([key.to_string()], |row| row.get(0).map(EnvironmentId)).optional()?)
    }
}

fn read(row: &Row<'_>) -> Result<RunRow, StoreError> {
    let key: String = row.get(0)?;
    Ok(RunRow {
        key: key.parse().map_err(|_| StoreError::Value { noun: "run", value: key })?,
        environment: EnvironmentId(row.get(1)?),
        journal_length: unsigned(row.get(2)?),
        tail: row.get(3)?,
    })
}

impl Transaction<'_> {
    /// Notes that a run exists; what is known of it stays. Gives it as it is kept.
    pub fn put_run(&mut self, key: &RunKey, environment: &EnvironmentId) -> Result<RunRow, JournalError> {
        let seq = task_seq(&key.task).ok_or(JournalError::NoRun)?;
        if !self.has_task(seq)? {
            return Err(JournalError::NoRun);
        }
        self.connection
            .prepare_cached(
                "INSERT INTO runs (key, task_seq, environment_id, journal_length, tail) \
                 VALUES (?1, ?2, ?3, 0, x'') ON CONFLICT (key) DO NOTHING",
            )?
            .execute(params![key.to_string(), seq, environment.as_str()])?;
        self.run(key)?.ok_or(JournalError::NoRun)
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
