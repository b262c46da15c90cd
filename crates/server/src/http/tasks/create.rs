//! Making a task: from a request, or like another one.

use axum::extract::State;
use axum::http::HeaderMap;
use fermi_api::v1::{CloneRequest, CreateAnswer, CreateRequest, Envelope, Failure};
use fermi_domain::environment::Environment;
use fermi_domain::group::{self, Group};
use fermi_domain::language::{FrontEnd, Language, Text};
use fermi_domain::messages::Created;
use fermi_domain::principal::Principal;
use fermi_domain::rank_map;
use fermi_domain::task::TaskSpec;
use fermi_domain::validation::{Accepted, validate, validate_copy};
use fermi_store::{StoreError, Transaction, WriteError};
use serde::Serialize;

use super::sweep_point::SweepPoint;
use super::{shared_folder, view};
use crate::assignment;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, TASK, front_end, language};
use crate::http::body::{JsonBody, OptionalBody};
use crate::http::groups::on_group::{self, OnGroup};
use crate::http::id::TaskPath;
use crate::http::idempotency::{Key, earlier, once};
use crate::lifecycle::{self, Cause, CreateError, CreatedLine, to_the_end};
use crate::plan;

/// Creates a task and starts it as soon as its workers are free.
#[utoipa::path(post, path = "/api/v1/training-tasks", tag = "training-tasks",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    request_body = CreateRequest,
    responses((status = 200, body = Envelope<CreateAnswer>), (status = 400, body = Failure), (status = 413, body = Failure),
        (status = 415, body = Failure), (status = 422, body = Failure)))]
pub async fn create(
    State(core): State<Core>,
    Caller(caller): Caller,
    headers: HeaderMap,
    body: JsonBody<CreateRequest>,
) -> Reply {
    let key = body.sent.key(&caller, "training-tasks")?;
    if let Some(answer) = earlier(&core, key.as_ref()).await? {
        return Ok(answer);
    }
    let environments = core.known_environments();
    let on_group = on_group::of_request(&core, &body.value, &environments).await?;
    let by = Asked { key, caller, reader: Reader::of(&headers) };
    from_request(&core, &body.value, on_group.as_ref(), &environments, by, |answer| answer).await
}

/// Checks a request, whose group is written out where it has one, and stores the task.
pub async fn from_request<T: Serialize>(
    core: &Core,
    request: &CreateRequest,
    on_group: Option<&OnGroup<CreateRequest>>,
    environments: &[Environment],
    by: Asked,
    shape: impl FnOnce(CreateAnswer) -> T + Send + 'static,
) -> Reply {
    let request = on_group.map_or(request, |found| &found.asked);
    let mut accepted = validate(request, environments)?;
    accepted.spec.distributed.standby = on_group.map(|found| found.standby.clone()).unwrap_or_default();
    let decided = checked(core, &accepted.spec, environments).await?;
    let is_unspoken = request.command.is_none() && request.recipe.is_none();
    let notes = is_unspoken.then(|| {
        Text::new(
            "未指定 command 或 recipe，使用内置训练器",
            "neither a command nor a recipe is given: the built-in trainer runs",
        )
    });
    let of_group = on_group.map(OnGroup::notes).unwrap_or_default();
    let of_standby = group::standby_note(&accepted.spec);
    let notes = notes.into_iter().chain(of_group).chain(of_standby).chain(decided).collect();
    let point = SweepPoint::of(&accepted.spec.labels, &by.caller);
    let new = NewTask { accepted, notes, group: on_group.map(|found| found.group.clone()), point };
    store(core, new, environments, by, shape).await
}

