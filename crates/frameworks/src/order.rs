//! What a launch is made from.

use fermi_domain::{
    ids::{EnvironmentId, LocalRank, NodeRank, Rank, WorkerId},
    rank_map::{RankMap, RankMapError, RankSlot},
    task::{Strategy, TaskSpec},
};

/// A task, the ranks it got, and what is known about its nodes.
#[derive(Clone, Debug)]
pub struct LaunchOrder<'a> {
    pub spec: &'a TaskSpec,
    pub ranks: &'a RankMap,
    /// In the order of node ranks; the rank map is believed where something is missing here.
    pub nodes: &'a [NodeFacts],
    pub dataset_path: Option<String>,
    pub model_path: Option<String>,
    /// How many parameters the task's model has, where its numbers are registered; for `distributed_strategy: auto`.
    pub model_parameters: Option<u64>,
    /// How many parameters a model has whose name is known; for `distributed_strategy: auto`.
    pub known_models: KnownModels,
}

/// Looks a model up by the name that people give it, such as `facebook/opt-350m`.
pub type KnownModels = fn(&str) -> Option<u64>;

/// What is known about a node before anything starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFacts {
    pub name: String,
    /// At which the other nodes reach it.
    pub address: Option<String>,
    pub zone: Option<String>,
    pub gpu_model: Option<String>,
    pub gpu_count: u32,
}

/// The ranks of machines of which no more is known than their names and how many ranks each has: in that order, and with
/// a GPU each where there are any.
pub fn ranks_of<'a>(nodes: impl IntoIterator<Item = (&'a str, u32)>, on_gpus: bool) -> Result<RankMap, RankMapError> {
    let mut slots = Vec::new();
    for (node_rank, (name, count)) in (0..).zip(nodes) {
        for local in 0..count {
            slots.push(RankSlot {
                rank: Rank(u32::try_from(slots.len()).unwrap_or(u32::MAX)),
                local_rank: LocalRank(local),
                local_world_size: count,
                node_rank: NodeRank(node_rank),
                node: name.to_owned(),
                environment: EnvironmentId::from(name),
                worker: WorkerId::new(name, local),
                gpu: on_gpus.then_some(local),
            });
        }
    }
    RankMap::try_from(slots)
}

impl LaunchOrder<'_> {
    /// How many ranks there are, as batch sizes are counted.
    pub(crate) fn world(&self) -> u64 {
        u64::from(self.ranks.world_size())
    }

    /// Ranks per node, in the order of nodes.
    pub(crate) fn ranks_per_node(&self) -> Vec<u32> {
        self.ranks.nodes().map(|node| u32::try_from(node.slots.len()).unwrap_or(u32::MAX)).collect()
    }

    /// Whether every rank has a GPU of its own.
    pub(crate) fn on_gpus(&self) -> bool {
        self.ranks.every_rank_has_a_gpu()
    }

    /// Zones that are named, each once.
    pub(crate) fn zones(&self) -> Vec<&str> {
        let mut zones: Vec<&str> = Vec::new();
        for zone in self.nodes.iter().filter_map(|node| node.zone.as_deref()) {
            if !zone.is_empty() && !zones.contains(&zone) {
                zones.push(zone);
            }
        }
        zones
    }

    /// The user's division of work, if it is one of exactly these ranks.
    pub(crate) fn fitting_strategy(&self) -> Option<Strategy> {
        self.spec.distributed.strategy.filter(|strategy| strategy.ranks() == self.world())
    }
}
