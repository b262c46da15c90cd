//! Several environments checked together before a training: who takes part, where they meet, what is concluded.
//!
//! [`PreflightCourse`] is one preflight from its start to its end, without clock or connections: it says whom to ask for
//! which [`PreflightPart`] and takes what nodes say as [`PreflightNews`]. The measuring is the doctor's, on the nodes. Start
//! reading at [`PreflightCourse::begin`].

mod account;
mod conclusion;
mod course;
mod engine;
mod interface;
mod news;
mod policy;
mod report;
mod step;
mod zones;

#[cfg(test)]
mod tests;

pub use account::NodeAccount;
pub use course::{CourseEffect, PreflightCourse};
pub use engine::PreflightEngine;
pub use interface::{InterfaceDecision, InterfaceFound, InterfaceRule, PreflightInterface};
pub use news::{PreflightNews, PreflightPart};
pub use policy::{PreflightPolicy, PreflightRefusal};
pub use report::{PreflightReport, VersionDifference, VersionOf};
pub use step::{PreflightProgress, PreflightStep};

use crate::ids::EnvironmentId;

/// Most environments of one preflight.
pub const MOST_NODES: usize = 64;
/// All of it is over by then.
pub const WHOLE_MS: u64 = 58_000;

/// An environment that shall take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreflightNode {
    pub environment: EnvironmentId,
    pub name: String,
    pub zone: Option<String>,
    /// Where the others reach it.
    pub address: Option<String>,
    pub readiness: NodeReadiness,
}

/// Whether its agent can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeReadiness {
    Ready,
    Offline,
    /// The agent is of a release that does not know the question.
    CannotBeAsked,
}

/// What is asked for beside the environments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreflightWish {
    /// A folder that all shall have.
    pub path: Option<String>,
    /// The port at which ranks will meet; the usual ones where none is named.
    pub master_port: Option<u16>,
    /// Whether Python and its engines are asked too.
    pub asks_python: bool,
    /// An engine that shall add over all nodes by its own means.
    pub engine: Option<PreflightEngine>,
    /// By which its nodes know each other: drawn by the server.
    pub word: Option<String>,
}
