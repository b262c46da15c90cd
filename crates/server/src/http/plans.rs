//! The planner without a task: a model on the GPUs of some environments.

use std::collections::{HashMap, HashSet};

use axum::extract::State;
use fermi_api::v1::{
    Envelope, Failure, PlanChoice, PlanId, PlanPoint, PlanRemedy, PlanReport, PlanRequest, PlannedLayout, PlannedMemory,
};
use fermi_domain::environment::Environment;
use fermi_domain::language::Text;
use fermi_planner::error::PlanError;
use fermi_planner::interval::Verdict;
use fermi_planner::job::Cluster;
use fermi_planner::memory::GIB;
use fermi_planner::optimizer::Optimizer;
use fermi_planner::plan::{Knowledge, Plan};
use fermi_planner::precision::Precision;
use fermi_planner::search::{Candidate, Request};
use fermi_planner::strategy::{Strategy, best_of_each};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::body::JsonBody;
use crate::core::Core;
use crate::envelope::{ApiProblem, ENVIRONMENT, EnvelopeAnswer, MODEL, Reply};
use crate::{model_numbers, plan};

const LISTED: u32 = 20;
const MOST_LISTED: u32 = 200;
/// Of a step: more than anybody trains with, and few enough to look at all ways to divide them.
const MOST_SEQUENCES: u64 = 1 << 24;
/// Of more environments than these, the curve of scaling leaves sizes out.
const EVERY_SIZE: usize = 8;

/// Made at once: the rest of the server needs its threads, and its processors, however many ask.
static PLANNED: Semaphore = Semaphore::const_new(2);

