//! What survives a run: `step-N/` folders that are either complete or not there.
//!
//! A folder holds `header.json` (what the run was, and the fingerprint of the rest) and `state.bin` (parameters, then
//! both moments, little-endian). It is written under another name, synced, and renamed. `latest` names the newest one
//! for people and scripts; the trainer itself looks at the folders. Only rank 0 comes here.

mod file;
mod folder;

pub(crate) use file::{Identity, State};
pub use folder::CheckpointError;
pub(crate) use folder::Folder;
