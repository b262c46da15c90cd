//! Stages, their messages, and the time in which some of them wait.

use super::block::Block;
use super::{Rates, kernels};
use crate::job::Job;

/// One stage and one micro-batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stage {
    /// Slowest stage, messages included.
    pub micro_batch: f64,
    pub compute: f64,
    pub tensor: f64,
    /// Seconds per step in which the pipeline fills and drains.
    pub bubble: f64,
}

pub fn stage(job: &Job, rates: &Rates, block: &Block) -> Stage {
    let layers = job.architecture.layers as f64;
    let head = kernels::head(job, rates);
    if job.layout.pp <= 1 {
        let (compute, tensor) = (block.compute * layers + head, block.tensor * layers);
        return Stage { micro_batch: compute + tensor, compute, tensor, bubble: 0.0 };
    }
    let pp = job.layout.pp as f64;
    let whole = (block.compute + block.tensor) * layers + head;
    let middle = job.layers_per_stage();
    // The last stage has the head; where layers do not divide evenly, it has fewer of them.
    let last = if job.architecture.layers.is_multiple_of(job.layout.pp) { middle } else { middle - 1.0 };
    let slowest = ((block.compute + block.tensor) * middle).max((block.compute + block.tensor) * last + head);
    let share = slowest / whole;
    let messages = message(job, rates) * 2.0 * rates.pipe_visible * job.layout.vp as f64;
    Stage {
        micro_batch: slowest + messages,
        compute: (block.compute * layers + head) * share,
        tensor: block.tensor * layers * share,
        bubble: (pp - 1.0) / job.layout.vp as f64 * (whole / pp + messages),
    }
}

/// One boundary between stages, one way.
fn message(job: &Job, rates: &Rates) -> f64 {
    // Each rank of a tensor-parallel group sends a part, and the next stage puts them together over its links: Megatron's
    // scatter and gather, DeepSpeed's partitioned tensors.
    let bytes = job.precision.activation_bytes() * job.tokens_per_micro_batch() * job.architecture.hidden as f64
        / job.layout.tp as f64;
    // Stages are the outermost dimension: on several nodes some boundary lies between two of them, and the slowest decides. There
    // all ranks of the last stage of a node send at once.
    if job.cluster.nodes() > 1 {
        let stage = job.layout.tp.saturating_mul(job.layout.cp).saturating_mul(job.layout.dp);
        let senders = stage.min(job.cluster.gpus_per_node).max(1);
        bytes / (rates.wire / senders as f64) + rates.wire_delay
    } else {
        bytes / rates.link + rates.link_delay
    }
}
