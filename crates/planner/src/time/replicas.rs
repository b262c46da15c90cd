//! Data parallelism: gathering parameters, reducing gradients, and what of it hides behind the computing.

use super::collective::{self, RankGroup};
use super::pipeline::Stage;
use super::{Rates, smooth_max};
use crate::framework::Family;
use crate::job::Job;
use crate::precision::Precision;
use crate::recompute::Recompute;
use crate::sharding::Sharding;

/// Bytes of one gradient element on the wire.
fn gradient_bytes(job: &Job) -> f64 {
    match job.precision {
        Precision::Fp32 | Precision::Tf32 => 4.0,
        Precision::PureBf16 if job.family != Family::Fsdp2 => 2.0,
        _ if job.family.reduces_in_full() => 4.0,
        _ if job.sharding_copies_full_gradients() => 4.0,
        _ => 2.0,
    }
}

impl Job {
    /// DDP reduces what autograd leaves: 32 bits under autocast.
    fn sharding_copies_full_gradients(&self) -> bool {
        self.layout.sharding == Sharding::Ddp && self.precision.casts_parameters()
    }
}

/// Parameters whose gradients this GPU sends.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// To all replicas.
    common: f64,
    /// Of its own experts, to the ranks that hold the same ones.
    routed: f64,
}

fn local_params(job: &Job) -> Sent {
    let cut = (job.layout.tp * job.layout.pp) as f64;
    let a = &job.architecture;
    if let Some(lora) = job.lora {
        return Sent { common: (lora.rank * 2 * 4 * a.hidden * a.layers) as f64 / cut, routed: 0.0 };
    }
    if job.layout.ep <= 1 {
        return Sent { common: a.params() as f64 / cut, routed: 0.0 };
    }
    let routed = a.routed_params() as f64 / cut;
    Sent { common: a.params() as f64 / cut - routed, routed: routed / job.layout.ep as f64 }
}

/// The ranks with the same experts: as many as all replicas have copies of them.
fn same_experts(job: &Job, rates: &Rates) -> RankGroup {
    let ep = job.layout.ep.max(1);
    let copies = (job.layout.dp.saturating_mul(job.layout.cp) / ep).max(1);
    RankGroup::of(&job.cluster, rates, copies, job.layout.tp.saturating_mul(ep))
}

fn shard_group(job: &Job, rates: &Rates) -> RankGroup {
    let group = job.layout.sharding.group(job.layout.dp as f64) as u64;
    RankGroup::of(&job.cluster, rates, group.max(1), job.layout.tp * job.layout.cp)
}

/// Seconds of one micro-batch with parameters gathered block by block, and how much of them is visible gathering.
pub fn with_gathering(job: &Job, rates: &Rates, micro_batch: f64) -> (f64, f64) {
    if !job.layout.sharding.gathers_parameters() {
        return (micro_batch, 0.0);
    }
    let (group, sent) = (shard_group(job, rates), local_params(job));
    let weights = job.architecture.params() as f64 / (job.layout.tp * job.layout.pp) as f64;
    let element = match job.precision {
        Precision::Fp32 | Precision::Tf32 => 4.0,
        // Weights are cast before they travel.
        Precision::Fp8 if matches!(job.family, Family::Torchtitan | Family::MegatronCore) => 1.0,
        _ => 2.0,
    };
    let gathers = match job.layout.sharding {
        Sharding::FsdpGradOp => 1.0,
        // It gathers module by module: those of a block that is computed again once more before its backward pass.
        Sharding::Zero3 if job.family == Family::Deepspeed && job.layout.recompute == Recompute::Full => 3.0,
        _ => 2.0,
    };
    let blocks = job.architecture.layers as f64 / job.layout.pp as f64 + 1.0;
    let each = |bytes: f64| group.gather(bytes / blocks) * blocks;
    let once = if job.family == Family::Fsdp2 { job.layout.accumulation as f64 } else { 1.0 };
    let traffic = gathers * each(element * weights) + each(gradient_bytes(job) * sent.common) / once;
    let together = smooth_max(micro_batch, traffic, rates.hiding);
    (together, together - micro_batch)
}

/// Seconds on the wire, once a step: of gradients, and of parameters that were updated elsewhere.
#[derive(Clone, Copy, Debug)]
struct Traffic {
    gradients: f64,
    parameters: f64,
}

fn once_a_step(job: &Job, rates: &Rates) -> Traffic {
    let (sent, element) = (local_params(job), gradient_bytes(job));
    let bytes = element * (sent.common + sent.routed);
    let (group, experts) = (collective::data(job, rates), same_experts(job, rates));
    let gathered = |element: f64| {
        group.gather(element * sent.common)
            + if sent.routed > 0.0 { experts.gather(element * sent.routed) } else { 0.0 }
    };
    let (gradients, parameters) = match job.layout.sharding {
        Sharding::Ddp => {
            let routed = if sent.routed > 0.0 { experts.all_reduce(element * sent.routed) } else { 0.0 };
            (group.all_reduce(element * sent.common) + routed, 0.0)
        }
        Sharding::Zero1 | Sharding::Zero2 => (gathered(element), gathered(2.0)),
        Sharding::Hybrid(size) => {
            let copies = job.layout.dp.div_ceil(size.max(1));
            let across = RankGroup::of(&job.cluster, rates, copies, size.saturating_mul(job.layout.tp * job.layout.cp));
            (across.all_reduce(bytes / size as f64), 0.0)
        }
        Sharding::Zero3 | Sharding::FsdpFull | Sharding::FsdpGradOp => (0.0, 0.0),
    };
    Traffic { gradients, parameters }
}

/// What of it a step pays, after hiding: gradients behind the backward pass, parameters behind the forward pass of the next.
pub fn reduction(job: &Job, rates: &Rates, stage: &Stage) -> f64 {
    let Traffic { gradients, parameters } = once_a_step(job, rates);
    if !job.hides_data {
        return gradients + parameters;
    }
    let backward = if job.layout.recompute == Recompute::Full { 3.0 / 4.0 } else { 2.0 / 3.0 };
    // Of several stages on a GPU one is done after the other, each after as many micro-batches as the pipeline is long: only the
    // last has nothing behind it.
    let vp = job.layout.vp as f64;
    let passes = if vp > 1.0 { ((vp - 1.0) / vp * job.layout.pp as f64).max(1.0) } else { 1.0 };
    let shelter = rates.overlap * stage.micro_batch * passes;
    visible(gradients, shelter * backward) + visible(parameters, shelter * (1.0 - backward))
}

fn visible(traffic: f64, shelter: f64) -> f64 {
    if traffic > 0.0 { smooth_max(traffic, shelter, 3.0) - shelter } else { 0.0 }
}
