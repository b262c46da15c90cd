//! Leases: which task holds which worker. A worker is a primary key, so that two tasks cannot hold the same one.

use std::collections::HashMap;

use fermi_domain::ids::{EnvironmentId, Generation, TaskId, WorkerId};
use rusqlite::{OptionalExtension, params};
use thiserror::Error;

use crate::{
    StoreError, Transaction, View,
    row::signed,
    tasks::{task_id, task_seq},
};

/// Why no worker was leased.
#[derive(Clone, Debug, Error)]
pub enum LeaseError {
    #[error("{by} holds {worker}")]
    Held { worker: WorkerId, by: TaskId },
    #[error("the task does not exist")]
    NoTask,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for LeaseError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl View<'_> {
    /// All leases.
    pub fn leases(&self) -> Result<HashMap<WorkerId, TaskId>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT worker, task_seq FROM leases")?;
        let mut rows = statement.query([])?;
        let mut leases = HashMap::new();
        while let Some(row) = rows.next()? {
            leases.insert(worker(row.get(0)?)?, task_id(row.get(1)?));
        }
        Ok(leases)
    }
}

pub(crate) fn worker(text: String) -> Result<WorkerId, StoreError> {
    text.parse().map_err(|_| StoreError::Value { noun: "worker", value: text })
}

impl Transaction<'_> {
    /// Leases all of these workers to a task, or none. Those that it holds already it keeps, in the new generation.
    pub fn lease<'w>(
        &mut self,
        workers: impl IntoIterator<Item = (&'w WorkerId, &'w EnvironmentId)>,
        task: &TaskId,
        generation: Generation,
    ) -> Result<(), LeaseError> {
        let seq = task_seq(task).ok_or(LeaseError::NoTask)?;
        if !self.has_task(seq)? {
            return Err(LeaseError::NoTask);
        }
        let workers: Vec<_> = workers.into_iter().map(|(id, environment)| (id, id.to_string(), environment)).collect();
        let mut holder = self.connection.prepare_cached("SELECT task_seq FROM leases WHERE worker = ?1")?;
        for (id, text, _) in &workers {
            let by: Option<i64> = holder.query_row([text], |row| row.get(0)).optional()?;
            if let Some(by) = by.filter(|by| *by != seq) {
                return Err(LeaseError::Held { worker: (*id).clone(), by: task_id(by) });
            }
        }
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO leases (worker, environment_id, task_seq, generation) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (worker) DO UPDATE SET generation = excluded.generation WHERE task_seq = excluded.task_seq",
        )?;
        for (_, text, environment) in &workers {
            insert.execute(params![text, environment.as_str(), seq, signed(generation.0)])?;
        }
        Ok(())
    }

    /// Gives back all that a task holds. Gives how many workers that were.
    pub fn release(&mut self, task: &TaskId) -> Result<usize, StoreError> {
        let Some(seq) = task_seq(task) else { return Ok(0) };
        Ok(self.connection.prepare_cached("DELETE FROM leases WHERE task_seq = ?1")?.execute([seq])?)
    }

    /// Gives back what a task holds in one environment.
    pub fn release_environment(&mut self, task: &TaskId, environment: &EnvironmentId) -> Result<usize, StoreError> {
        let Some(seq) = task_seq(task) else { return Ok(0) };
        let mut statement =
            self.connection.prepare_cached("DELETE FROM leases WHERE task_seq = ?1 AND environment_id = ?2")?;
        Ok(statement.execute(params![seq, environment.as_str()])?)
    }
}
