//! The planner's word on a recipe: does it fit on these GPUs, how fast, what would be better.

use fermi_domain::language::Text;
use fermi_hardware::gpu::{Gpu, Gpus};
use fermi_planner::advise::{Decided, Engine};
use fermi_planner::architecture::Architecture;
use fermi_planner::catalogue::{Catalogue, architecture_of_config};
use fermi_planner::job::{Cluster, Lora};
use fermi_planner::machines::Machine;
use fermi_planner::optimizer::Optimizer;
use fermi_planner::plan::{Knowledge, Plan};
use fermi_planner::precision::Precision;
use fermi_planner::search::Request;
use fermi_planner::sharding::Sharding;

use super::Ranks;
use super::check::Checked;

const GIB: f64 = 1_073_741_824.0;
/// Larger shares of a rank are searched only so far.
const MOST_SHARE: u64 = 1 << 16;

/// The GPUs of this machine, asked only where ranks use them.
pub fn gpus_here(ranks: Ranks) -> Vec<Gpu> {
    if !ranks.on_gpus {
        return Vec::new();
    }
    Gpus::open().map(|gpus| gpus.list()).unwrap_or_default()
}

/// What the planner says; nothing where it does not know the model or the GPUs, and where a recipe holds more models than
/// one.
#[derive(Debug, Default)]
pub struct PlannedBatch {
    pub sentence: Option<Text>,
    /// The largest micro-batch that it expects to fit, of those that ranks try; the smallest where it expects none.
    fitting: Option<u64>,
}

impl PlannedBatch {
    pub fn of(checked: &Checked, ranks: Ranks, gpus: &[Gpu]) -> Self {
        Self::known(checked, ranks, gpus).unwrap_or_default()
    }

    /// Where the ranks' own search begins; the file's word goes before the planner's.
    pub fn begins_at(&self, checked: &Checked) -> Option<u64> {
        self.fitting.filter(|_| checked.dynamic_batch && checked.dynamic_batch_from.is_none())
    }

    fn known(checked: &Checked, ranks: Ranks, gpus: &[Gpu]) -> Option<Self> {
        if !["sft", "reward"].contains(&checked.algorithm.as_str()) {
            return None;
        }
        let known = Knowledge::builtin();
        let architecture = architecture(checked, &known.catalogue)?;
        let cluster = cluster(ranks, gpus, &known.catalogue)?;
        let usual = Request::usual(architecture, cluster);
        let share = checked.micro.checked_mul(checked.accumulation)?;
        let request = Request {
            seq_len: checked.max_length,
            global_batch: share.checked_mul(cluster.gpus)?,
            precision: precision(&checked.precision),
            optimizer: Optimizer::parse(&checked.optimizer).unwrap_or(usual.optimizer),
            lora: checked.lora_rank.map(|rank| Lora { rank }),
            ..usual
        };
        let plan = Plan::of(request, &known.constants).ok()?;
        let decided = |micro| Decided { engine: engine(checked), micro_batch: Some(micro) };
        let fits = |micro: &u64| plan.as_decided(decided(*micro)).is_some_and(|candidate| candidate.fits);
        let tried = checked.dynamic_batch.then(|| divisors(share).rev().find(fits).unwrap_or(1));
        let advice = plan.advice(decided(tried.unwrap_or(checked.micro)))?;
        // The planner counts whole activations here, which checkpointing gives up.
        let sentence = (advice.fits || !checked.gradient_checkpointing).then_some(advice.sentence);
        Some(Self { sentence, fitting: tried })
    }
}

/// What divides a number, the smallest first.
fn divisors(of: u64) -> impl DoubleEndedIterator<Item = u64> {
    (1..=of.min(MOST_SHARE)).filter(move |size| of.is_multiple_of(*size))
}

fn architecture(checked: &Checked, catalogue: &Catalogue) -> Option<Architecture> {
    let by_shape = checked.model_config.as_ref().and_then(|config| architecture_of_config(&config.to_string()).ok());
    by_shape.or_else(|| Some(catalogue.model(&checked.model)?.architecture()))
}

