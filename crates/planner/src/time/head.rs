//! The last product, onto the vocabulary, and the loss.

use super::{Rates, products};
use crate::job::Job;

/// Seconds of one micro-batch on the stage that has the head.
pub fn seconds(job: &Job, rates: &Rates) -> f64 {
    let a = &job.architecture;
    let tokens = job.tokens_per_micro_batch();
    let tp = job.layout.tp as f64;
    let split = if job.family.splits_logits() { tp } else { 1.0 };
    let vocab = a.vocab as f64;
    let product = products::seconds(rates, rates.half, tokens, (vocab / tp / 64.0).ceil() * 64.0, a.hidden as f64);
    let odd = if a.vocab.is_multiple_of(8) || job.family.is_megatron() { 1.0 } else { 1.0 + rates.odd_vocab };
    3.0 * product * odd + tokens * vocab / split * rates.logit_bytes / rates.stream
}
