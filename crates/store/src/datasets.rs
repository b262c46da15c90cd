//! Datasets and their versions. A task names a version; a dataset alone would change under the training.

use fermi_domain::dataset::DatasetSighting;
use fermi_domain::ids::EnvironmentId;
use rusqlite::{OptionalExtension, Params, Row, params};
use serde::{Deserialize, Serialize};

use crate::{
    Page, PageToken, StoreError, Transaction, View,
    catalogue::Shelf,
    numbered,
    row::{document, json, signed, unsigned},
    tasks::ListError,
};

pub use crate::catalogue::{CreateError, Entry as Dataset, NewEntry as NewDataset};

const DATASETS: Shelf = Shelf { table: "datasets", id: numbered::DATASET };

/// One version of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    pub id: String,
    pub dataset_id: String,
    /// What people call it, such as `v2`; unique in its dataset.
    pub version: String,
    pub path: String,
    /// In bytes, where it is stated.
    pub size: Option<u64>,
    pub checksum: Option<String>,
    pub format: Option<String>,
    pub created_ms: u64,
}

/// A version, before it has an id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewVersion {
    pub version: String,
    pub path: String,
    pub size: Option<u64>,
    pub checksum: Option<String>,
    pub format: Option<String>,
}

/// An environment that has seen a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    pub environment: EnvironmentId,
    pub proven_ms: u64,
    pub seen: DatasetSighting,
}

