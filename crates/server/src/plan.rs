//! The planner's word on a task before it starts: does it fit, how fast, and what would be better.

use fermi_domain::environment::Environment;
use fermi_domain::language::{FrontEnd, Language};
use fermi_domain::task::TaskSpec;
use fermi_planner::advise::{Advice, Decided, Engine};
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

/// Advice where the chosen model is one that the planner knows and every node has GPUs.
pub async fn advice(core: &Core, spec: &TaskSpec, environments: &[Environment]) -> Result<Option<Advice>, StoreError> {
    let Some(id) = spec.model_id.clone() else { return Ok(None) };
    let model: Option<_> = core.store().read(move |view| view.model(&id)).await?;
    Ok(model.and_then(|model| advise(&model.name, &with_training(spec, environments), environments)))
}

/// The advice as it is answered.
pub fn shown(advice: &Advice) -> Option<fermi_api::v1::Plan> {
    serde_json::to_value(advice).and_then(serde_json::from_value).ok()
}

/// The warnings of a request, with the planner's where the model will not fit.
pub fn warnings(
    found: &[fermi_domain::warnings::Warning],
    plan: Option<&Advice>,
    language: Language,
    front_end: FrontEnd,
) -> Vec<fermi_api::v1::Warning> {
    let found = found.iter().map(|warning| fermi_api::v1::Warning::of(warning, language, front_end));
    let too_large = plan.filter(|plan| !plan.fits);
    let too_large = too_large.map(|plan| fermi_api::v1::Warning::new("does_not_fit", plan.sentence.clone(), language));
    found.chain(too_large).collect()
}

/// None where the planner does not know the model or the GPUs, or the numbers describe no run.
fn advise(model: &str, spec: &TaskSpec, environments: &[Environment]) -> Option<Advice> {
    let known = Knowledge::builtin();
    let architecture = known.catalogue.model(model)?.architecture();
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
    let nodes = &spec.distributed.node_ids;
    let chosen = environments.iter().filter(|environment| nodes.contains(&environment.id));
    let machine = |environment: &Environment| {
        let kind = environment.gpus.first();
        let workers = spec.distributed.workers.get(&environment.id).map(Vec::len);
        Machine {
            gpu: kind.map(|gpus| gpus.model.clone()).unwrap_or_default(),
            gpus: workers.map_or_else(|| u64::from(environment.gpu_count()), |count| count as u64),
            memory_gib: kind.map(|gpus| gpus.memory.whole_gib() as f64).filter(|gib| *gib > 0.0),
            host_gib: Some(environment.memory.whole_gib() as f64).filter(|gib| *gib > 0.0),
        }
    };
    chosen.map(machine).collect()
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
            let advice = advise("llama2-7b", &spec, &[environment]).expect("a model that the planner knows");
            let plan = shown(&advice).expect("every field has a type");
            assert_eq!(serde_json::to_value(plan).unwrap(), serde_json::to_value(&advice).unwrap());
        }
    }
}
