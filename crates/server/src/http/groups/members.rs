//! Moving workers between groups.

use std::collections::{BTreeSet, HashMap};

use axum::extract::State;
use axum::http::HeaderMap;
use fermi_api::v1::{Envelope, Failure, MoveAnswer, MoveWorkers};
use fermi_domain::environment::Environment;
use fermi_domain::group::{self, GroupRefusal, UNASSIGNED};
use fermi_domain::ids::{GroupId, WorkerId};
use fermi_domain::language::Text;
use fermi_store::events::NewEvent;
use fermi_store::{Transaction, WriteError};

use super::manage;
use super::view::{self, GroupReader};
use crate::access::ownership;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, front_end, language};
use crate::http::body::JsonBody;
use crate::http::id::GroupPath;
use crate::http::idempotency::once;
use crate::lifecycle::Cause;

/// How many workers move at once.
const MOST_AT_ONCE: usize = 10_000;
/// How many workers an event names.
const NAMED: usize = 8;

/// Moves workers into a group, all of them or none; each leaves the group in which it was. `unassigned` takes them out.
#[utoipa::path(post, path = "/api/v1/groups/{id}/workers", tag = "groups", request_body = MoveWorkers,
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    responses((status = 200, body = Envelope<MoveAnswer>), (status = 404, body = Failure), (status = 409, body = Failure),
        (status = 422, body = Failure)))]
pub async fn move_workers(
    State(core): State<Core>,
    Caller(caller): Caller,
    GroupPath(id): GroupPath,
    headers: HeaderMap,
    body: JsonBody<MoveWorkers>,
) -> Reply {
    let key = body.sent.key(&caller, &format!("groups/{id}/workers"))?;
    let known = core.known_environments();
    let target = (id.as_str() != UNASSIGNED).then_some(id);
    // One that is gone may be taken out, and not in.
    let workers = if target.is_some() { existing(&body.value.workers, &known)? } else { read(&body.value.workers)? };
    let (version, language) = (body.value.version, language(&headers));
    let reader = GroupReader { principal: caller.clone(), front_end: front_end(&headers) };
    let cause = Cause { principal: caller, now_ms: core.now_ms() };
    let moved = core.store().write(move |tx| {
        once(tx, key.as_ref(), cause.now_ms, |tx| {
            if let Some(id) = &target {
                manage::must_be_seen(&manage::stored(tx, id)?, version)?;
            }
            let moved = carry(tx, &workers, target.as_ref(), &known, &cause)?;
            let group = match &target {
                Some(id) => view::group(&manage::whole(tx, id)?, &known, &reader),
                None => view::unassigned(&tx.groups()?, &known, language),
            };
            let were = if moved == 1 { "worker was" } else { "workers were" };
            let text = Text::new(format!("已移动 {moved} 个 Worker"), format!("{moved} {were} moved"));
            EnvelopeAnswer::said(text, &MoveAnswer { moved: u32::try_from(moved).unwrap_or(u32::MAX), group })
        })
    });
    moved.await.map_err(WriteError::flatten)
}

/// The workers of a request, each once.
fn read(texts: &[String]) -> Result<Vec<WorkerId>, GroupRefusal> {
    if texts.is_empty() {
        return Err(GroupRefusal::WorkersRequired);
    }
    if texts.len() > MOST_AT_ONCE {
        return Err(GroupRefusal::TooManyWorkers { most: MOST_AT_ONCE });
    }
    let workers: Result<BTreeSet<WorkerId>, GroupRefusal> = texts
        .iter()
        .map(|text| {
            let invalid = || GroupRefusal::WorkerInvalid { text: text.chars().take(80).collect() };
            text.trim().parse().map_err(|_| invalid())
        })
        .collect();
    Ok(workers?.into_iter().collect())
}

/// The same of workers that exist.
pub fn existing(texts: &[String], known: &[Environment]) -> Result<Vec<WorkerId>, GroupRefusal> {
    let workers = read(texts)?;
    let counts: HashMap<&str, u32> =
        known.iter().map(|environment| (environment.name.as_str(), environment.worker_count())).collect();
    let there = |worker: &WorkerId| counts.get(worker.node()).copied();
    match workers.iter().find(|worker| there(worker).is_none_or(|count| worker.index() >= count)) {
        Some(worker) => Err(GroupRefusal::WorkerUnknown { worker: worker.clone(), workers_there: there(worker) }),
        None => Ok(workers),
    }
}

/// Moves workers inside a transaction, unless open tasks count on one of them. Gives how many have another group now.
pub fn carry(
    tx: &mut Transaction<'_>,
    workers: &[WorkerId],
    target: Option<&GroupId>,
    known: &[Environment],
    cause: &Cause,
) -> Result<usize, ApiProblem> {
    let from = tx.groups_of(workers)?;
    let leaving: Vec<WorkerId> =
        from.iter().filter(|(_, group)| Some(*group) != target).map(|(id, _)| id.clone()).collect();
    let sources: BTreeSet<&GroupId> = from.values().filter(|group| Some(*group) != target).collect();
    // A worker that is in no group may be taken into one's own; out of a group, its owner lets it.
    for id in sources.iter().copied().chain(target) {
        ownership::permit_change(tx, id.as_str(), &cause.principal)?;
    }
    let mut groups = Vec::new();
    for id in sources {
        let tasks = manage::open_tasks(tx, id)?;
        if !tasks.is_empty() {
            groups.push((manage::stored(tx, id)?.group, tasks));
        }
    }
    group::may_leave(&leaving, &groups, known)?;
    let moved = tx
        .move_workers(workers, target, cause.now_ms)
        .map_err(|error| manage::refused(error, target.map_or(UNASSIGNED, GroupId::as_str)))?;
    if moved > 0 {
        let names: Vec<String> = workers.iter().take(NAMED).map(ToString::to_string).collect();
        let more = if workers.len() > NAMED { " …" } else { "" };
        let text = match target {
            None => Text::new(
                format!("{}{more} 已移出分组", names.join("、")),
                format!("{}{more} moved out of their groups", names.join(", ")),
            ),
            Some(id) => {
                let group = manage::stored(tx, id)?.group.name;
                Text::new(
                    format!("{}{more} 已移动到分组“{group}”", names.join("、")),
                    format!("{}{more} moved to the group '{group}'", names.join(", ")),
                )
            }
        };
        tell(tx, "group.workersMoved", text, cause)?;
    }
    Ok(moved)
}

/// Notes in the event log what became of a group.
pub fn tell(tx: &mut Transaction<'_>, kind: &'static str, text: Text, cause: &Cause) -> Result<(), ApiProblem> {
    tx.append_event(NewEvent::new(cause.now_ms, kind, text, cause.principal.clone()))?;
    Ok(())
}
