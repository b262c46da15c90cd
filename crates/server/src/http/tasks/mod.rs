//! Training tasks, one file per thing that can be asked.

pub mod act;
pub mod create;
pub mod explain;
pub mod list;
pub mod metrics;
pub mod preview;
pub mod progress;
pub mod ranks;
mod shared_folder;
pub mod show;
pub mod stacks;
pub mod start;
mod sweep_point;
mod trailing;
pub mod view;
