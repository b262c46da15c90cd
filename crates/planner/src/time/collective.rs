//! Collectives: which link they take, and how long.

use super::Rates;
use crate::job::{Cluster, Job};

/// A group of ranks that talk to each other.
#[derive(Clone, Copy, Debug)]
pub struct RankGroup {
    pub ranks: f64,
    pub nodes: f64,
    /// Bytes per second that one ring of the group moves, and that its links inside a node do.
    pub rate: f64,
    pub link: f64,
    /// Seconds before the first byte arrives everywhere.
    pub delay: f64,
}

impl RankGroup {
    /// `ranks` of them, `stride` apart in the order of ranks.
    pub fn of(cluster: &Cluster, rates: &Rates, ranks: u64, stride: u64) -> Self {
        let per_node = cluster.gpus_per_node.max(1);
        let span = ranks.saturating_mul(stride);
        if span <= per_node || cluster.nodes() <= 1 {
            let delay = if ranks > 1 { rates.link_delay * (ranks as f64 + 4.0) } else { 0.0 };
            return Self { ranks: ranks as f64, nodes: 1.0, rate: rates.link, link: rates.link, delay };
        }
        let inside = (per_node / stride.min(per_node)).max(1) as f64;
        // All groups of a node share its wires; a ring that visits several GPUs of a node crosses the wire once.
        let groups = per_node as f64 / inside;
        let share = rates.wire / groups;
        let nodes = (ranks as f64 / inside).max(1.0);
        Self {
            ranks: ranks as f64,
            nodes,
            rate: share.min(rates.link),
            link: rates.link,
            delay: rates.wire_delay * (2.0 + 2.0 * nodes.log2()) + rates.link_delay * inside,
        }
    }

    fn spread(&self) -> f64 {
        if self.ranks <= 1.0 { 0.0 } else { (self.ranks - 1.0) / self.ranks }
    }

    pub fn all_reduce(&self, bytes: f64) -> f64 {
        if self.ranks <= 1.0 {
            return 0.0;
        }
        let around = 2.0 * self.spread() * bytes;
        // Between two nodes NCCL's trees send everything once each way; a ring sends nearly twice as much.
        let moving = if self.nodes == 2.0 { (bytes / self.rate).max(around / self.link) } else { around / self.rate };
        moving.min(around / self.rate) + self.delay
    }

    /// All-gather or reduce-scatter of `bytes` in all.
    pub fn gather(&self, bytes: f64) -> f64 {
        if self.ranks <= 1.0 { 0.0 } else { self.spread() * bytes / self.rate + self.delay }
    }
}

/// The tensor-parallel group: neighbours.
pub fn tensor(job: &Job, rates: &Rates) -> RankGroup {
    RankGroup::of(&job.cluster, rates, job.layout.tp, 1)
}

pub fn context(job: &Job, rates: &Rates) -> RankGroup {
    RankGroup::of(&job.cluster, rates, job.layout.cp, job.layout.tp)
}

/// Ranks of a context-parallel group have the same weights, and add up their gradients too.
pub fn data(job: &Job, rates: &Rates) -> RankGroup {
    RankGroup::of(&job.cluster, rates, job.layout.dp.saturating_mul(job.layout.cp), job.layout.tp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_nodes_everything_crosses_once_each_way() {
        let group = |nodes: f64| RankGroup { ranks: 8.0 * nodes, nodes, rate: 50e9, link: 240e9, delay: 0.0 };
        let seconds = |nodes| group(nodes).all_reduce(50e9);
        assert_eq!(seconds(2.0), 1.0);
        assert!((1.9..2.0).contains(&seconds(4.0)) && seconds(4.0) < seconds(16.0));
        // Inside a node the links decide.
        assert!(RankGroup { rate: 240e9, ..group(1.0) }.all_reduce(50e9) < 0.4);
    }
}
