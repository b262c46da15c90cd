//! Tasks in pages.

use axum::extract::{RawQuery, State};
use fermi_api::v1::{Envelope, Failure, Page, TaskRow};
use fermi_store::tasks::{ListError, TaskRow as StoredRow};

use super::view;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{EnvelopeAnswer, Reply};
use crate::http::params::Params;
use crate::http::{filter, paging};

/// Tasks, the newest first.
#[utoipa::path(get, path = "/api/v1/training-tasks", tag = "training-tasks",
    params(
        ("pageSize" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "50 when not given"),
        ("pageToken" = Option<String>, Query, description = "`nextPageToken` of the page before"),
        ("filter" = Option<String>, Query, example = "phase=running,failed name~bert environment=env-001 label.team=nlp"),
        ("orderBy" = Option<String>, Query, example = "createdAt desc"),
    ),
    responses((status = 200, body = Envelope<Page<TaskRow>>), (status = 422, body = Failure)))]
pub async fn list(State(core): State<Core>, Caller(caller): Caller, RawQuery(query): RawQuery) -> Reply {
    let params = Params::read(query.as_deref(), &paging::LIST)?;
    let wanted = paging::wanted(&params)?;
    let filter = filter::tasks(params.text("filter").unwrap_or_default())?;
    let order = filter::task_order(params.text("orderBy"))?;
    let found: Result<_, ListError> =
        core.store().read(move |view| view.list_tasks(&filter, order, wanted.size, wanted.token.as_ref())).await;
    let known = core.known_environments();
    let shown = |row: StoredRow| {
        let held = row.phase.waits_for_launch().then(|| core.hold(&row.id, |id| row.brief.environments.contains(id)));
        let row = view::row(row, &known, &caller);
        TaskRow { reason: held.flatten().or(row.reason), ..row }
    };
    EnvelopeAnswer::ok(&paging::page(found?, shown))
}
