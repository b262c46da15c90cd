//! Gradients, and how long they stay.

use super::keeping::BytesKept;
use super::states::HeldParameters;
use crate::framework::Family;
use crate::job::Job;
use crate::sharding::{Offload, Sharding};

/// All gradients, as they lie when the backward pass ends.
pub fn at_the_end(job: &Job, keeping: &BytesKept, held: &HeldParameters) -> f64 {
    let buckets = buckets(job, keeping, held);
    if job.layout.offload != Offload::None {
        return keeping.gradient * held.trained_spread() + buckets;
    }
    let whole = unreduced(job, held);
    if whole > 0.0 {
        return whole + buckets;
    }
    keeping.gradient * if keeping.gradient_spread { held.trained_spread() } else { held.trained } + buckets
}

/// Gradients that are there before the backward pass begins.
pub fn kept_between_micro_batches(job: &Job, keeping: &BytesKept, held: &HeldParameters) -> f64 {
    let buckets = buckets(job, keeping, held);
    // Megatron allocates its gradients once; others let them go after the step.
    if job.family.is_megatron() || job.layout.accumulation > 1 {
        return at_the_end(job, keeping, held);
    }
    buckets
}

/// FSDP2 with accumulation keeps whole gradients in 32 bits until the last micro-batch.
fn unreduced(job: &Job, held: &HeldParameters) -> f64 {
    let accumulates = job.layout.accumulation > 1 && held.group > 1.0 && job.layout.sharding.gathers_parameters();
    match job.family {
        Family::Fsdp2 if accumulates => 4.0 * held.trained,
        Family::Torchtitan if accumulates && job.layout.pp > 1 => 5.0 * held.trained,
        _ => 0.0,
    }
}

/// DDP's buckets are a second copy; DeepSpeed's have a fixed size.
fn buckets(job: &Job, keeping: &BytesKept, held: &HeldParameters) -> f64 {
    if job.layout.dp <= 1 {
        return if job.family == Family::MegatronDeepspeed { DEEPSPEED_BUCKETS } else { 0.0 };
    }
    match (job.layout.sharding, job.family) {
        (_, Family::MegatronDeepspeed) => DEEPSPEED_BUCKETS,
        (Sharding::Ddp, f) if !f.is_megatron() => keeping.gradient * held.trained,
        (Sharding::Zero1 | Sharding::Zero2 | Sharding::Zero3, Family::Deepspeed) => {
            DEEPSPEED_BUCKETS.min(2.0 * 2.0 * held.trained)
        }
        _ => 0.0,
    }
}

/// Reduce and gather buckets of 5e8 elements of 2 bytes, and one in flight.
const DEEPSPEED_BUCKETS: f64 = 3e9;
