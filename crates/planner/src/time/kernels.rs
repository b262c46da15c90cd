//! What one GPU computes: products bound by its arithmetic, pointwise work bound by its memory, attention between them.

use super::Rates;
use crate::architecture::{Activation, Norm};
use crate::framework::Family;
use crate::job::Job;

/// Seconds of a product of `tokens` rows with a weight of `width` × `inner`.
pub fn product(rates: &Rates, rate: f64, tokens: f64, width: f64, inner: f64) -> f64 {
    if tokens <= 0.0 || width <= 0.0 || inner <= 0.0 {
        return 0.0;
    }
    let shape =
        (1.0 + rates.half_tokens / tokens) * (1.0 + rates.half_width / width) * (1.0 + rates.half_width / inner);
    let odd = |n: f64| n % 64.0 != 0.0;
    let penalty = if odd(width) || odd(inner) { 1.0 + rates.misaligned } else { 1.0 };
    2.0 * tokens * width * inner / rate * shape * penalty
}

/// The attention core (scores, softmax, values): seconds forward and backward of one block on one GPU.
pub fn attention(job: &Job, rates: &Rates) -> (f64, f64) {
    let a = &job.architecture;
    let tp = job.layout.tp as f64;
    let tokens = job.tokens_per_micro_batch();
    let seq = job.seq_len as f64;
    let full = 4.0 * tokens * seq * a.query_width() as f64 / tp;
    let narrow = 1.0 + rates.half_head / a.head_dim as f64;
    if job.family.flash_attention() {
        let seen = if a.causal { 0.5 } else { 1.0 };
        let rows = tokens * a.heads as f64 / tp;
        let forward = seen * full / rates.flash * narrow * (1.0 + rates.fill / rows.max(1.0));
        return (forward, forward * rates.flash_backward);
    }
    // Scores are written and read again by scaling, masking, softmax and dropout.
    let scores = tokens * seq * a.heads as f64 / tp;
    let traffic = scores * rates.score_bytes / rates.stream;
    let products = full / rates.batched * narrow;
    (products + traffic * 0.4, 2.0 * products + traffic * 0.6)
}

/// Norms, residuals, activations, rotary positions: seconds forward and backward of one block on one GPU.
pub fn pointwise(job: &Job, rates: &Rates) -> (f64, f64) {
    let a = &job.architecture;
    let tp = job.layout.tp as f64;
    let tokens = job.tokens_per_micro_batch();
    let whole = if job.layout.sequence_parallel { tp } else { 1.0 };
    let ffn = active_ffn(job) * if a.gated { 1.5 } else { 1.0 };
    let width = job.precision.activation_bytes() / 2.0;
    let moved = if job.compiled {
        let units = a.hidden as f64 / whole + (0.25 * ffn + 0.3 * a.query_width() as f64) / tp;
        units * rates.pointwise * width
    } else {
        let unfused = Unfused::of(job);
        (unfused.whole / whole + unfused.split / tp) * rates.eager
    };
    let forward = tokens * moved / rates.stream;
    let mut casts = 0.0;
    if job.precision.is_low() {
        casts +=
            tokens * (a.hidden as f64 * 2.0 + (ffn + a.query_width() as f64) / tp) * rates.cast_bytes / rates.stream;
    }
    if job.precision.casts_parameters() && job.family == Family::Transformers {
        // Autocast writes a 16-bit copy of every weight.
        casts += 6.0 * a.active_layer_params() as f64 / tp / rates.stream;
    }
    let (beside, beside_back) = adapters(job);
    let beside = (tokens * beside * width / rates.stream, tokens * beside_back * width / rates.stream);
    (forward + casts + beside.0, forward * rates.pointwise_backward + casts + beside.1)
}

/// Bytes per token that the kernels of a block move forward which nobody fused, as transformers writes blocks: each reads its
/// inputs and writes its output.
struct Unfused {
    /// Of the residual stream, its norms, and the casts of what goes into products.
    whole: f64,
    /// Of what tensor parallelism splits.
    split: f64,
}

