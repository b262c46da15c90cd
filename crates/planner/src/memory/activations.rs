//! What the forward pass keeps for the backward pass.

use super::Stage;
use crate::architecture::{Activation, Norm};
use crate::framework::Family;
use crate::job::Job;
use crate::precision::Precision;
use crate::recompute::Recompute;

/// Activations of all blocks and micro-batches in flight on a stage.
pub fn all(job: &Job, stage: Stage) -> f64 {
    let layers = if job.layout.pp > 1 { job.layers_per_stage() } else { job.architecture.layers as f64 };
    kept_per_block(job) * layers * in_flight(job, stage) + at_the_top(job)
}

/// Micro-batches whose activations a stage holds at once.
fn in_flight(job: &Job, stage: Stage) -> f64 {
    let (pp, vp, m) = (job.layout.pp as f64, job.layout.vp as f64, job.layout.accumulation as f64);
    match stage {
        Stage::Only => 1.0,
        Stage::Last if vp <= 1.0 => 1.0,
        Stage::Last => (1.0 + (pp - 1.0) / (pp * vp)).min(m),
        Stage::First if vp <= 1.0 => pp.min(m),
        Stage::First => (pp * (1.0 + (pp - 1.0) / (pp * vp))).min(m),
    }
}

pub fn recomputes(job: &Job) -> bool {
    matches!(job.layout.recompute, Recompute::Full | Recompute::Half)
}

/// Bytes that stay of one block and one micro-batch.
fn kept_per_block(job: &Job) -> f64 {
    match job.layout.recompute {
        Recompute::Full => input_of_block(job),
        Recompute::Half => 0.46 * whole_block(job, true),
        Recompute::Attention => whole_block(job, false),
        Recompute::None => whole_block(job, true),
    }
}

/// A checkpointed block keeps its input.
fn input_of_block(job: &Job) -> f64 {
    let element = if residual_in_full(job) { 4.0 } else { job.precision.activation_bytes() };
    let cut = if job.layout.sequence_parallel { job.layout.tp as f64 } else { 1.0 };
    element * job.tokens_per_micro_batch() * job.architecture.hidden as f64 / cut
}

/// Autocast leaves the residual stream in 32 bits.
fn residual_in_full(job: &Job) -> bool {
    job.precision.casts_parameters()
        && matches!(job.family, Family::Transformers | Family::Pytorch)
        && !job.layout.sharding.gathers_parameters()
}

/// The block that is being computed again, with what its backward pass adds.
pub fn one_block_at_work(job: &Job) -> f64 {
    let added = match (recomputes(job), job.family) {
        (true, _) => 1.5,
        // The published accounting of this family leaves it out.
        (false, Family::MegatronLegacy) => 0.0,
        (false, _) => 0.5,
    };
    added * whole_block(job, true)
}

/// The last hidden states and their norm.
fn at_the_top(job: &Job) -> f64 {
    if job.family == Family::MegatronLegacy {
        return 0.0;
    }
    8.0 * job.tokens_per_micro_batch() * job.architecture.hidden as f64
        / if job.layout.sequence_parallel { job.layout.tp as f64 } else { 1.0 }
}

/// Everything one block keeps without recomputation; `scores` says whether the attention core is kept too.
fn whole_block(job: &Job, scores: bool) -> f64 {
    let a = &job.architecture;
    let tokens = job.tokens_per_micro_batch();
    let tp = job.layout.tp as f64;
    let h = a.hidden as f64;
    let seq = job.seq_len as f64 / job.layout.cp as f64;
    if !job.family.flash_attention() {
        // Korthikanti et al. 2022, with dropout masks and attention scores.
        let core = if scores { 5.0 * a.heads as f64 * seq / h } else { 0.0 };
        let per_unit = if job.layout.sequence_parallel { (34.0 + core) / tp } else { 10.0 + 24.0 / tp + core / tp };
        return tokens * h * per_unit;
    }
    let (replicated, split, ffn) = per_token(job);
    let cut = if job.layout.sequence_parallel { tp } else { 1.0 };
    let mut bytes = tokens * (replicated / cut + (split + ffn) / tp);
    // Grouped queries in 32 bits have no fused kernel: the scores are written.
    if job.precision.activation_bytes() > 2.0 && a.kv_heads < a.heads && job.family == Family::Transformers {
        bytes += tokens * 4.3 * a.heads as f64 * seq / tp;
    }
    bytes
}

