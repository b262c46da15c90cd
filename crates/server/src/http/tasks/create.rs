//! Making a task: from a request, or like another one.

use axum::extract::State;
use axum::http::HeaderMap;
use fermi_api::v1::{CloneRequest, CreateAnswer, CreateRequest, Envelope, Failure};
use fermi_domain::aggregate::Aggregate;
use fermi_domain::environment::Environment;
use fermi_domain::language::{Language, Text};
use fermi_domain::messages::{Created, Refusal};
use fermi_domain::task::{TaskSpec, Work};
use fermi_domain::validation::{Accepted, validate};
use fermi_domain::warnings::warnings;
use fermi_store::{StoreError, WriteError};

use super::view;
use crate::assignment::{self, Paths};
use crate::core::Core;
use crate::course::{self, CreateError};
use crate::envelope::{Answer, Problem, Reply, TASK, language};
use crate::http::body::{JsonBody, OptionalBody};
use crate::http::id::TaskPath;
use crate::http::once::{Key, once};
use crate::plan;

/// Creates a task and starts it as soon as its workers are free.
#[utoipa::path(post, path = "/api/v1/training-tasks", tag = "training-tasks",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    request_body = CreateRequest,
    responses((status = 200, body = Envelope<CreateAnswer>), (status = 400, body = Failure), (status = 413, body = Failure),
        (status = 415, body = Failure), (status = 422, body = Failure)))]
pub async fn create(State(core): State<Core>, headers: HeaderMap, body: JsonBody<CreateRequest>) -> Reply {
    let environments = core.known_environments();
    let key = Key::of(&headers, "training-tasks", &body.bytes)?;
    let accepted = validate(&body.value, &environments)?;
    let decided = checked(&accepted.spec, &environments)?;
    let is_unspoken = body.value.command.is_none() && body.value.recipe.is_none();
    let notes = is_unspoken.then(|| {
        Text::new(
            "未指定 command 或 recipe，使用内置训练器",
            "neither a command nor a recipe is given: the built-in trainer runs",
        )
    });
    let notes = notes.into_iter().chain(decided).collect();
    store(&core, accepted, notes, &environments, key, language(&headers)).await
}

/// Creates a task like this one.
#[utoipa::path(post, path = "/api/v1/training-tasks/{id}/clone", tag = "training-tasks",
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    request_body = Option<CloneRequest>,
    responses((status = 200, body = Envelope<CreateAnswer>), (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn clone(
    State(core): State<Core>,
    TaskPath(id): TaskPath,
    headers: HeaderMap,
    body: OptionalBody<CloneRequest>,
) -> Reply {
    let key = Key::of(&headers, &format!("training-tasks/{id}/clone"), &body.bytes)?;
    let wanted = id.clone();
    let found: Result<_, StoreError> = core.store().read(move |view| view.task(&wanted)).await;
    let task = found?.ok_or_else(|| Problem::not_found(&TASK, id.as_str()))?.value;
    let environments = core.known_environments();
    let mut spec = task.spec;
    spec.name = match &body.value.task_name {
        Some(name) => crate::http::names::name("taskName", name)?,
        None => copy_of(&spec.name),
    };
    for id in &spec.distributed.node_ids {
        let environment = environments.iter().find(|environment| environment.id == *id);
        let environment = environment.ok_or_else(|| Refusal::EnvironmentUnknown { id: id.clone() })?;
        if !environment.status.can_be_chosen() {
            return Err(Refusal::EnvironmentOffline { name: environment.name.clone() }.into());
        }
    }
    let chosen = view::chosen(&spec, &environments);
    let accepted = Accepted {
        aggregate: Aggregate::of(&chosen),
        warnings: warnings(&chosen, spec.distributed.framework, spec.distributed.strategy),
        spec,
    };
    let decided = checked(&accepted.spec, &environments)?;
    store(&core, accepted, decided, &environments, key, language(&headers)).await
}

/// The name of a copy, within the bounds of names.
fn copy_of(name: &str) -> String {
    let most = fermi_domain::validation::LONGEST_NAME - "-copy".len();
    format!("{}-copy", name.chars().take(most).collect::<String>())
}

/// What the engine would refuse is refused before anything is stored; the answer is what it decided.
fn checked(spec: &TaskSpec, environments: &[Environment]) -> Result<Vec<Text>, Problem> {
    let is_builtin = matches!(spec.work, Work::Builtin { .. }) && spec.options.training.is_none();
    match crate::reconcilers::rank_map(spec, environments) {
        Ok(ranks) if !is_builtin => Ok(assignment::launch(spec, &ranks, environments, &Paths::default())?.notes),
        _ => Ok(Vec::new()),
    }
}

async fn store(
    core: &Core,
    accepted: Accepted,
    notes: Vec<Text>,
    environments: &[Environment],
    key: Option<Key>,
    language: Language,
) -> Reply {
    let Accepted { spec, aggregate, warnings } = accepted;
    let plan = plan::advice(core, &spec, environments).await?;
    let decided = notes.clone();
    let mut notes = notes;
    notes.extend(plan.as_ref().map(|plan| plan.sentence.clone()));
    let first = view::chosen(&spec, environments).first().map_or_else(String::new, |first| first.name.clone());
    let description = aggregate.as_ref().map(|sum| Created::description(sum, &first).text());
    let mut answer = CreateAnswer {
        task_id: String::new(),
        status: fermi_domain::phase::TaskPhase::Initializing,
        distributed_info: view::distributed_info(&spec, environments),
        description: description.map(|text| text.in_language(language).to_owned()).unwrap_or_default(),
        warnings: plan::warnings(&warnings, plan.as_ref(), language),
        notes: decided.iter().map(|note| note.in_language(language).to_owned()).collect(),
        plan: plan.and_then(|plan| serde_json::to_value(plan).ok()),
    };
    let now_ms = core.now_ms();
    let made = core.store().write(move |tx| {
        once(tx, key.as_ref(), now_ms, |tx| {
            let task = course::create(tx, spec, notes, now_ms)?;
            answer.task_id = task.id.0;
            answer.status = task.phase;
            Answer::said(Created::Success.text(), &answer)
        })
    });
    let answer = made.await.map_err(WriteError::flatten)?;
    core.bells().placement.notify_one();
    Ok(answer)
}

impl From<CreateError> for Problem {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Refused(refusal) => refusal.into(),
            CreateError::Store(error) => error.into(),
        }
    }
}

impl From<fermi_frameworks::LaunchRefusal> for Problem {
    fn from(refusal: fermi_frameworks::LaunchRefusal) -> Self {
        Self::refused(&refusal)
    }
}
