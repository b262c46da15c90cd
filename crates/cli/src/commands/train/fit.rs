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

/// The GPUs of this machine, asked only where ranks use them.
pub fn gpus_here(ranks: Ranks) -> Vec<Gpu> {
    if !ranks.on_gpus {
        return Vec::new();
    }
    Gpus::open().map(|gpus| gpus.list()).unwrap_or_default()
}

/// None where the planner does not know the model or the GPUs, and where a recipe holds more models than one.
pub fn sentence(checked: &Checked, ranks: Ranks, gpus: &[Gpu]) -> Option<Text> {
    if !["sft", "reward"].contains(&checked.algorithm.as_str()) {
        return None;
    }
    let known = Knowledge::builtin();
    let architecture = architecture(checked, &known.catalogue)?;
    let cluster = cluster(ranks, gpus, &known.catalogue)?;
    let usual = Request::usual(architecture, cluster);
    let request = Request {
        seq_len: checked.max_length,
        global_batch: checked.micro.checked_mul(checked.accumulation)?.checked_mul(cluster.gpus)?,
        precision: precision(&checked.precision),
        optimizer: Optimizer::parse(&checked.optimizer).unwrap_or(usual.optimizer),
        lora: checked.lora_rank.map(|rank| Lora { rank }),
        ..usual
    };
    let decided = Decided { engine: engine(checked), micro_batch: Some(checked.micro) };
    let advice = Plan::of(request, &known.constants).ok()?.advice(decided)?;
    // The planner counts whole activations here, which checkpointing gives up.
    (advice.fits || !checked.gradient_checkpointing).then_some(advice.sentence)
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

    fn said(strategy: &str, algorithm: &str, gib: u64) -> Option<String> {
        let checked = Checked {
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
        let gpu = |index| Gpu { index, model: "A100".to_owned(), memory: gib << 30 };
        sentence(&checked, EIGHT, &(0..8).map(gpu).collect::<Vec<_>>()).map(|text| text.en.into_owned())
    }

    #[test]
    fn a_model_of_7b_fits_divided_and_not_whole() {
        let (whole, divided) = (said("ddp", "sft", 80).unwrap(), said("fsdp", "sft", 80).unwrap());
        assert!(whole.contains("not fit") && !divided.contains("not fit"), "{whole} / {divided}");
    }

    #[test]
    fn nothing_is_said_of_several_models_or_without_gpus() {
        assert_eq!(said("ddp", "ppo", 80), None);
        assert_eq!(sentence(&Checked { algorithm: "sft".to_owned(), ..Checked::default() }, EIGHT, &[]), None);
    }
}
