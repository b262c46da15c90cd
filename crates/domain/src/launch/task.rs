//! What starts, over all nodes of a task.

use serde::{Deserialize, Serialize};

use super::{NodeLaunch, Template};
use crate::ids::{EnvironmentId, NodeRank, Rank, WorkerId};
use crate::language::Text;

/// What starts, where, and with which files and variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLaunch {
    /// The interpreter, the script and its arguments: what the task itself runs, the same for every rank.
    pub program: Vec<Template>,
    /// What the framework adds behind them.
    pub engine_args: Vec<Template>,
    /// Where the ranks start; the source's folder, else the agent's own, when not given.
    pub directory: Option<String>,
    /// Written into the launch folder of every node before anything starts.
    pub files: Vec<LaunchFile>,
    /// Variables of every rank, beyond those of the contract.
    pub env: Vec<(String, Template)>,
    /// In the order of node ranks.
    pub nodes: Vec<NodePart>,
    /// What Fermi itself has to offer to the ranks while they run.
    pub serves: Serves,
    /// Whether it hosts the store at which torch's ranks meet; else rank 0 does.
    pub hosts_store: bool,
    /// What was decided on the way and why, for the event log.
    pub notes: Vec<Text>,
}

impl TaskLaunch {
    /// The whole command of a rank.
    pub fn argv(&self) -> impl Iterator<Item = &Template> {
        self.program.iter().chain(&self.engine_args)
    }

    pub fn world_size(&self) -> u32 {
        count(self.nodes.iter().map(|node| node.ranks.len()).sum())
    }

    /// What the node of this number gets; nothing where there is no such node.
    pub fn node(&self, node_rank: NodeRank) -> Option<NodeLaunch> {
        let node = self.nodes.iter().find(|node| node.node_rank == node_rank)?;
        Some(NodeLaunch {
            node_name: node.name.clone(),
            node_count: count(self.nodes.len()),
            world_size: self.world_size(),
            ranks: node.ranks.clone(),
            argv: self.argv().cloned().collect(),
            directory: self.directory.clone(),
            files: self.files.clone(),
            env: self.env.clone(),
            serves: self.serves,
            hosts_store: self.hosts_store,
        })
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// What the first node's supervisor serves at the master's address and port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Serves {
    /// Rank 0 listens there itself.
    #[default]
    Nothing,
    /// The HTTP key-value store at which Horovod's ranks meet in gloo mode; rank 0 does not listen there.
    HorovodRendezvous,
}

/// A file that the engine or a person reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchFile {
    /// Relative to the launch folder; never leaves it.
    pub path: String,
    pub text: Template,
}

/// What differs from node to node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePart {
    pub environment: EnvironmentId,
    pub name: String,
    pub node_rank: NodeRank,
    pub ranks: Vec<RankLaunch>,
}

/// One rank's part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RankLaunch {
    pub rank: Rank,
    pub worker: WorkerId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<u32>,
    /// Variables of this rank alone; they win over those of all.
    #[serde(default)]
    pub env: Vec<(String, Template)>,
}
