//! The planner's word on a task before it starts: does it fit, how fast, and what would be better.

use fermi_domain::environment::Environment;
use fermi_domain::language::Language;
use fermi_domain::task::TaskSpec;
use fermi_planner::advise::{self, Advice};
use fermi_planner::question::{Machine, Question};
use fermi_store::StoreError;
use serde_json::Value;

use crate::assignment::with_training;
use crate::core::Core;

/// Advice where the chosen model is one that the planner knows and every node has GPUs.
pub async fn advice(core: &Core, spec: &TaskSpec, environments: &[Environment]) -> Result<Option<Advice>, StoreError> {
    let Some(id) = spec.model_id.clone() else { return Ok(None) };
    let model: Option<_> = core.store().read(move |view| view.model(&id)).await?;
    Ok(model.and_then(|model| advise::advise(&question(model.name, &with_training(spec, environments), environments))))
}

/// The warnings of a request, with the planner's where the model will not fit.
pub fn warnings(
    found: &[fermi_domain::warnings::Warning],
    plan: Option<&Advice>,
    language: Language,
) -> Vec<fermi_api::v1::Warning> {
    let found = found.iter().map(|warning| fermi_api::v1::Warning::of(warning, language));
    let too_large = plan.filter(|plan| !plan.fits);
    let too_large = too_large.map(|plan| fermi_api::v1::Warning::new("does_not_fit", plan.sentence.clone(), language));
    found.chain(too_large).collect()
}

fn question(model: String, spec: &TaskSpec, environments: &[Environment]) -> Question {
    let nodes = &spec.distributed.node_ids;
    let machines = environments.iter().filter(|environment| nodes.contains(&environment.id)).map(|environment| {
        let kind = environment.gpus.first();
        let chosen = spec.distributed.workers.get(&environment.id).map(Vec::len);
        Machine {
            gpu: kind.map(|gpus| gpus.model.clone()).unwrap_or_default(),
            gpus: chosen.map_or_else(|| u64::from(environment.gpu_count()), |count| count as u64),
            memory_gib: kind.map(|gpus| gpus.memory.whole_gib() as f64).filter(|gib| *gib > 0.0),
        }
    });
    let setting = |name: &str| spec.options.framework.get(name);
    let number = |name: &str| setting(name).and_then(Value::as_u64);
    let word = |name: &str| setting(name).and_then(Value::as_str).map(str::to_owned);
    Question {
        model: Some(model),
        framework: spec.distributed.framework.map(|framework| match number("zeroStage") {
            Some(stage) => format!("{}-zero{stage}", framework.as_str()),
            None => framework.as_str().to_owned(),
        }),
        machines: machines.collect(),
        seq_len: number("seqLength"),
        micro_batch: number("microBatchSize"),
        precision: word("precision"),
        optimizer: word("optimizer"),
        ..Question::default()
    }
}
