//! `training.yaml`: the settings file that people keep beside their training.
//!
//! [`read`] takes the text, [`TrainingYaml::resolve`] says what it means for a number of ranks. The keys stand in one
//! table ([`keys`]), from which the JSON schema is made too.

mod deepspeed_file;
pub mod keys;
mod problem;
mod reader;
mod resolved;
mod schema;

pub use deepspeed_file::Overridden;
pub use problem::{Problem, Problems};
pub use reader::{TrainingYaml, read};
pub use resolved::{Facts, Resolved, ResolvedStrategy};
pub use schema::schema;
