//! Environments: who was ever here, under which id. Whether an agent answers right now is not kept.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use fermi_domain::{
    environment::{Duty, Environment},
    fleet::Identity,
    ids::{EnvironmentId, TaskId},
};
use rusqlite::{OptionalExtension, Params, Row, params};
use thiserror::Error;

use crate::{
    StoreError, Transaction, View, numbered,
    row::{document, json, readable, signed, unsigned},
    tasks::task_id,
};

/// What somebody says of an environment, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Its id is given by the store.
    pub environment: Environment,
    /// Who speaks for it from now on; none where somebody wrote it down.
    pub identity: Option<Identity>,
    pub labels: BTreeMap<String, String>,
}

/// An environment as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentRow {
    pub environment: Environment,
    /// Who speaks for it; of an earlier release's agent, as much as that one said.
    pub identity: Option<Identity>,
    pub duty: Duty,
    pub labels: BTreeMap<String, String>,
    pub first_seen_ms: u64,
    /// When its agent last came.
    pub registered_ms: u64,
    /// Grows with every change of the row.
    pub revision: u64,
}

/// Why an environment stays.
#[derive(Clone, Debug, Error)]
pub enum DeleteEnvironmentError {
    #[error("{by} holds its workers")]
    Leased { by: TaskId },
    #[error("{by} names it and is not over")]
    Named { by: TaskId },
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
        let mut statement =
            self.connection.prepare_cached(&format!("SELECT {COLUMNS} FROM environments ORDER BY seq"))?;
        let mut rows = statement.query([])?;
        let mut environments = Vec::new();
        while let Some(row) = rows.next()? {
            environments.extend(readable(read(row))?);
        }
        Ok(environments)
    }

    /// The same, where those are not read again that are known in the revision that they have.
    pub fn environments_beyond(
        &self,
        known: &HashMap<EnvironmentId, Arc<EnvironmentRow>>,
    ) -> Result<Vec<Arc<EnvironmentRow>>, StoreError> {
        let mut statement =
            self.connection.prepare_cached(&format!("SELECT {COLUMNS} FROM environments ORDER BY seq"))?;
        let mut rows = statement.query([])?;
        let mut environments = Vec::with_capacity(known.len());
        while let Some(row) = rows.next()? {
            let (seq, revision) = (row.get(0)?, unsigned(row.get(6)?));
            let id = EnvironmentId(numbered::ENVIRONMENT.write(seq));
            match known.get(&id).filter(|known| known.revision == revision) {
                Some(known) => environments.push(known.clone()),
                None => environments.extend(readable(read(row))?.map(Arc::new)),
            }
        }
        Ok(environments)
    }

    pub fn environment(&self, id: &EnvironmentId) -> Result<Option<EnvironmentRow>, StoreError> {
        let Some(seq) = environment_seq(id) else { return Ok(None) };
        self.one_environment("WHERE seq = ?1", [seq])
    }

    pub fn environment_by_name(&self, name: &str) -> Result<Option<EnvironmentRow>, StoreError> {
        self.one_environment("WHERE name = ?1", [name])
    }

    /// When the credential of a name was last revoked, also of an environment that was deleted since.
    pub fn name_revoked_ms(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT revoked_ms FROM revoked_names WHERE name = ?1")?;
        Ok(statement.query_row([name], |row| row.get(0)).optional()?.map(unsigned))
    }

    /// One that cannot be read is not taken for one that is not there.
    fn one_environment(&self, which: &str, key: impl Params) -> Result<Option<EnvironmentRow>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!("SELECT {COLUMNS} FROM environments {which}"))?;
        let mut rows = statement.query(key)?;
        rows.next()?.map(read).transpose()
    }
}

pub(crate) const COLUMNS: &str =
    "seq, instance, boot, labels, first_seen_ms, registered_ms, revision, document, identity, duty";

