//! Checkpoints as Fermi sees them: which steps lie whole in a folder, which of them all nodes of a run have, and who may
//! write there.
//!
//! Never reads a disk: a node lists its folder ([`Listing`]), [`complete_steps`] says what is whole in it, [`resume_plan`]
//! compares the nodes, and [`fence::compare`] says what a note beside the checkpoints means.

mod complete;
pub mod fence;
mod listing;
mod plan;

pub use complete::complete_steps;
pub use fence::{Fence, FenceFinding};
pub use listing::{Entry, EntryKind, LeftBehind, Listing, step_in_name};
pub use plan::{NamedCheckpoints, NodeCheckpoints, ResumePlan, resume_plan};

/// Fermi's own folder beside the checkpoints.
pub const OWN_FOLDER: &str = ".fermi";
