//! The map from ranks to workers.

use serde::{Deserialize, Serialize};

use super::RankMapError;
use crate::{
    ids::{EnvironmentId, LocalRank, NodeRank, Rank, WorkerId},
    worker::Worker,
};

/// Who is rank r: slot r. Ranks are 0..n, nodes follow each other, local ranks are 0..k on each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<RankSlot>", into = "Vec<RankSlot>")]
pub struct RankMap {
    slots: Vec<RankSlot>,
}

/// The place of one rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RankSlot {
    pub rank: Rank,
    pub local_rank: LocalRank,
    /// How many ranks its node has.
    pub local_world_size: u32,
    pub node_rank: NodeRank,
    /// The node's name, such as `gn6`.
    pub node: String,
    pub environment: EnvironmentId,
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub worker: WorkerId,
    /// The number of its GPU on that machine; none on CPU.
    pub gpu: Option<u32>,
}

/// One node's part of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRanks<'a> {
    pub node_rank: NodeRank,
    pub node: &'a str,
    pub environment: &'a EnvironmentId,
    /// In the order of local ranks; never empty.
    pub slots: &'a [RankSlot],
}

impl RankMap {
    /// Numbers `nodes` in the order given, each with its workers in the order given. Nodes without workers and workers that
    /// come twice must have been dealt with by the caller.
    pub(super) fn number(nodes: &[(&str, Vec<&Worker>)]) -> Result<Self, RankMapError> {
        let mut numbering = Numbering::with_room(nodes.iter().map(|(_, workers)| workers.len()).sum());
        for (node, workers) in nodes {
            let placed = |worker: &&Worker| (worker.id.clone(), worker.environment.clone(), worker.gpu);
            numbering.add(node, workers.iter().map(placed));
        }
        numbering.done()
    }

    /// All slots in the order of ranks.
    pub fn slots(&self) -> &[RankSlot] {
        &self.slots
    }

    /// The place of one rank; nothing beyond the last.
    pub fn slot(&self, rank: Rank) -> Option<&RankSlot> {
        self.slots.get(usize::try_from(rank.0).ok()?)
    }

    /// How many ranks there are.
    pub fn world_size(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    /// The nodes in the order of their ranks; the first is the master.
    pub fn nodes(&self) -> impl Iterator<Item = NodeRanks<'_>> {
        self.slots.chunk_by(|a, b| a.node_rank == b.node_rank).filter_map(|slots| {
            let first = slots.first()?;
            Some(NodeRanks { node_rank: first.node_rank, node: &first.node, environment: &first.environment, slots })
        })
    }

    /// How many nodes take part.
    pub fn node_count(&self) -> u32 {
        u32::try_from(self.nodes().count()).unwrap_or(u32::MAX)
    }

    /// Whether NCCL can be used: it needs a GPU under every rank.
    pub fn every_rank_has_a_gpu(&self) -> bool {
        self.slots.iter().all(|slot| slot.gpu.is_some())
    }
}

/// Gives out ranks, node by node.
#[derive(Debug)]
pub(super) struct Numbering {
    slots: Vec<RankSlot>,
    nodes: u32,
}

impl Numbering {
    pub fn with_room(ranks: usize) -> Self {
        Self { slots: Vec::with_capacity(ranks), nodes: 0 }
    }

    /// The next node, with worker, environment and GPU of each of its ranks.
    pub fn add(&mut self, node: &str, workers: impl ExactSizeIterator<Item = (WorkerId, EnvironmentId, Option<u32>)>) {
        let local_world_size = u32::try_from(workers.len()).unwrap_or(u32::MAX);
        for (local_rank, (worker, environment, gpu)) in (0_u32..).zip(workers) {
            self.slots.push(RankSlot {
                rank: Rank(u32::try_from(self.slots.len()).unwrap_or(u32::MAX)),
                local_rank: LocalRank(local_rank),
                local_world_size,
                node_rank: NodeRank(self.nodes),
                node: node.to_owned(),
                environment,
                worker,
                gpu,
            });
        }
        self.nodes += 1;
    }

    pub fn done(self) -> Result<RankMap, RankMapError> {
        if self.slots.is_empty() { Err(RankMapError::NoWorkers) } else { Ok(RankMap { slots: self.slots }) }
    }
}

impl TryFrom<Vec<RankSlot>> for RankMap {
    type Error = RankMapError;

    /// Takes slots that came from elsewhere only when they are numbered as this crate would number them.
    fn try_from(slots: Vec<RankSlot>) -> Result<Self, Self::Error> {
        let workers: Vec<Worker> = slots
            .iter()
            .map(|slot| Worker { id: slot.worker.clone(), environment: slot.environment.clone(), gpu: slot.gpu })
            .collect();
        let mut nodes: Vec<(&str, Vec<&Worker>)> = Vec::new();
        let mut current = None;
        for (slot, worker) in slots.iter().zip(&workers) {
            match nodes.last_mut() {
                Some((_, members)) if current == Some(slot.node_rank) => members.push(worker),
                _ => nodes.push((&slot.node, vec![worker])),
            }
            current = Some(slot.node_rank);
        }
        let numbered = Self::number(&nodes)?;
        if numbered.slots == slots { Ok(numbered) } else { Err(RankMapError::Misnumbered) }
    }
}

impl From<RankMap> for Vec<RankSlot> {
    fn from(map: RankMap) -> Self {
        map.slots
    }
}
