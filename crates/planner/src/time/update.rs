//! The optimizer step: a stream over parameters, gradients and states.

use super::Rates;
use crate::job::Job;
use crate::precision::Precision;
use crate::sharding::{Offload, Sharding};

pub fn seconds(job: &Job, rates: &Rates) -> f64 {
    if job.layout.offload != Offload::None {
        return 0.0;
    }
    let cut = (job.layout.tp * job.layout.pp) as f64;
    let owned = match job.layout.sharding {
        Sharding::Ddp => 1.0,
        other => other.group(job.layout.dp as f64),
    };
    let trained = if job.lora.is_some() { 0.02 } else { 1.0 };
    let width = if job.precision == Precision::PureBf16 { 0.6 } else { 1.0 };
    job.architecture.params() as f64 * trained / cut / owned * rates.update_bytes * width / rates.stream
}
