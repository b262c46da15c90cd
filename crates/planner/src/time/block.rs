//! One transformer block on one GPU, for one micro-batch.

use super::{Rates, collective, kernels, smooth_max};
use crate::job::Job;
use crate::recompute::Recompute;

/// Seconds of forward, backward and repeated work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Block {
    pub compute: f64,
    pub tensor: f64,
}

pub fn of(job: &Job, rates: &Rates) -> Block {
    let a = &job.architecture;
    let tp = job.layout.tp as f64;
    let tokens = job.tokens_per_micro_batch();
    let (h, q, kv) = (a.hidden as f64, a.query_width() as f64, a.kv_width() as f64);
    let linear = |tokens: f64, width: f64, inner: f64| kernels::product(rates, rates.linear, tokens, width, inner);
    let into = if a.gated { 2.0 } else { 1.0 };
    let ffn = match a.experts {
        Some(e) => {
            let routed = tokens * e.active as f64;
            let local = (e.count as f64 / job.layout.ep as f64).max(1.0);
            let each = routed / local;
            let f = e.ffn as f64 / tp;
            let dense = e.shared as f64;
            local * (linear(each, into * f, h) + linear(each, h, f))
                + dense * (linear(tokens, into * f, h) + linear(tokens, h, f))
        }
        None => linear(tokens, into * a.ffn as f64 / tp, h) + linear(tokens, h, a.ffn as f64 / tp),
    };
    let forward_products = linear(tokens, (q + 2.0 * kv) / tp, h) + linear(tokens, h, q / tp) + ffn;
    let (attention, attention_back) = kernels::attention(job, rates);
    let (points, points_back) = kernels::pointwise(job, rates);
    let (gaps, gaps_back) = kernels::gaps(job, rates);
    let forward = forward_products + attention + points + gaps;
    // Frozen weights need no gradients of their own.
    let weight_gradients = if job.lora.is_some() { 0.05 } else { 1.0 };
    let backward = forward_products * (1.0 + weight_gradients)
        + attention_back
        + points_back
        + gaps_back
        + kernels::accumulation(job, rates);
    let (again, again_fraction) = match job.layout.recompute {
        Recompute::None => (0.0, 0.0),
        Recompute::Attention => (attention, 0.2),
        Recompute::Half => (forward * rates.half_again, 0.5),
        Recompute::Full => (forward, 1.0),
    };
    let on_gpu = forward + backward + again;

    let reductions =
        if job.layout.tp > 1 { 4.0 + if job.layout.recompute == Recompute::Full { 2.0 } else { 0.0 } } else { 0.0 };
    let message = job.precision.gathered_activation_bytes() * tokens * h;
    let group = collective::tensor(job, rates);
    // Where the sequence is cut between the blocks, an all-reduce is a reduce-scatter and an all-gather: as many bytes, begun twice.
    let joined = if job.layout.sequence_parallel { 2.0 * group.gather(message) } else { group.all_reduce(message) };
    let tensor = reductions * joined * rates.tensor_visible;
    let ring = ring_attention(job, rates, tokens, kv / tp);
    let experts = expert_exchange(job, rates, tokens);
    // Where launches are the limit, every reduction waits for the slowest processor of its group.
    let waits = reductions * (job.layout.tp as f64).log2();
    let calls = kernels::calls(job, rates);
    let host = rates.host * calls * (2.2 + again_fraction * rates.host_again) + rates.host_collective * waits;
    let compute = smooth_max(on_gpu + tensor, host, 4.0) - tensor;
    Block { compute, tensor: tensor + ring + experts }
}

/// Keys and values go round the context-parallel ring, mostly behind the attention itself.
fn ring_attention(job: &Job, rates: &Rates, tokens: f64, width: f64) -> f64 {
    if job.layout.cp <= 1 {
        return 0.0;
    }
    let group = collective::context(job, rates);
    let bytes = 2.0 * 2.0 * tokens * width * group.ranks;
    3.0 * group.gather(bytes) * rates.tensor_visible * 0.5
}

/// Tokens travel to their experts and back, in both passes.
fn expert_exchange(job: &Job, rates: &Rates, tokens: f64) -> f64 {
    let Some(experts) = job.architecture.experts.filter(|_| job.layout.ep > 1) else {
        return 0.0;
    };
    let group = collective::RankGroup::of(&job.cluster, rates, job.layout.ep, job.layout.tp);
    4.0 * group.gather(2.0 * tokens * experts.active as f64 * job.architecture.hidden as f64)
}
