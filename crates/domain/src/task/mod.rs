//! A task: what a user asks to train ([`spec`]), and how it fares on the server ([`lifecycle`]).

mod lifecycle;
mod part;
mod record;
mod selection;
mod spans;
mod spec;

pub use lifecycle::{
    DesiredState, EventDetail, EventText, PhaseChange, Release, SilentMachine, TaskEnd, TaskInput, waits_for_machine,
};
pub use part::{MissingPart, NotLaunched};
pub use record::{
    AttemptRecord, FormerNode, NodeRun, NodeRunState, RankRecord, RunKey, RunKeyError, SecretScheme, StopCause,
    StopIntent, Task, ToldEnd,
};
pub use selection::{AutoSelection, Selection};
pub use spans::{ClockNote, Moment, Spans};
pub use spec::{
    DatasetChoice, DistributedConfig, LaunchOptions, OnDisconnect, OnHang, Policies, Source, Standby, Strategy,
    TaskSpec, Warm, Work,
};
