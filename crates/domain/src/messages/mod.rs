//! Sentences that people read, each in both languages; one file per place where they are shown.
//!
//! An enum per file; refusals and warnings are [`Explained`](crate::language::Explained), with the hint beside the
//! sentence. What the command line alone says ([`run`], [`slurm`], [`launch`], [`setup_cluster`], [`quickstart`]) names
//! its flags; anything else names a [`Setting`](crate::language::Setting). Sentences that belong to one thing only (a
//! failure's signature, a phase) stand with that thing.

mod card;
mod created;
pub mod launch;
pub mod quickstart;
mod refusal;
pub mod run;
pub mod setup_cluster;
pub mod slurm;
mod warning;

pub use card::CardLine;
pub use created::Created;
pub use refusal::RequestRefusal;
