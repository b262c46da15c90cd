//! Starting a command on a group, which makes a task; and ending the tasks of a group.

use axum::extract::State;
use axum::http::HeaderMap;
use fermi_api::v1::{
    BulkAnswer, Check, CreateRequest, Envelope, Failure, RequestedNodes, StartGroup, StartGroupAnswer, StopRequest,
};
use fermi_domain::ids::GroupId;
use fermi_domain::task::Selection;

use super::{manage, on_group, view};
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, front_end, language};
use crate::http::body::{JsonBody, OptionalBody};
use crate::http::id::GroupPath;
use crate::http::idempotency::earlier;
use crate::http::tasks::act::{Verb, act_on_all};
use crate::http::tasks::create::{Asked, Reader, from_request};

/// Starts a command on the ranks of a group: a task with `launchMode: {"group": …}`, after all checks.
#[utoipa::path(post, path = "/api/v1/groups/{id}/start", tag = "groups", request_body = StartGroup,
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    responses((status = 200, body = Envelope<StartGroupAnswer>), (status = 404, body = Failure),
        (status = 409, body = Failure), (status = 422, body = Failure)))]
pub async fn start(
    State(core): State<Core>,
    Caller(caller): Caller,
    GroupPath(id): GroupPath,
    headers: HeaderMap,
    body: JsonBody<StartGroup>,
) -> Reply {
    manage::must_be_named(&id)?;
    let key = body.sent.key(&caller, &format!("groups/{id}/start"))?;
    if let Some(answer) = earlier(&core, key.as_ref()).await? {
        return Ok(answer);
    }
    let (known, front_end, wanted) = (core.known_environments(), front_end(&headers), id.clone());
    let read = core.store().read(move |view| Ok::<_, ApiProblem>((manage::stored(view, &wanted)?, view.leases()?)));
    let (row, leases) = read.await?;
    let request = request(body.value, &id, &row.group.name);
    let on_group = on_group::of_request(&core, &request, &known).await?;
    let checks = on_group.as_ref().map(|found| &found.checks[..]).unwrap_or_default();
    let checks: Vec<Check> = checks.iter().map(|check| Check::of(check, front_end)).collect();
    let group = on_group.as_ref().map_or(&row.group, |found| &found.group);
    let ranks = view::ranks(group, &known, &leases, front_end);
    let by = Asked { key, caller, reader: Reader::of(&headers) };
    from_request(&core, &request, on_group.as_ref(), &known, by, |created| StartGroupAnswer { created, checks, ranks })
        .await
}

fn request(start: StartGroup, id: &GroupId, group: &str) -> CreateRequest {
    let StartGroup {
        command,
        recipe,
        task_name,
        framework,
        strategy,
        dataset_id,
        dataset_version_id,
        model_id,
        source,
        options,
        policies,
        priority,
        labels,
    } = start;
    CreateRequest {
        task_name: task_name.unwrap_or_else(|| group.to_owned()),
        dataset_id,
        dataset_version_id,
        model_id,
        selection: Selection::Group(id.clone()),
        distributed_config: RequestedNodes { framework, strategy, ..RequestedNodes::default() },
        command,
        recipe,
        source,
        options,
        policies,
        priority,
        labels,
    }
}

/// Ends all tasks of a group that are not over, by their stop ladders or at once.
#[utoipa::path(post, path = "/api/v1/groups/{id}/stop", tag = "groups", params(("id" = String, Path)),
    request_body = Option<StopRequest>,
    responses((status = 200, body = Envelope<BulkAnswer>), (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn stop(
    State(core): State<Core>,
    Caller(caller): Caller,
    GroupPath(id): GroupPath,
    headers: HeaderMap,
    body: OptionalBody<StopRequest>,
) -> Reply {
    manage::must_be_named(&id)?;
    let read = core.store().read(move |view| {
        manage::stored(view, &id)?;
        Ok::<_, ApiProblem>(manage::open_tasks(view, &id)?)
    });
    let ids = read.await?.into_iter().map(|task| task.id.to_string()).collect();
    let verb = Verb::Stop { force: body.value.force };
    EnvelopeAnswer::ok(&act_on_all(&core, ids, verb, caller, language(&headers)).await?)
}
