//! Models that tasks start from, by name.

use crate::{Page, PageToken, StoreError, Transaction, View, catalogue::Shelf, numbered, tasks::ListError};

pub use crate::catalogue::{CreateError, Entry as Model, NewEntry as NewModel};

const MODELS: Shelf = Shelf { table: "models", id: numbered::MODEL };

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
}

impl Transaction<'_> {
    pub fn create_model(&mut self, new: &NewModel, now_ms: u64) -> Result<Model, CreateError> {
        MODELS.create(self, new, now_ms)
    }

    /// Says whether there was one. Whether a task still needs it, the caller asks [`View::open_tasks_with_model`].
    pub fn delete_model(&mut self, id: &str) -> Result<bool, StoreError> {
        MODELS.delete(self, id)
    }
}
