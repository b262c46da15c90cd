//! One task, and what it starts.

use axum::extract::State;
use axum::http::HeaderMap;
use fermi_api::v1::{self, Envelope, Failure, Launch};
use fermi_domain::ids::TaskId;
use fermi_domain::language::{Explained, Text};
use fermi_domain::task::Task;
use fermi_store::StoreError;
use fermi_store::chunks::StreamName;

use super::view::TaskReader;
use super::{progress, shared_folder, trailing, view};
use crate::assignment;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, TASK, front_end, language};
use crate::http::id::TaskPath;
use crate::http::logs::blocking;
use crate::preflights;

/// A task with everything about it.
#[utoipa::path(get, path = "/api/v1/training-tasks/{id}", tag = "training-tasks", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<v1::Task>), (status = 404, body = Failure)))]
pub async fn show(
    State(core): State<Core>,
    Caller(principal): Caller,
    TaskPath(id): TaskPath,
    headers: HeaderMap,
) -> Reply {
    let task = find(&core, &id).await?;
    let progress = progress::of(&core, &task).await;
    let known = core.known_environments();
    let (language, front_end, now_ms) = (language(&headers), front_end(&headers), core.now_ms());
    let reader = TaskReader { principal, language, front_end, now_ms };
    let mut whole = view::whole(&task, progress, &known, &reader);
    if !task.phase.is_final() {
        whole.warnings.extend(shared_folder::warning(&core, &task.spec, Some(&task.id), language).await?);
    }
    if task.phase.waits_for_launch() {
        let question = core.scheduler().question(&task.id);
        let waits = question.answer(core.now_ms()).map(|reason| reason.text());
        let secret = missing_secret(&core, &task).await?;
        let checked = preflights::hold_of(&core, &task);
        whole.row.reason = core.hold_of(&task).or(checked).or(secret).or(waits).or(whole.row.reason);
    }
    if task.phase.is_final() && whole.row.reason.is_none() {
        let names: Result<_, StoreError> = core.store().read(move |view| trailing::names(view, &id)).await;
        whole.row.reason = names?.map(|names| trailing::reason(&names));
    }
    EnvelopeAnswer::ok(&whole)
}

/// What is started for a task: files, command and variables, rank by rank.
#[utoipa::path(get, path = "/api/v1/training-tasks/{id}/launch", tag = "training-tasks", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Launch>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn launch(State(core): State<Core>, TaskPath(id): TaskPath) -> Reply {
    let task = find(&core, &id).await?;
    let environments = core.known_environments();
    let ranks = view::rank_map(&task, &environments).ok_or_else(|| {
        ApiProblem::conflict("no_ranks", Text::new("尚无法分配 rank", "ranks cannot be given yet"))
            .hint(Text::new("任务所选的开发环境已不存在", "an environment that the task names is not there any more"))
    })?;
    let paths = assignment::paths(&core, &task.spec).await?;
    EnvelopeAnswer::ok(&Launch::of(&assignment::launch(&task.spec, &ranks, &environments, &paths)?, &task.spec))
}

/// Why a task that waits would not be started: a secret that it names is gone, or does not open.
pub async fn missing_secret(core: &Core, task: &Task) -> Result<Option<Text>, StoreError> {
    Ok(assignment::secrets(core, task).await?.err().map(|problem| problem.text()))
}

/// Looks a task up.
pub async fn find(core: &Core, id: &TaskId) -> Result<Task, ApiProblem> {
    let wanted = id.clone();
    let found: Result<_, StoreError> = core.store().read(move |view| view.task(&wanted)).await;
    found?.map(|found| found.value).ok_or_else(|| ApiProblem::not_found(&TASK, id.as_str()))
}

/// The same for somebody who names an attempt and a rank of it. What they have written is proof of them where the journal that
/// told of them was lost.
pub async fn find_with(core: &Core, id: &TaskId, attempt: Option<u32>, rank: Option<u32>) -> Result<Task, ApiProblem> {
    let task = find(core, id).await?;
    if let Err(missing) = task.check_part(attempt, rank) {
        let (chunks, id) = (core.chunks().clone(), id.clone());
        let written = blocking(tokio::task::spawn_blocking(move || chunks.streams(&id)).await)?;
        let is_named = |name: &StreamName| {
            attempt.is_none_or(|attempt| name.attempt == attempt) && rank.is_none_or(|rank| name.rank == rank)
        };
        if !written.iter().any(|(name, _)| is_named(name)) {
            return Err(missing.into());
        }
    }
    Ok(task)
}
