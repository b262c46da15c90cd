//! What this GPU, under this framework and in this precision, does per second.

use crate::catalogue::Generation;
use crate::constants::{Breed, Constants};
use crate::framework::Family;
use crate::job::Job;
use crate::precision::{Arithmetic, Precision};

/// Rates and costs, ready to divide by.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Products per second of the linear layers, and of 16-bit ones.
    pub linear: f64,
    pub half: f64,
    pub half_tokens: f64,
    pub half_width: f64,
    pub misaligned: f64,
    pub flash: f64,
    pub flash_backward: f64,
    pub half_head: f64,
    pub batched: f64,
    pub score_bytes: f64,
    /// Bytes per second of streaming kernels.
    pub stream: f64,
    pub pointwise: f64,
    pub pointwise_backward: f64,
    pub cast_bytes: f64,
    pub logit_bytes: f64,
    /// Seconds of processor time per block and pass, and per collective.
    pub host: f64,
    /// What the modules of a block cost of it, in operations.
    pub modules: f64,
    pub host_again: f64,
    pub host_collective: f64,
    /// Seconds of one kernel beside its work.
    pub kernel: f64,
    /// Rows of attention that half fill the GPU.
    pub fill: f64,
    /// Visible part of the traffic of gradients that are accumulated.
    pub accumulate: f64,
    pub link: f64,
    pub link_delay: f64,
    /// Bytes per second that a whole node sends.
    pub wire: f64,
    pub wire_delay: f64,
    pub overlap: f64,
    pub hiding: f64,
    pub tensor_visible: f64,
    pub pipe_visible: f64,
    pub update_bytes: f64,
    pub step: f64,
    pub half_again: f64,
    pub per_doubling: f64,
    /// Bytes of kernels that nobody fused, against those that were counted.
    pub eager: f64,
    pub odd_vocab: f64,
}

/// One scale for each row: tensors are cast along rows and along columns, where one scale serves both. Set by hand, too few runs
/// having it for a fit: the three of torchtitan, 8 B and 70 B on H100, are met within 9 %.
const CASTS_BY_ROW: f64 = 3.3;

/// 16-bit products per joule of chips of TSMC's 4N and 4NP: what the catalogue says of an H100 SXM, 0.72 of 989.4 TFLOP/s, over its
/// 700 W. A B200 has twice the units of the same process on 1,000 W: its clock falls until they are paid for (an H200 that is held
/// at half of that, 500 W, sustains 570 TFLOP/s, so that two of them make 1,140). Attention draws less; what Blackwell makes of 8 and
/// 4 bits is known from runs.
const PRODUCTS_PER_JOULE: f64 = 0.72 * 989.4e12 / 700.0;

fn breed(constants: &Constants, generation: Generation) -> Breed {
    let index = match generation {
        Generation::Pascal | Generation::Volta | Generation::Turing => 0,
        Generation::Ampere | Generation::AmperePcie => 1,
        Generation::Ada | Generation::Hopper => 2,
        Generation::Blackwell | Generation::BlackwellPcie => 3,
        _ => return Breed::START,
    };
    constants.breeds.get(index).copied().unwrap_or(Breed::START)
}

impl Rates {
    pub fn of(job: &Job, constants: &Constants) -> Self {
        let c = &constants.common;
        let gpu = &job.cluster.gpu;
        let habit = constants.habits.get(job.family.index()).copied().unwrap_or(crate::constants::Habit::START);
        let own = breed(constants, gpu.generation);
        let free = gpu.bf16_flops * gpu.gemm_fraction * (c.gemm + habit.gemm + own.gemm).exp();
        let half = gpu.watts.map_or(free, |watts| {
            let hopper = breed(constants, Generation::Hopper);
            free.min(watts * PRODUCTS_PER_JOULE * (c.gemm + habit.gemm + hopper.gemm).exp())
        });
        let promised = gpu.peak(job.precision.arithmetic()) / gpu.bf16_flops;
        let linear = match job.precision.arithmetic() {
            Arithmetic::Half => half,
            Arithmetic::Full | Arithmetic::Tf32 => half * promised * c.tf32.exp(),
            Arithmetic::Eight => free * (promised * (c.eight + own.eight).exp()).max(1.0),
            Arithmetic::Four => free * (promised * (c.eight + own.eight + c.four).exp()).max(1.0),
        };
        let autocast = job.precision.casts_parameters() && !job.compiled;
        // What a processor computes by itself is started by nobody, and needs no width to be filled.
        let is_started = job.family != Family::BuiltIn;
        let started = |cost: f64| if is_started { cost } else { 0.0 };
        Self {
            linear,
            half,
            half_tokens: started((c.half_tokens + own.half_tokens).exp()),
            half_width: started(c.half_width.exp()),
            misaligned: c.misaligned.exp(),
            flash: free
                * (c.flash + habit.flash + own.flash).exp()
                * if job.precision.activation_bytes() > 2.0 { c.full_attention.exp() } else { 1.0 },
            flash_backward: c.flash_backward.exp(),
            half_head: started(c.half_head.exp()),
            batched: half * c.batched.exp(),
            score_bytes: c.score_bytes.exp(),
            stream: gpu.hbm_bytes_per_s * (c.stream + own.stream).exp(),
            pointwise: (c.pointwise + habit.pointwise).exp(),
            pointwise_backward: c.pointwise_backward.exp(),
            cast_bytes: c.cast_bytes.exp() * if job.precision == Precision::Fp8Rowwise { CASTS_BY_ROW } else { 1.0 },
            logit_bytes: (c.logit_bytes + habit.pointwise).exp(),
            host: started((c.host + habit.host + if autocast { c.host_autocast } else { 0.0 }).exp() * 1e-6),
            modules: c.modules.exp(),
            host_again: c.host_again.exp(),
            host_collective: c.host_collective.exp() * 1e-6,
            kernel: started(c.kernel.exp() * 1e-6),
            // A faster GPU has more and wider units to fill.
            fill: started(c.fill.exp() * (gpu.bf16_flops / 312e12).powf(0.7)),
            accumulate: c.accumulate.exp(),
            link: gpu.link_bytes_per_s * (c.link + own.link).exp(),
            link_delay: c.link_delay.exp() * 1e-6,
            wire: job.cluster.network.node_bytes_per_s() * (c.wire + habit.wire).exp(),
            wire_delay: (c.wire_delay.exp() + job.cluster.network.latency_us) * 1e-6,
            overlap: c.overlap.exp(),
            hiding: (c.hiding + habit.hiding).exp().max(1.0),
            tensor_visible: if job.hides_tensor {
                (c.tensor_visible + habit.visible).exp()
            } else {
                habit.visible.exp()
            },
            pipe_visible: c.pipe_visible.exp(),
            update_bytes: c.update_bytes.exp(),
            step: started(c.step.exp() * 1e-3),
            half_again: c.half_again.exp(),
            per_doubling: c.nodes.exp(),
            eager: (c.eager + habit.pointwise).exp(),
            odd_vocab: c.odd_vocab.exp(),
        }
    }
}
