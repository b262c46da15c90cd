//! How many bytes a framework keeps per parameter, whole and spread over the replicas.

use crate::framework::Family;
use crate::job::Job;
use crate::optimizer::Optimizer;
use crate::precision::Precision;
use crate::sharding::Sharding;

/// Bytes per parameter of each kind, and whether each is spread over the data-parallel group.
#[derive(Clone, Copy, Debug)]
pub struct Keeping {
    pub parameter: f64,
    pub parameter_spread: bool,
    pub gradient: f64,
    pub gradient_spread: bool,
    pub optimizer: f64,
    pub optimizer_spread: bool,
}

pub fn of(job: &Job) -> Keeping {
    let sharding = job.layout.sharding;
    let spread = |least: u8| stage(sharding) >= least;
    let (parameter, gradient, optimizer) = bytes(job);
    Keeping {
        parameter,
        parameter_spread: spread(3),
        gradient,
        gradient_spread: spread(2),
        optimizer,
        optimizer_spread: spread(1),
    }
}

/// How far states are spread, in ZeRO's counting.
fn stage(sharding: Sharding) -> u8 {
    match sharding {
        Sharding::Ddp => 0,
        Sharding::Zero1 => 1,
        Sharding::Zero2 => 2,
        Sharding::Zero3 | Sharding::FsdpFull | Sharding::FsdpGradOp | Sharding::Hybrid(_) => 3,
    }
}

/// Bytes of parameter, gradient and optimizer.
fn bytes(job: &Job) -> (f64, f64, f64) {
    let adam = job.optimizer.moments();
    let eight_bit = job.optimizer == Optimizer::Adam8bit;
    let state = if eight_bit { 4.0 } else { 4.0 * adam } * if eight_bit { 0.5 } else { 1.0 };
    match (job.precision, job.family) {
        // 32-bit parameters are the master copy.
        (Precision::Fp32 | Precision::Tf32 | Precision::AmpBf16 | Precision::AmpFp8, _) => (4.0, 4.0, state),
        // DTensors that no replica reduces keep 32-bit gradients.
        (Precision::PureBf16, Family::Fsdp2) if job.layout.tp > 1 && job.layout.dp == 1 => (2.0, 4.0, state / 2.0),
        (Precision::PureBf16, _) => (2.0, 2.0, state / 2.0),
        // Measured on 48 nodes: 4.5 + 18/N bytes with ZeRO-1.
        (_, Family::MegatronDeepspeed) if job.layout.sharding == Sharding::Ddp => (2.0, 2.5, 7.5 + state),
        (_, Family::MegatronDeepspeed) => (2.0, 2.5, 10.0 + state),
        (_, Family::MegatronCore) if job.half_gradients => (2.0, 2.0, 4.0 + state),
        (_, Family::MegatronLegacy | Family::MegatronCore) => (2.0, 4.0, 4.0 + state),
        // The 16-bit copy is made block by block; what is kept are 32-bit shards.
        (_, Family::Torchtitan | Family::Fsdp2 | Family::Composer | Family::FmsFsdp | Family::MaxText)
            if job.layout.sharding.gathers_parameters() =>
        {
            (4.0, 4.0, state)
        }
        // DeepSpeed keeps a 32-bit copy of the gradients beside the 16-bit ones.
        (_, Family::Deepspeed) if job.layout.sharding == Sharding::Zero3 => (2.0, 4.0, 4.0 + state),
        _ => (2.0, 2.0, 4.0 + state),
    }
}
