//! Scores over the vocabulary: often the peak where vocabularies are large.

use crate::framework::Family;
use crate::job::Job;

/// Bytes at the end of the forward pass, and at the start of the backward pass.
pub fn bytes(job: &Job) -> (f64, f64) {
    let a = &job.architecture;
    let tp = job.layout.tp as f64;
    let elements = job.tokens_per_micro_batch() * a.vocab as f64;
    let (forward, backward, split) = match job.family {
        // The published accounting of this family leaves them out.
        Family::MegatronLegacy => (0.0, 0.0, true),
        Family::MegatronDeepspeed => (6.0, 10.0, true),
        // 16-bit scores, and a 32-bit copy that the loss and its gradient share in place.
        Family::MegatronCore => (6.0, 6.0, true),
        Family::Torchtitan | Family::MaxText => (10.0, 15.5, true),
        Family::Fsdp2 => (7.6, 7.6, false),
        Family::Composer | Family::FmsFsdp => (7.0, 7.0, false),
        // A masked loss does not shift its scores, and widens them only under autocast.
        Family::Transformers | Family::Pytorch if !a.causal && job.precision.casts_parameters() => (9.6, 9.6, false),
        Family::Transformers | Family::Pytorch if !a.causal => (6.2, 6.2, false),
        Family::Transformers | Family::Pytorch | Family::Deepspeed => (10.0, 12.05, false),
    };
    let cut = if split { tp } else { 1.0 };
    (forward * elements / cut, backward * elements / cut)
}
