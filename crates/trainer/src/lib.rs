//! The built-in trainer: a small byte-level transformer, trained data parallel over [`fermi_collective`].
//!
//! It exists so that a cluster can be tried, demonstrated and tested without Python or a GPU. It reads no environment
//! variables, starts in milliseconds, runs each rank on one thread, and never grows what people take from PyTorch.
//!
//! Start reading at [`train()`], which is the whole course of a run; then [`config`] for what can be asked, `batch` and
//! `corpus` for why any number of ranks computes the same losses, `model` for the network and its gradients, and
//! `checkpoint` for what a restart finds.

mod batch;
mod checkpoint;
pub mod config;
mod corpus;
mod error;
mod fingerprint;
mod model;
mod narrator;
mod optimizer;
mod preset;
mod progress;
mod random;
mod restore;
mod run;
mod train;

pub use checkpoint::CheckpointError;
pub use config::{ConfigError, Fault, FaultKind, TrainerConfig};
pub use error::TrainError;
pub use preset::{Preset, UnknownPreset};
pub use train::{RankPosition, Summary, train};
