//! GPUs and models by name: data files that come with Fermi, which a user's own files extend.

mod gpu;
mod huggingface;
pub(crate) mod lineage;
mod model;

pub use gpu::{Generation, Gpu, GpuEntry};
pub use huggingface::{architecture_of_config, shape_of_config};
pub use model::ModelEntry;

use serde::Deserialize;

use crate::error::PlanError;
use crate::plan::Knowledge;

/// Everything known by name.
#[derive(Clone, Debug)]
pub struct Catalogue {
    gpus: Vec<GpuEntry>,
    models: Vec<ModelEntry>,
}

#[derive(Deserialize)]
struct Shelf {
    #[serde(default)]
    gpus: Vec<GpuEntry>,
    #[serde(default)]
    models: Vec<ModelEntry>,
}

impl Catalogue {
    /// What comes with Fermi.
    pub fn builtin() -> Self {
        let mut own = Self { gpus: Vec::new(), models: Vec::new() };
        for shelf in [include_str!("../../data/gpus.json"), include_str!("../../data/models.json")] {
            // The files are part of the program and read by a test; a fault leaves the catalogue empty.
            let _ = own.extend(shelf);
        }
        own
    }

    /// Adds a user's file; its entries win over those of the same name.
    pub fn extend(&mut self, json: &str) -> Result<(), serde_json::Error> {
        let shelf: Shelf = serde_json::from_str(json)?;
        self.gpus.splice(0..0, shelf.gpus);
        self.models.splice(0..0, shelf.models);
        Ok(())
    }

    pub fn gpus(&self) -> &[GpuEntry] {
        &self.gpus
    }

    pub fn models(&self) -> &[ModelEntry] {
        &self.models
    }

    /// A GPU by name; its memory, where given, tells variants apart.
    pub fn gpu(&self, name: &str, memory_gib: Option<f64>) -> Result<Gpu, PlanError> {
        gpu::find(&self.gpus, name, memory_gib)
    }

    pub fn model(&self, name: &str) -> Option<&ModelEntry> {
        model::find(&self.models, name)
    }

    /// Names near to one that is not there.
    pub fn models_near(&self, name: &str) -> Vec<String> {
        near(name, self.models.iter().map(|m| m.name.as_str()))
    }
}

/// How many parameters a model of the built-in catalogue has.
pub fn parameters_of(name: &str) -> Option<u64> {
    Knowledge::builtin().catalogue.model(name).map(|entry| entry.architecture().params())
}

/// The three names that look most alike.
fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = plain(name);
    let mut scored: Vec<(f64, &str)> = names.map(|n| (strsim::jaro_winkler(&wanted, &plain(n)), n)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().filter(|(score, _)| *score > 0.6).take(3).map(|(_, n)| n.to_owned()).collect()
}

/// Lower case without the marks that people set differently.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', ' '], "-")
}