impl View<'_> {
    /// The newest first; `name` is a part of the name, in upper or lower case.
    pub fn list_datasets(
        &self,
        name: Option<&str>,
        size: usize,
        token: Option<&PageToken>,
    ) -> Result<Page<Dataset>, ListError> {
        DATASETS.list(self, name, size, token)
    }

    pub fn dataset(&self, id: &str) -> Result<Option<Dataset>, StoreError> {
        DATASETS.get(self, id)
    }

    /// All versions of a dataset, the newest first.
    pub fn versions_of(&self, dataset: &str) -> Result<Vec<Version>, StoreError> {
        let Some(seq) = numbered::DATASET.read(dataset) else { return Ok(Vec::new()) };
        self.versions_by("WHERE dataset_seq = ?1 ORDER BY seq DESC", [seq])
    }

    pub fn version(&self, id: &str) -> Result<Option<Version>, StoreError> {
        let Some(seq) = numbered::VERSION.read(id) else { return Ok(None) };
        Ok(self.versions_by("WHERE seq = ?1", [seq])?.pop())
    }

    fn versions_by(&self, which: &str, parameters: impl Params) -> Result<Vec<Version>, StoreError> {
        let sql = format!(
            "SELECT seq, dataset_seq, version, path, created_ms, size_bytes, checksum, format FROM dataset_versions {which}"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(statement.query_map(parameters, read)?.collect::<Result<_, _>>()?)
    }

    /// The environments that have seen a version, the newest proof first, at most so many.
    pub fn sightings_of(&self, version: &str, limit: usize) -> Result<Vec<Sighting>, StoreError> {
        let Some(seq) = numbered::VERSION.read(version) else { return Ok(Vec::new()) };
        let mut statement = self.connection.prepare_cached(
            "SELECT environment, proven_ms, document FROM dataset_sightings WHERE version_seq = ?1 \
             ORDER BY proven_ms DESC, environment LIMIT ?2",
        )?;
        let mut rows = statement.query(params![seq, signed(limit as u64)])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let seen: String = row.get(2)?;
            found.push(Sighting {
                environment: EnvironmentId(row.get(0)?),
                proven_ms: unsigned(row.get(1)?),
                seen: document("sighting", &seen)?,
            });
        }
        Ok(found)
    }

    /// How many environments have seen a version.
    pub fn count_sightings(&self, version: &str) -> Result<u64, StoreError> {
        let Some(seq) = numbered::VERSION.read(version) else { return Ok(0) };
        let mut count =
            self.connection.prepare_cached("SELECT count(*) FROM dataset_sightings WHERE version_seq = ?1")?;
        Ok(count.query_row([seq], |row| row.get(0)).map(unsigned)?)
    }

    /// What an environment has seen of a version.
    pub fn sighting(&self, version: &str, environment: &EnvironmentId) -> Result<Option<DatasetSighting>, StoreError> {
        let Some(seq) = numbered::VERSION.read(version) else { return Ok(None) };
        let mut statement = self
            .connection
            .prepare_cached("SELECT document FROM dataset_sightings WHERE version_seq = ?1 AND environment = ?2")?;
        let found: Option<String> =
            statement.query_row(params![seq, environment.as_str()], |row| row.get(0)).optional()?;
        found.map(|text| document("sighting", &text)).transpose()
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Version> {
    Ok(Version {
        id: numbered::VERSION.write(row.get(0)?),
        dataset_id: numbered::DATASET.write(row.get(1)?),
        version: row.get(2)?,
        path: row.get(3)?,
        created_ms: unsigned(row.get(4)?),
        size: row.get::<_, Option<i64>>(5)?.map(unsigned),
        checksum: row.get(6)?,
        format: row.get(7)?,
    })
}

impl Transaction<'_> {
    pub fn create_dataset(&mut self, new: &NewDataset, now_ms: u64) -> Result<Dataset, CreateError> {
        DATASETS.create(self, new, now_ms)
    }

    /// Forgets a dataset with its versions. Says whether there was one. Whether a task still needs it, the caller asks
    /// [`View::open_tasks_with_dataset`].
    pub fn delete_dataset(&mut self, id: &str) -> Result<bool, StoreError> {
        DATASETS.delete(self, id)
    }

    pub fn create_version(&mut self, dataset: &str, new: &NewVersion, now_ms: u64) -> Result<Version, CreateError> {
        let seq = numbered::DATASET.read(dataset).ok_or(CreateError::Missing)?;
        let mut statement = self.connection.prepare_cached("SELECT 1 FROM datasets WHERE seq = ?1")?;
        let is_there: Option<i64> = statement.query_row([seq], |row| row.get(0)).optional()?;
        is_there.ok_or(CreateError::Missing)?;
        self.connection
            .prepare_cached(
                "INSERT INTO dataset_versions (dataset_seq, version, path, created_ms, size_bytes, checksum, format) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                seq,
                new.version,
                new.path,
                signed(now_ms),
                new.size.map(signed),
                new.checksum,
                new.format
            ])?;
        let NewVersion { version, path, size, checksum, format } = new.clone();
        Ok(Version {
            id: numbered::VERSION.write(self.connection.last_insert_rowid()),
            dataset_id: dataset.to_owned(),
            version,
            path,
            size,
            checksum,
            format,
            created_ms: now_ms,
        })
    }

    /// An environment has seen a version, or has looked and not found it as it is stated. A version that is deleted
    /// meanwhile is nothing to it.
    pub fn note_sighting(
        &mut self,
        version: &str,
        environment: &EnvironmentId,
        seen: Option<&DatasetSighting>,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        let Some(seq) = numbered::VERSION.read(version) else { return Ok(()) };
        match seen {
            Some(seen) => self
                .connection
                .prepare_cached(
                    "INSERT INTO dataset_sightings (version_seq, environment, proven_ms, document) \
                     SELECT seq, ?2, ?3, ?4 FROM dataset_versions WHERE seq = ?1 \
                     ON CONFLICT (version_seq, environment) DO UPDATE SET proven_ms = ?3, document = ?4",
                )?
                .execute(params![seq, environment.as_str(), signed(now_ms), json("sighting", seen)?])?,
            None => self
                .connection
                .prepare_cached("DELETE FROM dataset_sightings WHERE version_seq = ?1 AND environment = ?2")?
                .execute(params![seq, environment.as_str()])?,
        };
        Ok(())
    }
}