impl Unfused {
    fn of(job: &Job) -> Self {
        let a = &job.architecture;
        let (h, q, kv) = (a.hidden as f64, a.query_width() as f64, a.kv_width() as f64);
        let autocast = job.precision.casts_parameters();
        // Autocast adds up the residual stream in 32 bits, and computes norms and powers in them.
        let element = if autocast { 2.0 } else { job.precision.activation_bytes() };
        let stream = if autocast { 4.0 } else { element };
        // To 32 bits, square, mean, scale, back, weight; a plain norm is one kernel.
        let rms = |element: f64| if element > 2.0 { 28.0 } else { 36.0 };
        let norm = if a.norm == Norm::Rms { rms(stream) } else { 2.0 * stream };
        let inputs = 3.0 + if a.gated { 2.0 } else { 1.0 };
        let casts = if autocast { 6.0 * inputs } else { 0.0 };
        // Half of the positions is turned, joined, and both are multiplied and added up.
        let positions = if a.causal && a.learned_positions == 0 { 12.0 * element * (q + kv) } else { 0.0 };
        let heads = if a.qk_norm { rms(element) * (q + kv) } else { 0.0 };
        let between = match a.activation {
            _ if a.gated => 5.0 * element,
            Activation::GeluComposed if autocast => 66.0,
            Activation::GeluComposed => 17.0 * element,
            Activation::Relu | Activation::Fused => 2.0 * element,
        };
        Self {
            whole: h * (2.0 * (2.0 * stream + element) + 2.0 * norm + casts),
            split: 2.0 * element * q + positions + heads + active_ffn(job) * between,
        }
    }
}

/// Operations of a block that nobody fused, forward, as transformers writes blocks: products, norms, attention and residuals,
/// and what norms, positions, gates and activations are written out in.
fn operations(job: &Job) -> f64 {
    let a = &job.architecture;
    let when = |is: bool, count: f64| if is { count } else { 0.0 };
    let norms = when(a.norm == Norm::Rms, 14.0) + when(a.qk_norm, 14.0);
    let positions = when(a.causal && a.learned_positions == 0, 10.0);
    let between = when(a.gated, 2.0) + when(a.activation == Activation::GeluComposed, 7.0);
    16.0 + norms + positions + between
}

/// Of a block whose processor time `Rates::host` is.
const USUAL_OPERATIONS: f64 = 28.0;

/// Processor time of a block against a usual one: each operation is a call, and so are the modules around them.
pub fn calls(job: &Job, rates: &Rates) -> f64 {
    if job.compiled { 1.0 } else { (operations(job) + rates.modules) / (USUAL_OPERATIONS + rates.modules) }
}

/// Seconds of a block's kernels beside their work, forward and backward.
pub fn gaps(job: &Job, rates: &Rates) -> (f64, f64) {
    let kernels = if job.compiled { 10.0 } else { operations(job) };
    let casts = if job.precision.is_low() { 6.0 } else { 0.0 };
    let forward = (kernels + casts) * rates.kernel;
    (forward, 2.0 * forward)
}

/// Seconds in which one micro-batch adds its gradients of a block to those before: both are read, the sum is written.
pub fn accumulation(job: &Job, rates: &Rates) -> f64 {
    if job.lora.is_some() || (job.layout.accumulation <= 1 && !job.family.is_megatron()) {
        return 0.0;
    }
    let a = &job.architecture;
    let weights = a.layer_params() as f64 / (job.layout.tp * job.layout.ep.max(1)) as f64;
    let bytes = if job.family.is_megatron() && !job.half_gradients { 8.0 } else { 6.0 };
    weights * bytes / rates.stream * rates.accumulate
}

/// Bytes per token that low-rank adapters move beside their products: each reads the input again, and its output is
/// added to the layer's, forward; both gradients are added, backward.
fn adapters(job: &Job) -> (f64, f64) {
    if job.lora.is_none() {
        return (0.0, 0.0);
    }
    let a = &job.architecture;
    let (h, q, kv) = (a.hidden as f64, a.query_width() as f64, a.kv_width() as f64);
    let f = active_ffn(job);
    let into = if a.gated { 2.0 } else { 1.0 };
    let inputs = 3.0 * h + q + into * h + f;
    let outputs = q + 2.0 * kv + h + into * f + h;
    let tp = job.layout.tp as f64;
    ((2.0 * inputs + 8.0 * outputs) / tp, (10.0 * inputs + 4.0 * outputs) / tp)
}

fn active_ffn(job: &Job) -> f64 {
    match job.architecture.experts {
        Some(e) => (e.ffn * (e.active + e.shared)) as f64,
        None => job.architecture.ffn as f64,
    }
}

/// The last product, onto the vocabulary, and the loss: seconds of one micro-batch on the stage that has the head.
pub fn head(job: &Job, rates: &Rates) -> f64 {
    let a = &job.architecture;
    let tokens = job.tokens_per_micro_batch();
    let tp = job.layout.tp as f64;
    let split = if job.family.splits_logits() { tp } else { 1.0 };
    let vocab = a.vocab as f64;
    let product = product(rates, rates.half, tokens, (vocab / tp / 64.0).ceil() * 64.0, a.hidden as f64);
    let odd = if a.vocab.is_multiple_of(8) || job.family.is_megatron() { 1.0 } else { 1.0 + rates.odd_vocab };
    3.0 * product * odd + tokens * vocab / split * rates.logit_bytes / rates.stream
}
