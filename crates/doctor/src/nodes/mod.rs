//! Several machines at once, without a server: all come to the first, which asks everyone to look and to measure.
//!
//! [`hub::run`] is the first node: it gathers the others at the master's port, gives one [`message::NodeOrder`] after the
//! other to all nodes, itself included, and collects a [`survey::Survey`]. [`member::run`] is any other node. Measuring
//! happens between a [`probe`] and the [`responder`] that every node has. Every wait has a deadline; a node that misses
//! one is out and is named.

mod candidates;
mod engine;
mod folder;
mod frame;
mod gather;
pub mod hub;
pub mod member;
pub(crate) mod message;
mod obey;
mod pairs;
mod probe;
mod proof;
mod report;
mod responder;
mod schedule;
pub mod survey;

pub use member::JoinProblem;
pub use report::report;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use fermi_domain::preflight::PreflightEngine;

/// Most nodes of which all pairs are measured.
pub const MOST_NODES: usize = 64;

/// How this node takes part.
#[derive(Clone, Debug)]
pub struct NodesOptions {
    pub nnodes: usize,
    pub node_rank: usize,
    pub master_addr: String,
    pub master_port: u16,
    /// How long nodes wait for each other at the beginning.
    pub join: Duration,
    /// What this node is called in the report.
    pub name: String,
    /// What all are called, where that is known before they come.
    pub names: Vec<String>,
    /// When it must be over.
    pub until: Instant,
    /// A folder that all shall have.
    pub path: Option<PathBuf>,
    /// An engine that shall add over all nodes by its own means.
    pub engine: Option<PreflightEngine>,
    /// The Python that has it; the usual one where none.
    pub python: Option<PathBuf>,
    /// The word that all were told; none where nodes are started by hand.
    pub word: Option<String>,
}
