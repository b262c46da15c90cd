//! The planner's word on a task before it starts: does it fit, how fast, and what would be better.

use fermi_domain::environment::Environment;
use fermi_domain::language::{FrontEnd, Language};
use fermi_domain::placement::never_fits;
use fermi_domain::task::{AutoSelection, Selection, TaskSpec};
use fermi_planner::advise::{Advice, Decided, Engine};
use fermi_planner::architecture::Architecture;
use fermi_planner::job::Cluster;
use fermi_planner::machines::Machine;
use fermi_planner::optimizer::Optimizer;
use fermi_planner::plan::{Knowledge, Plan};
use fermi_planner::precision::Precision;
use fermi_planner::search::Request;
use fermi_store::StoreError;
use serde_json::Value;

use crate::assignment::with_training;
use crate::core::Core;
use crate::model_numbers;

/// Advice where the numbers of the chosen model are known and every node has GPUs.
pub async fn advice(core: &Core, spec: &TaskSpec, environments: &[Environment]) -> Result<Option<Advice>, StoreError> {
    let Some(id) = spec.model_id.clone() else { return Ok(None) };
    let model: Option<_> = core.store().read(move |view| model_numbers::find(view, &id)).await?;
    let Some(architecture) = model.and_then(|model| model.architecture()) else { return Ok(None) };
    let spec = with_training(spec, environments, Some(architecture.params()));
    Ok(advise(architecture, &spec, environments))
}

/// The advice as it is answered.
pub fn shown(advice: &Advice) -> Option<fermi_api::v1::Plan> {
    serde_json::to_value(advice).and_then(serde_json::from_value).ok()
}

/// The warnings of a request, with the planner's where the model will not fit, and the queue's where no machines could ever
/// hold the task.
pub fn warnings(
    found: &[fermi_domain::warnings::Warning],
    spec: &TaskSpec,
    environments: &[Environment],
    plan: Option<&Advice>,
    language: Language,
    front_end: FrontEnd,
) -> Vec<fermi_api::v1::Warning> {
    let found = found.iter().map(|warning| fermi_api::v1::Warning::of(warning, language, front_end));
    let too_large = plan.filter(|plan| !plan.fits);
    let too_large = too_large.map(|plan| fermi_api::v1::Warning::new("does_not_fit", plan.sentence.clone(), language));
    let never = never_fits(spec, environments);
    let never = never.map(|text| fermi_api::v1::Warning::new("never_fits", text, language));
    found.chain(too_large).chain(never).collect()
}

/// None where the planner does not know the GPUs, or the numbers describe no run.
fn advise(architecture: Architecture, spec: &TaskSpec, environments: &[Environment]) -> Option<Advice> {
    let known = Knowledge::builtin();
    let cluster = Cluster::of_machines(&machines(spec, environments), &known.catalogue)?;
    let setting = |name: &str| spec.options.framework.get(name);
    let number = |name: &str| setting(name).and_then(Value::as_u64).filter(|number| *number > 0);
    let word = |name: &str| setting(name).and_then(Value::as_str);
    let micro_batch = number("microBatchSize");
    let usual = Request::usual(architecture, cluster);
    let request = Request {
        seq_len: number("seqLength").unwrap_or(usual.seq_len),
        // A whole number of the task's micro-batches, so that no sequence is left over.
        global_batch: match micro_batch {
            Some(size) => cluster.gpus.checked_mul(Request::USUAL_SHARE.div_ceil(size).checked_mul(size)?)?,
            None => usual.global_batch,
        },
        precision: word("precision").and_then(Precision::parse).unwrap_or(usual.precision),
        optimizer: word("optimizer").and_then(Optimizer::parse).unwrap_or(usual.optimizer),
        ..usual
    };
    let framework = spec.distributed.framework.unwrap_or_default();
    let engine = Engine::of(framework, setting("zeroStage").and_then(Value::as_u64));
    Plan::of(request, &known.constants).ok()?.advice(Decided { engine, micro_batch })
}

fn machines(spec: &TaskSpec, environments: &[Environment]) -> Vec<Machine> {
    if let Selection::Auto(auto) = &spec.selection {
        return likely(auto, environments);
    }
    let nodes = &spec.distributed.node_ids;
    let chosen = environments.iter().filter(|environment| nodes.contains(&environment.id));
    let workers = |id| spec.distributed.workers.get(id).map(|workers| workers.len() as u64);
    chosen.map(|environment| machine(environment, workers(&environment.id))).collect()
}

pub fn machine(environment: &Environment, gpus: Option<u64>) -> Machine {
    let kind = environment.gpus.first();
    Machine {
        gpu: kind.map(|gpus| gpus.model.clone()).unwrap_or_default(),
        gpus: gpus.unwrap_or_else(|| u64::from(environment.gpu_count())),
        memory_gib: kind.map(|gpus| gpus.memory.whole_gib() as f64).filter(|gib| *gib > 0.0),
        host_gib: Some(environment.memory.whole_gib() as f64).filter(|gib| *gib > 0.0),
    }
}

/// Where Fermi picks, machines like those that it may pick: of the first GPU model that has enough of them. None where the
/// task wants no GPUs, or no model has.
fn likely(auto: &AutoSelection, environments: &[Environment]) -> Vec<Machine> {
    let (nodes, gpus) = (auto.nodes as usize, u64::from(auto.per_node()));
    let is_meant = |it: &&Environment| {
        let model = it.gpus.first().map(|gpus| gpus.model.as_str());
        let has_type = auto.gpu_type.as_deref().is_none_or(|wanted| model == Some(wanted));
        let has_zone = auto.zone.is_none() || auto.zone == it.zone;
        let has_labels = auto.labels.iter().all(|(key, value)| it.labels.get(key) == Some(value));
        model.is_some() && has_type && has_zone && has_labels && u64::from(it.gpu_count()) >= gpus
    };
    let mut kinds: Vec<(&str, Vec<Machine>)> = Vec::new();
    for environment in environments.iter().filter(is_meant) {
        let Some(model) = environment.gpus.first().map(|gpus| gpus.model.as_str()) else { continue };
        match kinds.iter_mut().find(|(kind, _)| *kind == model) {
            Some((_, found)) if found.len() < nodes => found.push(machine(environment, Some(gpus))),
            Some(_) => {}
            None => kinds.push((model, vec![machine(environment, Some(gpus))])),
        }
    }
    kinds.into_iter().map(|(_, found)| found).find(|found| found.len() == nodes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_answered_field_by_field_as_the_planner_gives_it() {
        for gpus in [1, 8] {
            let environment: Environment = serde_json::from_value(serde_json::json!({
                "id": "env-001", "name": "gn6", "kind": "custom", "cpuCores": 8, "memory": 1, "cpuWorkers": 1,
                "status": "running", "versions": {},
                "gpus": [{"model": "A100", "memory": 80_u64 << 30, "count": gpus}]
            }))
            .unwrap();
            let spec: TaskSpec = serde_json::from_value(serde_json::json!({
                "name": "x", "work": {"kind": "builtin"}, "distributed": {"enabled": false, "nodeIds": ["env-001"]}
            }))
            .unwrap();
            let architecture = Knowledge::builtin().catalogue.model("llama2-7b").unwrap().architecture();
            let advice = advise(architecture, &spec, &[environment]).expect("a model that the planner knows");
            let plan = shown(&advice).expect("every field has a type");
            assert_eq!(serde_json::to_value(plan).unwrap(), serde_json::to_value(&advice).unwrap());
        }
    }
}