/// As if every node were like this one.
fn cluster(ranks: Ranks, gpus: &[Gpu], catalogue: &Catalogue) -> Option<Cluster> {
    let gpu = gpus.iter().min_by_key(|gpu| gpu.memory)?;
    let machine = Machine {
        gpu: gpu.model.clone(),
        gpus: u64::from(ranks.here),
        memory_gib: Some((gpu.memory as f64 / GIB).round()),
        host_gib: None,
    };
    let nodes = (ranks.all / ranks.here.max(1)).max(1);
    Cluster::of_machines(&vec![machine; nodes as usize], catalogue)
}

/// Recipes keep parameters in 32 bits and multiply by autocast.
fn precision(name: &str) -> Precision {
    match name {
        "bf16" | "fp16" => Precision::AmpBf16,
        _ => Precision::Fp32,
    }
}

fn engine(checked: &Checked) -> Engine {
    Engine::Replicas(match (checked.strategy.as_str(), checked.stage) {
        ("fsdp", _) => Sharding::FsdpFull,
        ("deepspeed", Some(0)) => Sharding::Ddp,
        ("deepspeed", Some(1)) => Sharding::Zero1,
        ("deepspeed", Some(3)) => Sharding::Zero3,
        ("deepspeed", _) => Sharding::Zero2,
        _ => Sharding::Ddp,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EIGHT: Ranks = Ranks { all: 8, here: 8, on_gpus: true };

    fn word(strategy: &str, algorithm: &str, gib: u64, change: impl FnOnce(&mut Checked)) -> (PlannedBatch, Checked) {
        let mut checked = Checked {
            algorithm: algorithm.to_owned(),
            strategy: strategy.to_owned(),
            model: "llama2-7b".to_owned(),
            max_length: 1024,
            precision: "bf16".to_owned(),
            optimizer: "adamw_torch".to_owned(),
            micro: 1,
            accumulation: 1,
            ..Checked::default()
        };
        change(&mut checked);
        let gpu = |index| Gpu { index, model: "A100".to_owned(), memory: gib << 30 };
        (PlannedBatch::of(&checked, EIGHT, &(0..8).map(gpu).collect::<Vec<_>>()), checked)
    }

    fn said(strategy: &str, algorithm: &str, gib: u64) -> Option<String> {
        word(strategy, algorithm, gib, |_| {}).0.sentence.map(|text| text.en.into_owned())
    }

    #[test]
    fn the_search_for_the_micro_batch_begins_where_the_planner_expects_the_largest() {
        let begins = |gib, change: fn(&mut Checked)| {
            let (word, checked) = word("fsdp", "sft", gib, |checked| {
                *checked = Checked { micro: 4, accumulation: 16, dynamic_batch: true, ..checked.clone() };
                change(checked);
            });
            word.begins_at(&checked)
        };
        let (small, large) = (begins(40, |_| {}).unwrap(), begins(80, |_| {}).unwrap());
        assert!(small < large && large <= 64 && 64 % large == 0, "{small} {large}");
        assert_eq!(begins(80, |checked| checked.dynamic_batch = false), None);
        assert_eq!(begins(80, |checked| checked.dynamic_batch_from = Some(2)), None);
        assert_eq!(begins(8, |_| {}), Some(1));
    }

    #[test]
    fn a_model_of_7b_fits_divided_and_not_whole() {
        let (whole, divided) = (said("ddp", "sft", 80).unwrap(), said("fsdp", "sft", 80).unwrap());
        assert!(whole.contains("not fit") && !divided.contains("not fit"), "{whole} / {divided}");
    }

    #[test]
    fn nothing_is_said_of_several_models_or_without_gpus() {
        assert_eq!(said("ddp", "ppo", 80), None);
        let nobody = PlannedBatch::of(&Checked { algorithm: "sft".to_owned(), ..Checked::default() }, EIGHT, &[]);
        assert!(nobody.sentence.is_none() && nobody.fitting.is_none());
    }
}
