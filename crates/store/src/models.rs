//! Models that tasks start from, by name, with the numbers of their architecture where these are known.

use fermi_domain::model::{ModelShape, ShapeSource};
use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::{
    Page, PageToken, StoreError, Transaction, View,
    catalogue::Shelf,
    numbered,
    row::{document, json},
    tasks::ListError,
};

pub use crate::catalogue::{CreateError, Entry as Model, NewEntry as NewModel};

const MODELS: Shelf = Shelf { table: "models", id: numbered::MODEL };

/// The numbers of a model, and where they come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownShape {
    pub source: ShapeSource,
    pub shape: ModelShape,
}

impl View<'_> {
    /// The newest first; `name` is a part of the name, in upper or lower case.
    pub fn list_models(
        &self,
        name: Option<&str>,
        size: usize,
        token: Option<&PageToken>,
    ) -> Result<Page<Model>, ListError> {
        MODELS.list(self, name, size, token)
    }

    pub fn model(&self, id: &str) -> Result<Option<Model>, StoreError> {
        MODELS.get(self, id)
    }

    /// The numbers that were given or read when the model was created.
    pub fn model_shape(&self, id: &str) -> Result<Option<KnownShape>, StoreError> {
        let Some(seq) = numbered::MODEL.read(id) else { return Ok(None) };
        let mut statement = self.connection.prepare_cached("SELECT shape FROM models WHERE seq = ?1")?;
        let found: Option<Option<String>> = statement.query_row([seq], |row| row.get(0)).optional()?;
        found.flatten().map(|text| document("shape", &text)).transpose()
    }
}

impl Transaction<'_> {
    pub fn create_model(&mut self, new: &NewModel, now_ms: u64) -> Result<Model, CreateError> {
        MODELS.create(self, new, now_ms)
    }

    pub fn set_model_shape(&mut self, id: &str, shape: &KnownShape) -> Result<(), StoreError> {
        let Some(seq) = numbered::MODEL.read(id) else { return Ok(()) };
        self.connection
            .prepare_cached("UPDATE models SET shape = ?2 WHERE seq = ?1")?
            .execute(params![seq, json("shape", shape)?])?;
        Ok(())
    }

    /// Says whether there was one. Whether a task still needs it, the caller asks [`View::open_tasks_with_model`].
    pub fn delete_model(&mut self, id: &str) -> Result<bool, StoreError> {
        MODELS.delete(self, id)
    }
}
