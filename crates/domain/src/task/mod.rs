//! A task: what a user asks to train ([`spec`]), and how it fares on the server ([`lifecycle`]).

mod lifecycle;
mod record;
mod spec;

pub use lifecycle::{EventDetail, Happening, Note, PhaseChange, Release, Wish};
pub use record::{AttemptRecord, NodeRun, NodeRunState, RankRecord, RunKey, RunKeyError, SecretScheme, StopWish, Task};
pub use spec::{
    DatasetVersion, DistributedConfig, LaunchMode, LaunchOptions, OnDisconnect, Policies, Source, Strategy, TaskSpec,
    Work,
};
