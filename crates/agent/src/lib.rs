//! The agent: one per environment. It dials out to the server, starts what it is told, and sends home what ranks write.
//!
//! It decides nothing. [`run`] is its whole life: [`agent`] holds one thread to which everything is told, and the pure
//! [`run_registry`] says what to do about it. The [`link`] carries words; [`upload`] carries bytes, by HTTP, from files
//! that only grow. [`keepers`] starts warden and supervisor so that they outlive the agent: its death, even by SIGKILL,
//! never touches a rank, and the next agent on the same [`data_folder`] takes them over.
//!
//! The decisions are plain values, so that a simulation can play them: [`adoption`], [`run_registry`] and the files of
//! [`upload`].
//!
//! It never knows tasks, restarts or verdicts: those are the server's and the supervisor's.

pub mod adoption;
mod agent;
mod data_folder;
pub mod dataset;
mod declared;
mod error;
mod identity;
mod keepers;
mod lasting;
mod link;
mod machine;
mod options;
mod preflight;
mod prepare;
mod probe;
mod retention;
mod run_as;
pub mod run_registry;
mod sample;
mod source;
mod trace;
pub mod upload;
mod wake;

pub use agent::run;
pub use declared::{Declared, DeclaredError, KNOWN_GPUS};
pub use error::AgentError;
pub use link::NoLink;
pub use options::{AgentNews, AgentOptions, StopFlag};
pub use preflight::COMMAND as PREFLIGHT_COMMAND;
pub use source::stays_inside;
pub use trace::LOG_TARGET;
