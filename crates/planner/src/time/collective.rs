//! Collectives: which link they take, and how long.

use super::Rates;
use crate::job::{Cluster, Job};

/// A group of ranks that talk to each other.
#[derive(Clone, Copy, Debug)]
pub struct RankGroup {
    pub ranks: f64,
    /// Bytes per second that one ring of the group moves.
    pub rate: f64,
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
            return Self { ranks: ranks as f64, rate: rates.link, delay };
        }
        let inside = (per_node / stride.min(per_node)).max(1) as f64;
        // All groups of a node share its wires; a ring that visits several GPUs of a node crosses the wire once.
        let groups = per_node as f64 / inside;
        let share = rates.wire / groups;
        let nodes = (ranks as f64 / inside).max(1.0);
        Self {
            ranks: ranks as f64,
            rate: share.min(rates.link),
            delay: rates.wire_delay * (2.0 + 2.0 * nodes.log2()) + rates.link_delay * inside,
        }
    }

    fn spread(&self) -> f64 {
        if self.ranks <= 1.0 { 0.0 } else { (self.ranks - 1.0) / self.ranks }
    }

    pub fn all_reduce(&self, bytes: f64) -> f64 {
        if self.ranks <= 1.0 { 0.0 } else { 2.0 * self.spread() * bytes / self.rate + self.delay }
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

pub fn data(job: &Job, rates: &Rates) -> RankGroup {
    RankGroup::of(&job.cluster, rates, job.layout.dp, job.layout.tp * job.layout.cp)
}