/// Plans a model on the GPUs of environments: which strategy, whether it fits, how fast it is, how it scales. Nothing is
/// stored.
#[utoipa::path(post, path = "/api/v1/plans", tag = "plans", request_body = PlanRequest,
    responses((status = 200, body = Envelope<PlanReport>), (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn plan(State(core): State<Core>, body: JsonBody<PlanRequest>) -> Reply {
    let asked = body.value;
    let machines = chosen(&core.known_environments(), &asked.node_ids)?;
    let id = asked.model_id.trim().to_owned();
    let model = core.store().read(move |view| model_numbers::find(view, &id)).await?;
    let model = model.ok_or_else(|| ApiProblem::not_found(&MODEL, asked.model_id.trim()))?;
    let architecture = model.architecture().ok_or_else(|| {
        let text = Text::new("规划器不知道此模型的参数", "the planner does not know the numbers of this model");
        ApiProblem::unprocessable("model_unknown_to_planner", "modelId", text).hint(model.planning())
    })?;
    let cluster = cluster(&machines).ok_or_else(|| {
        let text = Text::new("规划器不认识其中的 GPU", "the planner does not know the GPUs of these environments");
        ApiProblem::unprocessable("gpu_unknown_to_planner", "nodeIds", text)
            .hint(Text::new("常用名如 A100-80G、H100、RTX-4090", "usual names are A100-80G, H100, RTX-4090"))
    })?;
    let request = wished(Request::usual(architecture, cluster), &asked).map_err(refused)?;
    let listed = asked.top.unwrap_or(LISTED).min(MOST_LISTED) as usize;
    let turn = PLANNED.acquire().await;
    // Thousands of GPUs have thousands of layouts: other requests are not kept waiting for them.
    let work = move || {
        // Who hangs up ends no plan that is begun.
        let _turn = turn;
        report(request, &machines, listed)
    };
    let planned = tokio::task::spawn_blocking(work).await;
    let planned = planned.map_err(|error| ApiProblem::broken("a plan", &error))?;
    EnvelopeAnswer::ok(&planned.map_err(refused)?)
}

/// The environments of these ids, each once.
fn chosen(known: &[Environment], ids: &[String]) -> Result<Vec<Environment>, ApiProblem> {
    let known: HashMap<&str, &Environment> = known.iter().map(|it| (it.id.as_str(), it)).collect();
    let (mut found, mut taken) = (Vec::new(), HashSet::new());
    for id in ids {
        let environment = *known.get(id.as_str()).ok_or_else(|| ApiProblem::not_found(&ENVIRONMENT, id))?;
        if environment.gpu_count() == 0 {
            let name = &environment.name;
            let text = Text::new(format!("{name} 没有 GPU"), format!("{name} has no GPU"));
            return Err(ApiProblem::unprocessable("environment_without_gpu", "nodeIds", text)
                .hint(Text::new("规划只算 GPU；请去掉它", "plans are made for GPUs: leave it out")));
        }
        if taken.insert(&environment.id) {
            found.push(environment.clone());
        }
    }
    if found.is_empty() {
        let text = Text::new("请至少选择一个开发环境", "choose at least one environment");
        return Err(ApiProblem::unprocessable("environments_required", "nodeIds", text)
            .hint(Text::new("fermi env list 列出全部", "'fermi env list' shows them all")));
    }
    Ok(found)
}

fn cluster(environments: &[Environment]) -> Option<Cluster> {
    let machines: Vec<_> = environments.iter().map(|environment| plan::machine(environment, None)).collect();
    Cluster::of_machines(&machines, &Knowledge::builtin().catalogue)
}

/// What was asked for in place of the usual.
fn wished(usual: Request, asked: &PlanRequest) -> Result<Request, PlanError> {
    let precision = asked.precision.as_deref().map(|word| {
        Precision::parse(word).ok_or_else(|| PlanError::not_among("precision", word, &["bf16", "fp16", "fp32"]))
    });
    let optimizer = asked
        .optimizer
        .as_deref()
        .map(|word| Optimizer::parse(word).ok_or_else(|| PlanError::not_among("optimizer", word, &["adam", "sgd"])));
    if asked.global_batch.is_some_and(|batch| batch > MOST_SEQUENCES) {
        return Err(PlanError::too_large("global-batch"));
    }
    Ok(Request {
        seq_len: asked.seq_length.unwrap_or(usual.seq_len),
        global_batch: asked.global_batch.unwrap_or(usual.global_batch),
        precision: precision.transpose()?.unwrap_or(usual.precision),
        optimizer: optimizer.transpose()?.unwrap_or(usual.optimizer),
        ..usual
    })
}

/// What the planner refuses, by the names that this request has for its numbers.
fn refused(error: PlanError) -> ApiProblem {
    let field = match error.field {
        "global-batch" | "gpus, global_batch" => "globalBatch",
        "seq_len" => "seqLength",
        _ => return ApiProblem::refused(&error),
    };
    let hint = match field {
        "globalBatch" => {
            Text::new("请写不小于 GPU 数的数，例如 256", "use no less than the number of GPUs, such as 256")
        }
        _ => Text::new("例如 2048", "such as 2048"),
    };
    ApiProblem::unprocessable("plan_invalid", field, error.message).hint(hint)
}

fn report(request: Request, environments: &[Environment], listed: usize) -> Result<PlanReport, PlanError> {
    let constants = &Knowledge::builtin().constants;
    let plan = Plan::of(request, constants)?;
    let cluster = &request.cluster;
    Ok(PlanReport {
        parameters: request.architecture.params(),
        nodes: cluster.nodes(),
        gpus: cluster.gpus,
        gpu_memory_gib: cluster.gpu.memory_gib,
        network_gbps: cluster.network.node_gbps,
        seq_length: request.seq_len,
        global_batch: request.global_batch,
        layout_count: plan.ranked.len() as u64,
        choice: plan.choice.as_ref().map(|choice| PlanChoice {
            layout: shown(&choice.candidate),
            decided_by: word(&choice.decided_by),
            reason: plan.notes().into_iter().fold(choice.reason.clone(), |said, note| {
                Text::new(format!("{}；{}", said.zh, note.zh), format!("{}; {}", said.en, note.en))
            }),
        }),
        layouts: plan.ranked.iter().take(listed).map(shown).collect(),
        strategies: best_of_each(&plan.ranked).iter().map(|(_, best)| shown(best)).collect(),
        remedies: plan
            .remedies()
            .into_iter()
            .map(|remedy| PlanRemedy {
                what: remedy.what,
                needed_gib: remedy.needed_gib,
                fits: remedy.fits,
                step_time_s: remedy.step_time_s,
            })
            .collect(),
        scaling: sizes(environments.len()).filter_map(|size| point(&request, environments.get(..size)?)).collect(),
    })
}

/// All sizes where they are few, else powers of two and the whole.
fn sizes(most: usize) -> impl Iterator<Item = usize> {
    (1..=most).filter(move |size| most <= EVERY_SIZE || size.is_power_of_two() || *size == most)
}

/// The choice on some of the machines, where every GPU has as much to do as on all of them.
fn point(whole: &Request, environments: &[Environment]) -> Option<PlanPoint> {
    let cluster = cluster(environments)?;
    let share = whole.global_batch / whole.cluster.gpus.max(1);
    let request = Request { cluster, global_batch: share.max(1).checked_mul(cluster.gpus)?, ..*whole };
    let plan = Plan::of(request, &Knowledge::builtin().constants).ok()?;
    let chosen = plan.choice.map(|choice| choice.candidate);
    Some(PlanPoint {
        nodes: environments.len() as u64,
        gpus: cluster.gpus,
        name: chosen.as_ref().map(|candidate| Strategy::of(candidate).name().to_owned()),
        tokens_per_s: chosen.as_ref().map(Candidate::tokens_per_s),
    })
}

fn shown(candidate: &Candidate) -> PlannedLayout {
    let layout = &candidate.job.layout;
    let strategy = Strategy::of(candidate);
    let seconds = candidate.seconds_interval();
    let memory = &candidate.memory;
    PlannedLayout {
        strategy: word(&strategy),
        name: strategy.name().to_owned(),
        id: match candidate.verdict {
            Verdict::Fits => PlanId::Fits,
            Verdict::Tight => PlanId::FitsTightly,
            Verdict::DoesNotFit => PlanId::DoesNotFit,
        },
        data_parallel: layout.dp,
        tensor_parallel: layout.tp,
        pipeline_parallel: layout.pp,
        virtual_stages: layout.vp,
        sharding: layout.sharding.name(),
        micro_batch: layout.micro_batch,
        accumulation: layout.accumulation,
        recompute: word(&layout.recompute),
        memory_gib: memory.needed_gib(),
        memory_high_gib: candidate.needed_interval().high,
        missing_gib: candidate.missing_gib(),
        memory: PlannedMemory {
            parameters: memory.parameters / GIB,
            gradients: memory.gradients / GIB,
            optimizer: memory.optimizer / GIB,
            activations: memory.activations / GIB,
            logits: memory.logits / GIB,
            transient: memory.transient / GIB,
            context: memory.context / GIB,
        },
        step_time_s: candidate.seconds(),
        step_time_low_s: seconds.low,
        step_time_high_s: seconds.high,
        tokens_per_s: candidate.tokens_per_s(),
        mfu: candidate.mfu(),
    }
}

/// The planner's own word for it.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environments(count: usize, gpus: usize) -> Vec<Environment> {
        (0..count)
            .map(|at| {
                let machine = serde_json::json!({
                    "id": format!("env-{at:03}"), "name": format!("gn{at}"), "kind": "custom", "cpuCores": 8, "memory": 1,
                    "cpuWorkers": 1, "status": "running", "versions": {},
                    "gpus": [{"model": "A100", "memory": 80_u64 << 30, "count": gpus}]
                });
                serde_json::from_value(machine).unwrap()
            })
            .collect()
    }

    fn planned(model: &str, environments: &[Environment]) -> PlanReport {
        let architecture = Knowledge::builtin().catalogue.model(model).unwrap().architecture();
        let request = Request::usual(architecture, cluster(environments).unwrap());
        report(request, environments, 5).unwrap()
    }

    #[test]
    fn a_plan_lists_the_best_layouts_and_the_best_of_each_strategy() {
        let plan = planned("llama2-7b", &environments(2, 8));
        assert_eq!((plan.nodes, plan.gpus, plan.layouts.len()), (2, 16, 5));
        assert!(plan.layout_count > 100);
        let choice = plan.choice.expect("a model of 7B fits on 16 GPUs");
        assert_eq!(choice.layout.id, PlanId::Fits);
        assert!(plan.remedies.is_empty());
        let names: Vec<&str> = plan.strategies.iter().map(|layout| layout.name.as_str()).collect();
        assert!(names.contains(&"DeepSpeed ZeRO-2") && names.contains(&"Megatron 3D"), "{names:?}");
        let sum = |of: PlannedMemory| {
            of.parameters + of.gradients + of.optimizer + of.activations + of.logits + of.transient + of.context
        };
        for layout in plan.layouts.iter().chain(&plan.strategies) {
            assert!((sum(layout.memory) - layout.memory_gib).abs() < 1e-6);
            assert_eq!(layout.data_parallel * layout.tensor_parallel * layout.pipeline_parallel, 16);
        }
        let speeds: Vec<f64> = plan.layouts.iter().map(|layout| layout.tokens_per_s).collect();
        assert!(speeds.is_sorted_by(|a, b| a >= b), "{speeds:?}");
    }

    #[test]
    fn more_machines_are_faster_and_many_sizes_are_left_out() {
        let plan = planned("llama2-7b", &environments(3, 8));
        let gpus: Vec<u64> = plan.scaling.iter().map(|point| point.gpus).collect();
        assert_eq!(gpus, [8, 16, 24]);
        let speeds: Vec<f64> = plan.scaling.iter().filter_map(|point| point.tokens_per_s).collect();
        assert!(speeds.len() == 3 && speeds.is_sorted(), "{speeds:?}");
        assert_eq!(sizes(12).collect::<Vec<_>>(), [1, 2, 4, 8, 12]);
    }

    #[test]
    fn where_nothing_fits_it_says_what_would() {
        let plan = planned("llama2-70b", &environments(1, 1));
        assert!(plan.choice.is_none());
        assert!(plan.layouts.iter().all(|layout| layout.id == PlanId::DoesNotFit && layout.missing_gib > 0.0));
        assert!(plan.remedies.iter().any(|remedy| remedy.fits), "more GPUs would do");
        assert_eq!(plan.scaling.first().and_then(|point| point.tokens_per_s), None);
    }

    #[test]
    fn words_that_it_does_not_know_are_refused_by_name() {
        let usual = {
            let environments = environments(1, 1);
            let architecture = Knowledge::builtin().catalogue.model("llama2-7b").unwrap().architecture();
            Request::usual(architecture, cluster(&environments).unwrap())
        };
        let asked = |precision: &str, optimizer: &str| PlanRequest {
            precision: Some(precision.to_owned()),
            optimizer: Some(optimizer.to_owned()),
            ..PlanRequest::default()
        };
        assert!(wished(usual, &asked("bf16", "adam")).is_ok());
        assert_eq!(wished(usual, &asked("bf17", "adam")).unwrap_err().field, "precision");
        assert_eq!(wished(usual, &asked("bf16", "adom")).unwrap_err().field, "optimizer");
    }
}
