//! What is there only for a while (gathered blocks, casts, work space), and what lies outside the framework's allocator.

use super::states::HeldParameters;
use super::{GIB, Memory};
use crate::framework::Family;
use crate::job::Job;
use crate::precision::Precision;
use crate::sharding::{Offload, Sharding};

/// Work space of the product library.
const WORKSPACE: f64 = 70e6;

/// Gathered blocks and the libraries' work space.
pub fn transient(job: &Job, held: &HeldParameters) -> f64 {
    let element = if matches!(job.precision, Precision::Fp32 | Precision::Tf32) { 4.0 } else { 2.0 };
    let gathered = match job.layout.sharding {
        _ if job.layout.offload != Offload::None => 2.0 * element * held.block,
        Sharding::FsdpGradOp => element * held.all(),
        // A pipeline passes over its blocks many times and keeps them gathered.
        Sharding::FsdpFull if job.layout.pp > 1 => element * held.all(),
        Sharding::Zero3 | Sharding::FsdpFull | Sharding::Hybrid(_) if held.group > 1.0 => {
            // The root unit is let go before the blocks are at work where the loss is computed outside of it.
            let root = if job.family == Family::Fsdp2 { 0.0 } else { held.tables };
            element * (root + 2.0 * held.block)
        }
        _ => 0.0,
    };
    // Gradients that pipelines keep whole are copied into the buffers of their reduction, two blocks in flight.
    let reduced = match job.layout.sharding {
        Sharding::FsdpFull if job.layout.pp > 1 && held.group > 1.0 => 2.0 * 4.0 * held.block,
        _ => 0.0,
    };
    if job.family == Family::MegatronLegacy { gathered } else { gathered + reduced + WORKSPACE }
}

/// Autocast's 16-bit copies of the weights.
pub fn casts(job: &Job, held: &HeldParameters) -> f64 {
    let autocast = job.precision.casts_parameters()
        && matches!(job.family, Family::Transformers | Family::Pytorch)
        && !job.layout.sharding.gathers_parameters();
    if autocast { 2.0 * held.all() } else { 0.0 }
}

/// The driver's own count was published (nvidia-smi), not the allocator's.
pub fn counts_context(job: &Job) -> bool {
    job.family == Family::MegatronDeepspeed
}

/// CUDA context, communication buffers, fragments.
pub fn context(job: &Job, peak: &Memory) -> f64 {
    if counts_context(job) {
        return 1.5 * GIB + 0.15 * peak.activations;
    }
    let moving = peak.activations + peak.logits + peak.gradients;
    0.5 * GIB + 0.02 * peak.allocated() + 0.025 * moving
}
