//! Environments: who was ever here, under which id. Whether an agent answers right now is not kept.

use std::collections::BTreeMap;

use fermi_domain::{
    environment::Environment,
    ids::{EnvironmentId, TaskId},
};
use rusqlite::{OptionalExtension, Params, Row, params};
use thiserror::Error;

use crate::{
    StoreError, Transaction, View, numbered,
    row::{document, json, signed, unsigned},
    tasks::task_id,
};

/// What somebody says of an environment, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Its id is given by the store.
    pub environment: Environment,
    /// Which agent it is; another one under the same name is a different machine.
    pub instance: Option<String>,
    /// Which start of the machine.
    pub boot: Option<String>,
    pub labels: BTreeMap<String, String>,
}

/// An environment as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentRow {
    pub environment: Environment,
    pub instance: Option<String>,
    pub boot: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub first_seen_ms: u64,
    /// When its agent last came.
    pub registered_ms: u64,
    pub revision: u64,
}

/// Why an environment stays.
#[derive(Clone, Debug, Error)]
pub enum DeleteEnvironmentError {
    #[error("{by} holds its workers")]
    Leased { by: TaskId },
    #[error("it does not exist")]
    Missing,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for DeleteEnvironmentError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// The number behind an environment's id, unless the text was never an id of ours.
fn environment_seq(id: &EnvironmentId) -> Option<i64> {
    numbered::ENVIRONMENT.read(id.as_str())
}

impl View<'_> {
    /// All environments, in the order in which they first came.
    pub fn environments(&self) -> Result<Vec<EnvironmentRow>, StoreError> {
        self.environments_by("ORDER BY seq", [])
    }

    pub fn environment(&self, id: &EnvironmentId) -> Result<Option<EnvironmentRow>, StoreError> {
        let Some(seq) = environment_seq(id) else { return Ok(None) };
        Ok(self.environments_by("WHERE seq = ?1", [seq])?.pop())
    }

    pub fn environment_by_name(&self, name: &str) -> Result<Option<EnvironmentRow>, StoreError> {
        Ok(self.environments_by("WHERE name = ?1", [name])?.pop())
    }

    fn environments_by(&self, which: &str, parameters: impl Params) -> Result<Vec<EnvironmentRow>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT seq, instance, boot, labels, first_seen_ms, registered_ms, revision, document FROM environments {which}"
        ))?;
        let mut rows = statement.query(parameters)?;
        let mut environments = Vec::new();
        while let Some(row) = rows.next()? {
            environments.push(read(row)?);
        }
        Ok(environments)
    }
}

fn read(row: &Row<'_>) -> Result<EnvironmentRow, StoreError> {
    let (labels, json): (String, String) = (row.get(3)?, row.get(7)?);
    let mut environment: Environment = document("environment", &json)?;
    environment.id = EnvironmentId(numbered::ENVIRONMENT.write(row.get(0)?));
    Ok(EnvironmentRow {
        environment,
        instance: row.get(1)?,
        boot: row.get(2)?,
        labels: document("environment", &labels)?,
        first_seen_ms: unsigned(row.get(4)?),
        registered_ms: unsigned(row.get(5)?),
        revision: unsigned(row.get(6)?),
    })
}

impl Transaction<'_> {
    /// Takes in an environment: a new name gets the next id, a known one keeps its own.
    pub fn register_environment(&mut self, new: &Registration, now_ms: u64) -> Result<EnvironmentRow, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO environments (name, instance, boot, labels, first_seen_ms, registered_ms, revision, document) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?5, 1, ?6) ON CONFLICT (name) DO UPDATE SET instance = excluded.instance, \
             boot = excluded.boot, labels = excluded.labels, registered_ms = excluded.registered_ms, \
             revision = revision + 1, document = excluded.document \
             RETURNING seq, instance, boot, labels, first_seen_ms, registered_ms, revision, document",
        )?;
        let mut rows = statement.query(params![
            new.environment.name,
            new.instance,
            new.boot,
            json("environment", &new.labels)?,
            signed(now_ms),
            json("environment", &new.environment)?,
        ])?;
        let kept = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        read(kept)
    }

    /// Forgets an environment, unless a task holds workers of it.
    pub fn delete_environment(&mut self, id: &EnvironmentId) -> Result<(), DeleteEnvironmentError> {
        let seq = environment_seq(id).ok_or(DeleteEnvironmentError::Missing)?;
        let holder: Option<i64> = self
            .connection
            .prepare_cached("SELECT task_seq FROM leases WHERE environment_id = ?1 ORDER BY task_seq LIMIT 1")?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?;
        if let Some(holder) = holder {
            return Err(DeleteEnvironmentError::Leased { by: task_id(holder) });
        }
        match self.connection.prepare_cached("DELETE FROM environments WHERE seq = ?1")?.execute([seq])? {
            0 => Err(DeleteEnvironmentError::Missing),
            _ => Ok(()),
        }
    }
}
