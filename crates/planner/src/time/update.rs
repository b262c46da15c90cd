//! The optimizer step: a stream over parameters, gradients and states, on the GPU or wherever the states are.

use super::Rates;
use crate::job::Job;
use crate::precision::Precision;
use crate::sharding::{Offload, Sharding};

pub fn seconds(job: &Job, rates: &Rates) -> f64 {
    if job.layout.offload == Offload::None { on_gpu(job, rates) } else { off_gpu(job) }
}

fn on_gpu(job: &Job, rates: &Rates) -> f64 {
    let cut = (job.layout.tp * job.layout.pp) as f64;
    // Experts are spread over their own ranks, and their states over the ranks that hold the same ones: over all replicas in the end.
    let owned = match job.layout.sharding {
        Sharding::Ddp => 1.0,
        other => other.group(job.layout.dp as f64),
    };
    let a = &job.architecture;
    let routed = if job.layout.sharding == Sharding::Ddp { a.routed_params() as f64 } else { 0.0 };
    let held = a.params() as f64 - routed * (1.0 - 1.0 / job.layout.ep.max(1) as f64);
    let trained = if job.lora.is_some() { 0.02 } else { 1.0 };
    let width = if job.precision == Precision::PureBf16 { 0.6 } else { 1.0 };
    held * trained / cut / owned * rates.update_bytes * width / rates.stream
}

/// Bytes per second of an update on the processors of a node, and of its NVMe drives; both shared by its GPUs.
const HOST_UPDATE: f64 = 60e9;
const NVME: f64 = 6e9;

/// States on the processor or on NVMe: what has to travel, and the update there.
fn off_gpu(job: &Job) -> f64 {
    let cut = (job.layout.tp * job.layout.pp) as f64 * job.layout.sharding.group(job.layout.dp as f64);
    let owned = job.architecture.params() as f64 / cut;
    let per_node = job.cluster.gpus_per_node.min(job.cluster.gpus).max(1) as f64;
    let pcie = job.cluster.gpu.pcie_bytes_per_s * 0.7;
    let moved = 2.0 * owned + 2.0 * owned;
    let update = 28.0 * owned / (HOST_UPDATE / per_node);
    let parameters = match job.layout.offload {
        Offload::AllCpu | Offload::AllNvme => 2.0 * 2.0 * owned * job.layout.accumulation as f64 / pcie,
        _ => 0.0,
    };
    let drives = if job.layout.offload == Offload::AllNvme { 32.0 * owned / (NVME / per_node) } else { 0.0 };
    moved / pcie + update.max(drives) + parameters
}
