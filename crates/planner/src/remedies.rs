//! What would make a model fit that does not.

use fermi_domain::language::Text;
use serde::Serialize;

use crate::constants::Constants;
use crate::job::Layout;
use crate::memory;
use crate::recompute::Recompute;
use crate::search::{Candidate, Request, rank};
use crate::sharding::{Offload, Sharding};

/// One thing to try.
#[derive(Clone, Debug, Serialize)]
pub struct Remedy {
    pub what: Text,
    pub needed_gib: f64,
    /// What a node needs in the memory of its processors besides.
    pub host_gib: f64,
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

/// A memory that is not known is not counted; what is needed is said.
fn fits_host(has: Option<f64>, needed: f64) -> bool {
    has.is_none_or(|has| needed <= has * FOR_STATES)
}

fn remedy(what: Text, candidate: &Candidate) -> Remedy {
    let host_gib = memory::host_gib(&candidate.job);
    let what = match host_gib {
        needed if needed > 0.0 => Text::new(
            format!("{}（每个节点约 {needed:.0} GiB 内存）", what.zh),
            format!("{} (about {needed:.0} GiB of memory per node)", what.en),
        ),
        _ => what,
    };
    Remedy {
        what,
        needed_gib: candidate.memory.needed_gib(),
        host_gib,
        fits: candidate.fits && fits_host(candidate.job.cluster.host_gib, host_gib),
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
        let best = *rank(&larger, constants).first().filter(|c| c.fits)?;
        let gpus = larger.cluster.gpus;
        Some(remedy(Text::new(format!("用 {gpus} 张同样的 GPU"), format!("use {gpus} of these GPUs")), &best))
    })
}
