//! The attention core: scores, softmax, values.

use super::Rates;
use crate::job::Job;

/// Seconds forward and backward of one block on one GPU.
pub fn seconds(job: &Job, rates: &Rates) -> (f64, f64) {
    let a = &job.architecture;
    let tp = job.layout.tp as f64;
    let tokens = job.tokens_per_micro_batch();
    let seq = job.seq_len as f64;
    let full = 4.0 * tokens * seq * a.query_width() as f64 / tp;
    let narrow = 1.0 + rates.half_head / a.head_dim as f64;
    if job.family.flash_attention() {
        let seen = if a.causal { 0.5 } else { 1.0 };
        let forward = seen * full / rates.flash * narrow;
        return (forward, forward * rates.flash_backward);
    }
    // Scores are written and read again by scaling, masking, softmax and dropout.
    let scores = tokens * seq * a.heads as f64 / tp;
    let traffic = scores * rates.score_bytes / rates.stream;
    let products = full / rates.batched * narrow;
    (products + traffic * 0.4, 2.0 * products + traffic * 0.6)
}