/// Creates a task like this one.
#[utoipa::path(post, path = "/api/v1/training-tasks/{id}/clone", tag = "training-tasks",
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    request_body = Option<CloneRequest>,
    responses((status = 200, body = Envelope<CreateAnswer>), (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn clone(
    State(core): State<Core>,
    Caller(caller): Caller,
    TaskPath(id): TaskPath,
    headers: HeaderMap,
    body: OptionalBody<CloneRequest>,
) -> Reply {
    let key = body.sent.key(&caller, &format!("training-tasks/{id}/clone"))?;
    if let Some(answer) = earlier(&core, key.as_ref()).await? {
        return Ok(answer);
    }
    let wanted = id.clone();
    let found: Result<_, StoreError> = core.store().read(move |view| view.task(&wanted)).await;
    let task = found?.ok_or_else(|| ApiProblem::not_found(&TASK, id.as_str()))?.value;
    let environments = core.known_environments();
    let on_group = on_group::of_copy(&core, &task.spec, &environments).await?;
    let spec = on_group.as_ref().map_or(&task.spec, |found| &found.asked);
    let accepted = validate_copy(spec, body.value.task_name.as_deref(), &environments)?;
    let decided = checked(&core, &accepted.spec, &environments).await?;
    // A copy of a task of a sweep is one more on purpose.
    let new = NewTask { accepted, notes: decided, group: on_group.map(|found| found.group), point: None };
    store(&core, new, &environments, Asked { key, caller, reader: Reader::of(&headers) }, |answer| answer).await
}

/// What the engine would refuse is refused before anything is stored; the answer is what it decided.
async fn checked(core: &Core, spec: &TaskSpec, environments: &[Environment]) -> Result<Vec<Text>, ApiProblem> {
    match rank_map::of_spec(spec, environments) {
        Ok(ranks) => {
            let paths = assignment::paths(core, spec).await?;
            Ok(assignment::launch(spec, &ranks, environments, &paths)?.notes)
        }
        Err(_) => Ok(Vec::new()),
    }
}

/// Who reads the answer.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    pub language: Language,
    pub front_end: FrontEnd,
}

impl Reader {
    pub fn of(headers: &HeaderMap) -> Self {
        Self { language: language(headers), front_end: front_end(headers) }
    }
}

/// Who asks, and under which key.
#[derive(Debug)]
pub struct Asked {
    pub key: Option<Key>,
    pub caller: Principal,
    pub reader: Reader,
}

/// A task that may be stored.
struct NewTask {
    accepted: Accepted,
    notes: Vec<Text>,
    /// The group that it runs on, which must still be the same then.
    group: Option<Group>,
    /// The combination of a sweep that it is made for.
    point: Option<SweepPoint>,
}

async fn store<T: Serialize>(
    core: &Core,
    new: NewTask,
    environments: &[Environment],
    by: Asked,
    shape: impl FnOnce(CreateAnswer) -> T + Send + 'static,
) -> Reply {
    let NewTask { accepted: Accepted { spec, aggregate, warnings }, notes, group, point } = new;
    let Asked { key, caller, reader } = by;
    let plan = plan::advice(core, &spec, environments).await?;
    let decided = notes.clone();
    let mut notes = notes;
    notes.extend(plan.as_ref().map(|plan| plan.sentence.clone()));
    let first = spec.chosen(environments).first().map_or_else(String::new, |first| first.name.clone());
    let description = aggregate.as_ref().map(|sum| Created::description(sum, &first).text());
    let mut answer = CreateAnswer {
        task_id: String::new(),
        status: fermi_domain::phase::TaskPhase::Initializing,
        distributed_info: view::distributed_info(&spec, environments),
        description: description.map(|text| text.in_language(reader.language).to_owned()).unwrap_or_default(),
        warnings: plan::warnings(&warnings, &spec, environments, plan.as_ref(), reader.language, reader.front_end),
        notes: decided.iter().map(|note| note.in_language(reader.language).to_owned()).collect(),
        plan: plan.as_ref().and_then(plan::shown),
        existing: false,
    };
    answer.warnings.extend(shared_folder::warning(core, &spec, None, reader.language).await?);
    let cause = Cause { principal: caller, now_ms: core.now_ms() };
    let work = move |tx: &mut Transaction<'_>| {
        let mut created = None;
        let answer = once(tx, key.as_ref(), cause.now_ms, |tx| {
            if let Some(there) = point.as_ref().map(|point| point.made(tx)).transpose()?.flatten() {
                answer.task_id = there.id.to_string();
                answer.status = there.phase;
                answer.existing = true;
                return EnvelopeAnswer::said(Created::ThereAlready.text(), &shape(answer));
            }
            on_group::must_be_the_same(tx, group.as_ref())?;
            let task = lifecycle::create(tx, spec, notes, &cause)?;
            if let Some(point) = &point {
                point.note(tx, &task.id, cause.now_ms)?;
            }
            answer.task_id = task.id.to_string();
            answer.status = task.phase;
            created = Some(CreatedLine { task: task.id, name: task.spec.name, principal: cause.principal.clone() });
            EnvelopeAnswer::said(Created::Success.text(), &shape(answer))
        })?;
        Ok((answer, created))
    };
    let core = core.clone();
    to_the_end(async move {
        let (answer, created) = core.store().write(work).await.map_err(WriteError::<ApiProblem>::flatten)?;
        if let Some(created) = created {
            created.log();
        }
        core.bells().placement.notify_one();
        Ok(answer)
    })
    .await
}

impl From<CreateError> for ApiProblem {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Refused(refusal) => refusal.into(),
            CreateError::Store(error) => error.into(),
        }
    }
}

impl From<fermi_frameworks::LaunchRefusal> for ApiProblem {
    fn from(refusal: fermi_frameworks::LaunchRefusal) -> Self {
        Self::refused(&refusal)
    }
}