/// Bytes per token of one block: outside tensor parallelism, inside attention, inside the feed-forward block.
fn per_token(job: &Job) -> (f64, f64, f64) {
    let a = &job.architecture;
    let h = a.hidden as f64;
    let q = a.query_width() as f64;
    let kv = a.kv_width() as f64;
    let f = match a.experts {
        Some(e) => (e.ffn * (e.active + e.shared)) as f64,
        None => a.ffn as f64,
    };
    // Tokens sorted by expert are a copy for each expert that they go to, and so is what comes back.
    let routed = a.experts.map_or(0.0, |e| 4.0 * e.active as f64 * h * job.layout.tp as f64);
    let eager = matches!(job.family, Family::Transformers | Family::Pytorch | Family::Deepspeed);
    if !eager {
        // Transformer Engine keeps inputs of its 8-bit products in 8 bits.
        if job.family == Family::MegatronCore && job.precision.is_low() {
            let per_f = if a.gated { 5.0 } else { 3.0 };
            return (6.0 * h, 5.0 * q + 4.0 * kv, per_f * f + routed);
        }
        // Norm inputs and outputs, twice; query, attention output and keys; fused activation.
        let per_f = if a.gated { 6.0 } else { 4.0 };
        let unfused = if job.compiled { 0.0 } else { 6.0 * h };
        let norms = if job.family == Family::Composer { 6.0 } else { 8.0 };
        let head_norms = if a.qk_norm { 2.0 * (q + kv) } else { 0.0 };
        return (norms * h + unfused, 4.0 * q + 4.0 * kv + head_norms, per_f * f + routed);
    }
    let autocast = job.precision.casts_parameters() && !job.layout.sharding.gathers_parameters();
    let wide = job.precision.activation_bytes() / 2.0;
    let full = matches!(job.precision, Precision::Fp32 | Precision::Tf32);
    // Measured on transformers 5: blocks written kernel by kernel.
    let norms = match (a.norm, autocast, full) {
        (Norm::Rms, true, _) => 26.1,
        (Norm::Rms, false, true) => 12.4,
        (Norm::Rms, false, false) => 16.4,
        // An encoder norms after the sum: the normed state is the residual, and is kept once.
        (Norm::Layer, true, _) if !a.causal => 12.7,
        (Norm::Layer, true, _) => 16.2,
        (Norm::Layer, false, _) => 8.2,
    };
    let per_f = match (a.activation, autocast) {
        _ if a.gated => 8.0,
        (Activation::GeluComposed, true) => 14.95,
        (Activation::GeluComposed, false) => 10.05,
        (Activation::Relu, _) => 2.0,
        (Activation::Fused, true) => 5.0,
        (Activation::Fused, false) => 4.0,
    };
    // A frozen norm keeps no normed state for its own weight.
    let norms = if job.lora.is_some() && a.norm == Norm::Rms { norms - 4.0 } else { norms };
    // Norms of queries and keys keep a 32-bit and a 16-bit copy, head by head.
    let head_norms = if a.qk_norm { 6.0 * (q + kv) } else { 0.0 };
    (norms * h * wide, (4.0 * q + 4.0 * kv) * wide + head_norms, (per_f * f + routed) * wide)
}

/// Scores over the vocabulary, often the peak where it is large: bytes at the end of the forward pass, and at the start of the backward pass.
pub fn logits(job: &Job) -> (f64, f64) {
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
        // 16-bit scores, their 32-bit copy and its 16-bit gradient, gathered whole for the loss.
        Family::Fsdp2 => (8.0, 8.0, false),
        Family::Composer | Family::FmsFsdp => (7.0, 7.0, false),
        // A masked loss does not shift its scores, and widens them only under autocast.
        Family::Transformers | Family::Pytorch if !a.causal && job.precision.casts_parameters() => (9.6, 9.6, false),
        Family::Transformers | Family::Pytorch if !a.causal => (6.2, 6.2, false),
        Family::Transformers | Family::Pytorch | Family::BuiltIn | Family::Deepspeed => (10.0, 12.05, false),
    };
    let cut = if split { tp } else { 1.0 };
    (forward * elements / cut, backward * elements / cut)
}
