//! What lies outside the framework's allocator, and the slack inside it.

use super::{GIB, Memory};
use crate::framework::Family;
use crate::job::Job;

/// The driver's own count was published (nvidia-smi), not the allocator's.
pub fn is_counted(job: &Job) -> bool {
    job.family == Family::MegatronDeepspeed
}

/// CUDA context, communication buffers, fragments.
pub fn bytes(job: &Job, peak: &Memory) -> f64 {
    if is_counted(job) {
        return 1.5 * GIB + 0.15 * peak.activations;
    }
    let moving = peak.activations + peak.logits + peak.gradients;
    0.5 * GIB + 0.02 * peak.allocated() + 0.025 * moving
}
