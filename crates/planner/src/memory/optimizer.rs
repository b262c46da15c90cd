//! Optimizer states and master copies.

use super::keeping::Keeping;
use super::parameters::Held;
use crate::job::Job;
use crate::sharding::Offload;

pub fn bytes(job: &Job, keeping: &Keeping, held: &Held) -> f64 {
    if job.layout.offload != Offload::None {
        return 0.0;
    }
    keeping.optimizer * if keeping.optimizer_spread { held.trained_spread() } else { held.trained }
}
