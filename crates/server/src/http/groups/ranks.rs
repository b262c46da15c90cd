//! Who would be which rank of a group, and what would go wrong.

use axum::extract::State;
use axum::http::HeaderMap;
use fermi_api::v1::{Check, Envelope, Failure, GroupRanks, Page};
use fermi_store::StoreError;

use super::{manage, on_group, view};
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, front_end};
use crate::http::id::GroupPath;

/// The rank table of a group as things stand: RANK, LOCAL_RANK, NODE_RANK and WORLD_SIZE of each worker.
#[utoipa::path(get, path = "/api/v1/groups/{id}/ranks", tag = "groups", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<GroupRanks>), (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn ranks(State(core): State<Core>, headers: HeaderMap, GroupPath(id): GroupPath) -> Reply {
    manage::must_be_named(&id)?;
    let known = core.known_environments();
    let read = core.store().read(move |view| Ok::<_, ApiProblem>((manage::stored(view, &id)?, view.leases()?)));
    let (row, leases) = read.await?;
    EnvelopeAnswer::ok(&view::ranks(&row.group, &known, &leases, front_end(&headers)))
}

/// Asks the nodes of a group whether they find and reach their master, and answers the whole troubleshooting list.
#[utoipa::path(post, path = "/api/v1/groups/{id}/check", tag = "groups", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Page<Check>>), (status = 404, body = Failure), (status = 422, body = Failure)))]
pub async fn check(State(core): State<Core>, headers: HeaderMap, GroupPath(id): GroupPath) -> Reply {
    manage::must_be_named(&id)?;
    let known = core.known_environments();
    let wanted = id.clone();
    let read: Result<_, StoreError> = core.store().read(move |view| view.group(&wanted)).await;
    let row = read?.ok_or_else(|| ApiProblem::not_found(&crate::envelope::GROUP, id.as_str()))?;
    let (found, _) = on_group::all_checks(&core, &row.group, &known).await;
    let front_end = front_end(&headers);
    EnvelopeAnswer::ok(&Page::whole(found.iter().map(|check| Check::of(check, front_end)).collect()))
}
