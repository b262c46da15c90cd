//! How many bytes a framework keeps per parameter, whole and spread over the replicas.

use crate::framework::Family;
use crate::job::Job;
use crate::optimizer::Optimizer;
use crate::precision::Precision;
use crate::sharding::Sharding;

/// Bytes per parameter of each kind, and whether each is spread over the data-parallel group.
#[derive(Clone, Copy, Debug)]
pub struct BytesKept {
    pub parameter: f64,
    pub parameter_spread: bool,
    pub gradient: f64,
    pub gradient_spread: bool,
    pub optimizer: f64,
    pub optimizer_spread: bool,
}

pub fn of(job: &Job) -> BytesKept {
    let sharding = job.layout.sharding;
    let spread = |least: u8| stage(sharding) >= least;
    let (parameter, gradient, optimizer) = bytes(job);
    BytesKept {
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
        // DeepSpeed's BF16 optimizer accumulates in 32 bits on every rank, beside the 16-bit gradients: 8 + 16/N bytes.
        (Precision::Bf16, Family::MegatronDeepspeed) => (2.0, 6.0, 8.0 + state),
        // Its 16-bit optimizer, measured on 48 nodes: 4.5 + 18/N bytes with ZeRO-1.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::job::{Cluster, Layout};
    use crate::machines::Nodes;
    use crate::search::Request;

    const STAGES: [Sharding; 4] = [Sharding::Ddp, Sharding::Zero1, Sharding::Zero2, Sharding::Zero3];

    /// Bytes of all states of `params` parameters on each of so many ranks, under 16-bit training with Adam.
    fn states(params: f64, ranks: f64, sharding: Sharding) -> f64 {
        let catalogue = Catalogue::builtin();
        let gpu = catalogue.gpu("V100-32", None).unwrap();
        let cluster = Cluster::of(&[Nodes { count: 1, gpus_per_node: 8, gpu }]).unwrap();
        let request = Request::usual(catalogue.model("gpt2").unwrap().architecture(), cluster);
        let kept = of(&request.job(Layout { sharding, ..request.plain_layout() }));
        let each = |bytes: f64, is_spread: bool| if is_spread { bytes / ranks } else { bytes };
        let all = each(kept.parameter, kept.parameter_spread)
            + each(kept.gradient, kept.gradient_spread)
            + each(kept.optimizer, kept.optimizer_spread);
        params * all
    }

    #[test]
    fn the_table_of_the_zero_paper_comes_out_to_the_last_digit() {
        // Rajbhandari et al. 2020, table 1: GB per device for 7.5 B, 128 B and 1 T parameters.
        let table: [(f64, f64, [f64; 4]); 9] = [
            (7.5e9, 1.0, [120.0, 120.0, 120.0, 120.0]),
            (7.5e9, 4.0, [120.0, 52.5, 41.25, 30.0]),
            (7.5e9, 16.0, [120.0, 35.625, 21.5625, 7.5]),
            (7.5e9, 64.0, [120.0, 31.40625, 16.640625, 1.875]),
            (7.5e9, 1024.0, [120.0, 30.087890625, 15.1025390625, 0.1171875]),
            (128e9, 64.0, [2048.0, 536.0, 284.0, 32.0]),
            (128e9, 1024.0, [2048.0, 513.5, 257.75, 2.0]),
            (1e12, 16.0, [16000.0, 4750.0, 2875.0, 1000.0]),
            (1e12, 1024.0, [16000.0, 4011.71875, 2013.671875, 15.625]),
        ];
        for (params, ranks, expected) in table {
            for (sharding, gb) in STAGES.into_iter().zip(expected) {
                let got = states(params, ranks, sharding) / 1e9;
                assert!((got - gb).abs() < 1e-9, "{params} over {ranks}, {sharding:?}: {got} instead of {gb}");
            }
        }
    }
}
