//! How throughput grows with GPUs, the same batch per GPU on more of them, and how a learning rate follows.

use serde::Serialize;

use crate::constants::Constants;
use crate::job::{Cluster, Job};
use crate::network::Network;
use crate::search::Request;
use crate::sharding::Sharding;
use crate::time;

/// One line of a scaling table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    pub nodes: u64,
    pub gpus: u64,
    pub gpus_per_node: u64,
    pub network_gbps: Option<f64>,
    pub global_batch: u64,
    pub step_time_s: f64,
    pub tokens_per_s: f64,
    /// Throughput over that of one GPU.
    pub speedup: f64,
    /// Speed-up over GPUs.
    pub efficiency: f64,
}

/// What every GPU does, whatever their number.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    pub request: Request,
    pub sharding: Sharding,
    pub micro_batch: u64,
    pub accumulation: u64,
    /// What each doubling of ranks costs in waiting for the slowest: data loading, clocks, interrupts.
    pub jitter: f64,
}

impl Workload {
    fn job(&self, gpus: u64, gpus_per_node: u64, network: Network) -> Job {
        let mut request = self.request;
        request.cluster = Cluster { gpus, gpus_per_node, network, ..request.cluster };
        let mut layout = request.plain_layout();
        layout.micro_batch = self.micro_batch.max(1);
        layout.accumulation = self.accumulation.max(1);
        layout.sharding = if gpus > 1 { self.sharding } else { Sharding::Ddp };
        request.job(layout)
    }

    /// One place in the table.
    pub fn point(&self, gpus: u64, gpus_per_node: u64, network: Network, constants: &Constants) -> Point {
        let rate = |job: &Job| job.tokens_per_step() / time::estimate(job, constants).total();
        let alone = rate(&self.job(1, 1, network));
        let job = self.job(gpus, gpus_per_node, network);
        let tokens_per_s = rate(&job) / (1.0 + self.jitter * (gpus as f64).log2());
        let nodes = job.cluster.nodes();
        Point {
            nodes,
            gpus,
            gpus_per_node,
            network_gbps: (nodes > 1).then_some(network.node_gbps),
            global_batch: job.layout.global_batch(),
            step_time_s: job.tokens_per_step() / tokens_per_s,
            tokens_per_s,
            speedup: tokens_per_s / alone,
            efficiency: tokens_per_s / alone / gpus as f64,
        }
    }
}

/// Learning rates for a changed number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LearningRates {
    pub factor: f64,
    pub linear: f64,
    pub square_root: f64,
}

/// Scales a rate that was found with `base` ranks.
pub fn learning_rates(rate: f64, base: u64, ranks: u64) -> LearningRates {
    let factor = ranks as f64 / base.max(1) as f64;
    LearningRates { factor, linear: rate * factor, square_root: rate * factor.sqrt() }
}
