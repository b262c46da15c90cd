//! What a node is asked to do in a preflight, and what it says meanwhile.

use serde::{Deserialize, Serialize};

use super::{PreflightEngine, PreflightReport, PreflightStep};
use crate::language::Text;

/// The part of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PreflightPart {
    /// 0 is where the others meet.
    pub node_rank: usize,
    /// The names of all, by rank.
    pub names: Vec<String>,
    /// Where the others reach the first.
    pub master_address: String,
    /// Of the first: the port that was named, else the first free one from the usual on. Of the others: where it listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master_port: Option<u16>,
    /// How long nodes wait for each other.
    pub join_ms: u64,
    /// When it must be over, from now on.
    pub whole_ms: u64,
    /// A folder that all shall have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default)]
    pub asks_python: bool,
    /// An engine that shall add over all nodes by its own means; a node that does not know this leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<PreflightEngine>,
    /// By which its nodes know each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
}

/// What a node says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "news", content = "data")]
pub enum PreflightNews {
    /// It has begun to look at itself.
    Started,
    /// The first lets the others in at this port.
    Meeting { port: u16 },
    /// The first is at this step; `done` of `of` parts of it are over.
    Step { step: PreflightStep, done: u32, of: u32 },
    /// The first has found all this.
    Report(Box<PreflightReport>),
    /// Another node was told that it is over.
    Over,
    /// It could not take part, or not to the end.
    Failed { reason: Text, hint: Text },
}
