//! What would make a model fit that does not.

use fermi_domain::language::Text;
use serde::Serialize;

use crate::constants::Constants;
use crate::interval::Verdict;
use crate::job::{Cluster, Layout};
use crate::memory;
use crate::recompute::Recompute;
use crate::search::{Candidate, Request, rank};
use crate::sharding::{Offload, Sharding};

/// One thing to try.
#[derive(Clone, Debug, Serialize)]
pub struct Remedy {
    pub what: Text,
    pub needed_gib: f64,
    /// What a node needs in the memory of its processors besides, and by how much that is too much.
    pub host_gib: f64,
    pub host_missing_gib: f64,
    pub fits: bool,
    pub step_time_s: f64,
    /// What it would run as.
    #[serde(skip)]
    pub candidate: Candidate,
}

/// Remedies on the same GPUs for a request of which nothing fits, the mildest first.
pub(crate) fn within_these_gpus(request: &Request, constants: &Constants) -> Vec<Remedy> {
    let least = Layout {
        micro_batch: 1,
        accumulation: (request.global_batch / request.cluster.gpus.max(1)).max(1),
        recompute: Recompute::Full,
        sharding: if request.cluster.gpus > 1 { Sharding::Zero3 } else { Sharding::Ddp },
        ..request.plain_layout()
    };
    let offload = |offload| request.estimate(Layout { offload, ..least }, constants);
    vec![
        remedy(
            Text::new(
                "全部重计算、微批 1、参数分片",
                "checkpoint every block, shard parameters and take micro-batch 1",
            ),
            &request.estimate(least, constants),
        ),
        remedy(
            Text::new("再把优化器卸载到 CPU", "also offload the optimizer to the CPU"),
            &offload(Offload::OptimizerCpu),
        ),
        remedy(
            Text::new("参数和优化器都卸载到 CPU", "offload parameters and optimizer to the CPU"),
            &offload(Offload::AllCpu),
        ),
        remedy(Text::new("卸载到 NVMe", "offload to NVMe"), &offload(Offload::AllNvme)),
    ]
}

/// The share of a machine's memory that a training may take; the rest is for data loaders and the system.
const FOR_STATES: f64 = 0.9;

/// GiB by which the memory of a node's processors is too small. One that is not known is taken for twice that of the
/// node's GPUs, the least that people build.
fn host_missing(cluster: &Cluster, needed: f64) -> f64 {
    let on_gpus = cluster.gpu.memory_gib * cluster.gpus_per_node.min(cluster.gpus) as f64;
    let has = cluster.host_gib.unwrap_or(2.0 * on_gpus);
    (needed - has * FOR_STATES).max(0.0)
}

fn remedy(what: Text, candidate: &Candidate) -> Remedy {
    let host_gib = memory::host::of(&candidate.job).gib();
    let host_missing_gib = host_missing(&candidate.job.cluster, host_gib);
    let what = match (host_gib, host_missing_gib) {
        (needed, missing) if missing > 0.0 => Text::new(
            format!("{}（每个节点约 {needed:.0} GiB 内存，差 {missing:.0} GiB）", what.zh),
            format!("{} (about {needed:.0} GiB of memory per node, {missing:.0} GiB too much)", what.en),
        ),
        (needed, _) if needed > 0.0 => Text::new(
            format!("{}（每个节点约 {needed:.0} GiB 内存）", what.zh),
            format!("{} (about {needed:.0} GiB of memory per node)", what.en),
        ),
        _ => what,
    };
    Remedy {
        what,
        needed_gib: candidate.memory.needed_gib(),
        host_gib,
        host_missing_gib,
        fits: candidate.verdict == Verdict::Fits && host_missing_gib <= 0.0,
        step_time_s: candidate.seconds(),
        candidate: *candidate,
    }
}

/// The smallest power-of-two multiple of the machines on which something fits.
pub(crate) fn more_gpus(request: &Request, constants: &Constants) -> Option<Remedy> {
    (1..=8).find_map(|power| {
        let factor = 1u64 << power;
        let mut larger = *request;
        larger.cluster.gpus = request.cluster.gpus.checked_mul(factor).filter(|gpus| *gpus <= 16_384)?;
        larger.global_batch = request.global_batch.max(larger.cluster.gpus);
        let best = *rank(&larger, constants).first().filter(|c| c.verdict == Verdict::Fits)?;
        let gpus = larger.cluster.gpus;
        Some(remedy(Text::new(format!("用 {gpus} 张同样的 GPU"), format!("use {gpus} of these GPUs")), &best))
    })
}
