//! Norms, residuals, activations, rotary positions: bound by memory, not by products.

use super::Rates;
use crate::architecture::Norm;
use crate::framework::Family;
use crate::job::Job;

/// Seconds forward and backward of one block on one GPU.
pub fn seconds(job: &Job, rates: &Rates) -> (f64, f64) {
    let a = &job.architecture;
    let tp = job.layout.tp as f64;
    let tokens = job.tokens_per_micro_batch();
    let whole = if job.layout.sequence_parallel { tp } else { 1.0 };
    let ffn = active_ffn(job) * if a.gated { 1.5 } else { 1.0 };
    let units = a.hidden as f64 / whole + (0.25 * ffn + 0.3 * a.query_width() as f64) / tp;
    let width = job.precision.activation_bytes() / 2.0;
    let written_out = if job.compiled {
        0.0
    } else {
        let norms = if a.norm == Norm::Rms { 2.0 * a.hidden as f64 / whole } else { 0.0 };
        let inputs = active_ffn(job) * if a.gated { 2.0 } else { 1.0 } / tp;
        norms * rates.eager_norm + inputs * rates.eager_activation
    };
    let forward = tokens * (units * rates.pointwise + written_out) * width / rates.stream;
    let mut casts = 0.0;
    if job.precision.is_low() {
        casts +=
            tokens * (a.hidden as f64 * 2.0 + (ffn + a.query_width() as f64) / tp) * rates.cast_bytes / rates.stream;
    }
    if job.precision.casts_parameters() && job.family == Family::Transformers {
        // Autocast writes a 16-bit copy of every weight.
        casts += 6.0 * a.active_layer_params() as f64 / tp / rates.stream;
    }
    (forward + casts, forward * rates.pointwise_backward + casts)
}

fn active_ffn(job: &Job) -> f64 {
    match job.architecture.experts {
        Some(e) => (e.ffn * (e.active + e.shared)) as f64,
        None => job.architecture.ffn as f64,
    }
}
