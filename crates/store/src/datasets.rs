//! Datasets and their versions. A task names a version; a dataset alone would change under the training.

use rusqlite::{OptionalExtension, Params, Row, params};
use serde::{Deserialize, Serialize};

use crate::{
    Page, PageToken, StoreError, Transaction, View,
    catalogue::Shelf,
    numbered,
    row::{signed, unsigned},
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
    pub created_ms: u64,
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
        let sql = format!("SELECT seq, dataset_seq, version, path, created_ms FROM dataset_versions {which}");
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(statement.query_map(parameters, read)?.collect::<Result<_, _>>()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Version> {
    Ok(Version {
        id: numbered::VERSION.write(row.get(0)?),
        dataset_id: numbered::DATASET.write(row.get(1)?),
        version: row.get(2)?,
        path: row.get(3)?,
        created_ms: unsigned(row.get(4)?),
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

    pub fn create_version(
        &mut self,
        dataset: &str,
        version: &str,
        path: &str,
        now_ms: u64,
    ) -> Result<Version, CreateError> {
        let seq = numbered::DATASET.read(dataset).ok_or(CreateError::Missing)?;
        let mut statement = self.connection.prepare_cached("SELECT 1 FROM datasets WHERE seq = ?1")?;
        let is_there: Option<i64> = statement.query_row([seq], |row| row.get(0)).optional()?;
        is_there.ok_or(CreateError::Missing)?;
        self.connection
            .prepare_cached(
                "INSERT INTO dataset_versions (dataset_seq, version, path, created_ms) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![seq, version, path, signed(now_ms)])?;
        Ok(Version {
            id: numbered::VERSION.write(self.connection.last_insert_rowid()),
            dataset_id: dataset.to_owned(),
            version: version.to_owned(),
            path: path.to_owned(),
            created_ms: now_ms,
        })
    }
}
