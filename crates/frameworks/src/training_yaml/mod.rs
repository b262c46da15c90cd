//! `training.yaml`: the settings file that people keep beside their training.
//!
//! [`read`] takes the text, [`TrainingYaml::resolve`] says what it means for a number of ranks. The keys stand in one
//! table ([`keys`]), from which the JSON schema is made too; the Python reader in `python/` takes them from there, and both
//! readers play the cases of `tests/training`.

mod apply;
mod document;
mod engine_settings;
pub mod keys;
mod mistake;
mod model_size;
mod overlay;
mod reader;
mod resolved;
mod schedule;
mod schema;

pub(crate) use apply::apply;
pub use document::sections;
pub use mistake::{Mistake, Mistakes};
pub use reader::{TrainingYaml, read};
pub use resolved::{Facts, Resolved, ResolvedStrategy};
pub use schema::schema;
