//! The event log: pages of it, and the stream of what is new.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use fermi_api::v1::{Envelope, Event, Failure, Page};
use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::language::Text;
use fermi_store::StoreError;
use fermi_store::events::{ActorFilter, EventFilter};

use super::app_state::AppState;
use super::fan_out::{Topic, event};
use super::follow;
use super::id::TaskPath;
use super::params::Params;
use super::stream_format::StreamFormat;
use crate::envelope::{ApiProblem, EnvelopeAnswer, TASK};

const KNOWN: [&str; 9] = ["after", "pageSize", "pageToken", "kind", "environment", "user", "since", "until", "newest"];
/// `user=*`: what any user has asked for.
const ANY_USER: &str = "*";

/// Events of the whole cluster, oldest first.
///
/// `Accept: text/event-stream` (or `application/x-ndjson`) gives those that are new, as they happen; with `after` or
/// `Last-Event-ID` everything behind that cursor comes first.
#[utoipa::path(get, path = "/api/v1/events", tag = "events",
    params(
        ("after" = Option<String>, Query, description = "Only events behind this cursor"),
        ("pageSize" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "50 when not given"),
        ("pageToken" = Option<String>, Query, description = "`nextPageToken` of the page before"),
        ("kind" = Option<String>, Query, description = "How the kind begins, such as `task.`"),
        ("environment" = Option<String>, Query, description = "Only events of this environment"),
        ("user" = Option<String>, Query, description = "Only what this user has asked for; `*` for any user"),
        ("since" = Option<u64>, Query, description = "Only events of this time or later, in Unix milliseconds"),
        ("until" = Option<u64>, Query, description = "Only events before this time, in Unix milliseconds"),
        ("newest" = Option<bool>, Query, description = "The last `pageSize` events, in one page"),
    ),
    responses((status = 200, body = Envelope<Page<Event>>), (status = 422, body = Failure)))]
pub async fn of_cluster(
    State(state): State<AppState>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    answer(state, None, query, &headers).await
}

/// Events of one task, oldest first; as a stream they begin with the first one.
#[utoipa::path(get, path = "/api/v1/training-tasks/{id}/events", tag = "training-tasks",
    params(
        ("id" = String, Path),
        ("after" = Option<String>, Query, description = "Only events behind this cursor"),
        ("pageSize" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "50 when not given"),
        ("pageToken" = Option<String>, Query, description = "`nextPageToken` of the page before"),
        ("kind" = Option<String>, Query, description = "How the kind begins, such as `attempt.`"),
        ("environment" = Option<String>, Query, description = "Only events of this environment"),
        ("user" = Option<String>, Query, description = "Only what this user has asked for; `*` for any user"),
        ("since" = Option<u64>, Query, description = "Only events of this time or later, in Unix milliseconds"),
        ("until" = Option<u64>, Query, description = "Only events before this time, in Unix milliseconds"),
        ("newest" = Option<bool>, Query, description = "The last `pageSize` events, in one page"),
    ),
    responses((status = 200, body = Envelope<Page<Event>>), (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn of_task(
    State(state): State<AppState>,
    TaskPath(task): TaskPath,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let id = task.clone();
    let is_there: Result<bool, StoreError> = state.core.store().read(move |view| view.task_exists(&id)).await;
    if !is_there? {
        return Err(ApiProblem::not_found(&TASK, task.as_str()));
    }
    answer(state, Some(task), query, &headers).await
}

async fn answer(
    state: AppState,
    task: Option<TaskId>,
    query: Option<String>,
    headers: &HeaderMap,
) -> Result<Response, ApiProblem> {
    let params = Params::read(query.as_deref(), &KNOWN)?;
    let filter = EventFilter {
        task: task.clone(),
        environment: params.text("environment").map(|id| EnvironmentId(id.to_owned())),
        kind: params.text("kind").map(str::to_owned),
        by: params.text("user").map(|user| match user {
            ANY_USER => ActorFilter::Users,
            name => ActorFilter::User(name.to_owned()),
        }),
        since_ms: params.number("since", 0..=u64::MAX)?,
        until_ms: params.number("until", 0..=u64::MAX)?,
    };
    let size = params.number("pageSize", 1..=1_000_usize)?.unwrap_or(50);
    let asked = params.text("pageToken").or(params.text("after")).map(|text| cursor("after", text)).transpose()?;
    if let Some(format) = StreamFormat::wanted(headers) {
        let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()).filter(|text| !text.is_empty());
        let last = last.map(|text| cursor("Last-Event-ID", text)).transpose()?;
        let topic = task.map_or(Topic::Everything, Topic::Task);
        let after = match (last.or(asked), &topic) {
            (Some(after), _) => Some(after),
            (None, Topic::Task(_)) => Some(0),
            (None, Topic::Everything) => None,
        };
        return follow::events(state, topic, filter, after, format).await;
    }
    if params.flag("newest")? {
        let found: Result<_, StoreError> = state.core.store().read(move |view| view.newest_events(&filter, size)).await;
        return Ok(EnvelopeAnswer::ok(&Page::whole(found?.iter().map(event).collect()))?.into_response());
    }
    let after = asked.unwrap_or(0);
    let found: Result<_, StoreError> = state.core.store().read(move |view| view.events(after, &filter, size + 1)).await;
    let mut found = found?;
    let has_more = found.len() > size;
    found.truncate(size);
    let next_page_token = found.last().filter(|_| has_more).map(|last| last.cursor.to_string());
    let items: Vec<Event> = found.iter().map(event).collect();
    Ok(EnvelopeAnswer::ok(&Page { items, next_page_token, total: None })?.into_response())
}

fn cursor(field: &'static str, text: &str) -> Result<u64, ApiProblem> {
    let is_plain = text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain).ok_or_else(|| {
        ApiProblem::unprocessable("cursor_invalid", field, Text::new("游标无效", "the cursor is not valid"))
            .hint(Text::new("使用事件的 cursor 字段", "give the `cursor` of an event"))
    })
}