pub(crate) fn read(row: &Row<'_>) -> Result<EnvironmentRow, StoreError> {
    let (labels, json): (String, String) = (row.get(3)?, row.get(7)?);
    let mut environment: Environment = document("environment", &json)?;
    environment.id = EnvironmentId(numbered::ENVIRONMENT.write(row.get(0)?));
    let (kept, duty): (Option<String>, Option<String>) = (row.get(8)?, row.get(9)?);
    let (instance, boot): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
    let of_before =
        instance.map(|instance| Identity { instance, boot: boot.unwrap_or_default(), ..Identity::default() });
    Ok(EnvironmentRow {
        environment,
        identity: kept.map(|json| document("environment", &json)).transpose()?.or(of_before),
        duty: duty.map(|json| document("environment", &json)).transpose()?.unwrap_or_default(),
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
            // One that was lost is back.
            &format!(
                "INSERT INTO environments (name, instance, boot, labels, first_seen_ms, registered_ms, revision, \
                 document, identity) VALUES (?1, ?2, ?3, ?4, ?5, ?5, 1, ?6, ?7) ON CONFLICT (name) DO UPDATE SET \
                 instance = excluded.instance, boot = excluded.boot, labels = excluded.labels, \
                 registered_ms = excluded.registered_ms, revision = revision + 1, document = excluded.document, \
                 identity = excluded.identity, duty = CASE duty WHEN '\"lost\"' THEN NULL WHEN \
                 '\"lostAndDrained\"' THEN '\"drained\"' ELSE duty END \
                 RETURNING {COLUMNS}"
            ),
        )?;
        let mut rows = statement.query(params![
            new.environment.name,
            new.identity.as_ref().map(|identity| &identity.instance),
            new.identity.as_ref().map(|identity| &identity.boot),
            json("environment", &new.labels)?,
            signed(now_ms),
            json("environment", &new.environment)?,
            new.identity.as_ref().map(|identity| json("environment", identity)).transpose()?,
        ])?;
        let kept = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        read(kept)
    }

    /// Notes what an operator says of an environment; false where there is none.
    pub fn set_duty(&mut self, id: &EnvironmentId, duty: Duty) -> Result<bool, StoreError> {
        let Some(seq) = environment_seq(id) else { return Ok(false) };
        let duty = (duty != Duty::Serves).then(|| json("environment", &duty)).transpose()?;
        let sql = "UPDATE environments SET duty = ?2, revision = revision + 1 WHERE seq = ?1";
        Ok(self.connection.prepare_cached(sql)?.execute(params![seq, duty])? > 0)
    }

    /// Lets another agent speak for an environment; the one that did is a stranger from now on.
    pub fn revoke_identity(&mut self, id: &EnvironmentId) -> Result<(), StoreError> {
        let Some(seq) = environment_seq(id) else { return Ok(()) };
        let sql = "UPDATE environments SET identity = NULL, instance = NULL, boot = NULL, revision = revision + 1 WHERE seq = ?1";
        self.connection.prepare_cached(sql)?.execute([seq])?;
        Ok(())
    }

    /// Changes what is known of who speaks for an environment.
    pub fn set_identity(&mut self, id: &EnvironmentId, identity: &Identity) -> Result<(), StoreError> {
        let Some(seq) = environment_seq(id) else { return Ok(()) };
        let sql = "UPDATE environments SET identity = ?2, revision = revision + 1 WHERE seq = ?1";
        self.connection.prepare_cached(sql)?.execute(params![seq, json("environment", identity)?])?;
        Ok(())
    }

    /// Notes that the credential of a name is revoked; the note stays when the environment is deleted.
    pub fn note_revoked(&mut self, name: &str, revoked_ms: u64) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO revoked_names (name, revoked_ms) VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![name, signed(revoked_ms)])?;
        Ok(())
    }

    /// Forgets an environment, unless a task holds workers of it, or names it and is not over.
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
        let waiting: Option<i64> = self
            .connection
            .prepare_cached(
                "SELECT seq FROM tasks WHERE phase IN (0, 1, 2, 3, 4, 5) AND EXISTS (SELECT 1 FROM \
                 json_each(document, '$.spec.distributed.nodeIds') WHERE value = ?1) ORDER BY seq LIMIT 1",
            )?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?;
        if let Some(waiting) = waiting {
            return Err(DeleteEnvironmentError::Named { by: task_id(waiting) });
        }
        self.connection
            .prepare_cached("DELETE FROM dataset_sightings WHERE environment = ?1")?
            .execute([id.as_str()])?;
        match self.connection.prepare_cached("DELETE FROM environments WHERE seq = ?1")?.execute([seq])? {
            0 => Err(DeleteEnvironmentError::Missing),
            _ => Ok(()),
        }
    }
}
