//! What is done with tasks: stop, restart, delete; one at a time or many.

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use fermi_api::v1::{
    Action, AllowedAction, BulkAnswer, BulkRequest, BulkResult, BulkVerb, Empty, Envelope, Failure, StopRequest,
    TaskRow,
};
use fermi_domain::ids::TaskId;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_domain::task::{StopIntent, Task, TaskInput};
use fermi_store::events::NewEvent;
use fermi_store::{Transaction, WriteError};
use tracing::Instrument;

use super::{trailing, view};
use crate::access::permit;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, TASK, language};
use crate::http::body::{JsonBody, OptionalBody};
use crate::http::id::{TaskPath, checked};
use crate::http::idempotency::{Key, once};
use crate::http::params::Params;
use crate::lifecycle::{self, Cause, Changed, to_the_end};

/// How many tasks one bulk request may name.
const MOST_AT_ONCE: usize = 1_000;

/// Ends a task by its stop ladder, or at once.
#[utoipa::path(post, path = "/api/v1/training-tasks/{id}/stop", tag = "training-tasks", 
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    request_body = Option<StopRequest>,
    responses((status = 200, body = Envelope<TaskRow>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn stop(
    State(core): State<Core>,
    Caller(caller): Caller,
    TaskPath(id): TaskPath,
    body: OptionalBody<StopRequest>,
) -> Reply {
    let key = body.sent.key(&caller, &format!("training-tasks/{id}/stop"))?;
    one(&core, id, Verb::Stop { force: body.value.force }, key, caller).await
}

/// Starts a task anew: now if it is over, else as soon as it has ended.
#[utoipa::path(post, path = "/api/v1/training-tasks/{id}/restart", tag = "training-tasks", 
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key and body give the same answer")),
    request_body = Option<Empty>,
    responses((status = 200, body = Envelope<TaskRow>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn restart(
    State(core): State<Core>,
    Caller(caller): Caller,
    TaskPath(id): TaskPath,
    body: OptionalBody<Empty>,
) -> Reply {
    let key = body.sent.key(&caller, &format!("training-tasks/{id}/restart"))?;
    one(&core, id, Verb::Restart, key, caller).await
}

/// Forgets a task that is over, with its logs.
#[utoipa::path(delete, path = "/api/v1/training-tasks/{id}", tag = "training-tasks",
    params(("id" = String, Path),
        ("force" = Option<bool>, Query, description = "Also while the rest of its logs is still to come from its nodes")),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn delete(
    State(core): State<Core>,
    Caller(caller): Caller,
    TaskPath(id): TaskPath,
    RawQuery(query): RawQuery,
) -> Reply {
    let verb = Verb::Delete { force: Params::read(query.as_deref(), &["force"])?.flag("force")? };
    let (removed, cause) = (id.clone(), Cause { principal: caller, now_ms: core.now_ms() });
    to_the_end(async move {
        core.store().write(move |tx| act(tx, &removed, verb, &cause)).await.map_err(WriteError::flatten)?;
        tracing::info!(task = %id, "a task was deleted");
        forget_streams(&core, vec![id]).await;
        Ok::<_, ApiProblem>(())
    })
    .await?;
    EnvelopeAnswer::said(verb.done(), &Empty {})
}

/// Does one thing with many tasks; each is answered for itself.
#[utoipa::path(post, path = "/api/v1/training-tasks/bulk", tag = "training-tasks", request_body = BulkRequest,
    responses((status = 200, body = Envelope<BulkAnswer>), (status = 422, body = Failure)))]
pub async fn bulk(
    State(core): State<Core>,
    Caller(caller): Caller,
    headers: HeaderMap,
    body: JsonBody<BulkRequest>,
) -> Reply {
    let BulkRequest { action, ids, force } = body.value;
    if ids.is_empty() || ids.len() > MOST_AT_ONCE {
        return Err(ApiProblem::unprocessable(
            "ids_invalid",
            "ids",
            Text::new("ids 的数量无效", "the number of ids is not valid"),
        )
        .hint(Text::new(format!("1 到 {MOST_AT_ONCE} 个"), format!("1 to {MOST_AT_ONCE}"))));
    }
    let verb = match action {
        BulkVerb::Stop => Verb::Stop { force },
        BulkVerb::Restart => Verb::Restart,
        BulkVerb::Delete => Verb::Delete { force },
    };
    EnvelopeAnswer::ok(&act_on_all(&core, ids, verb, caller, language(&headers)).await?)
}

/// Does one thing with these tasks in one transaction; each is answered for itself.
pub async fn act_on_all(
    core: &Core,
    ids: Vec<String>,
    verb: Verb,
    caller: Principal,
    language: fermi_domain::language::Language,
) -> Result<BulkAnswer, ApiProblem> {
    let (core, cause) = (core.clone(), Cause { principal: caller, now_ms: core.now_ms() });
    let work = move |tx: &mut Transaction<'_>| {
        let mut done = Vec::with_capacity(ids.len());
        let mut changes = Vec::new();
        for id in ids {
            let outcome = match checked(id.clone(), &TASK) {
                Err(problem) => Err(problem),
                Ok(id) => match act(tx, &TaskId(id), verb, &cause) {
                    Err(problem) if problem.status.is_server_error() => return Err(problem),
                    outcome => outcome.map(|changed| changes.push(changed)),
                },
            };
            done.push((id, outcome));
        }
        Ok((done, changes))
    };
    let done = to_the_end(async move {
        let (done, _) = core.change(work, |(_, changes)| changes).await.map_err(WriteError::<ApiProblem>::flatten)?;
        if matches!(verb, Verb::Delete { .. }) {
            let gone = done.iter().filter(|(_, outcome)| outcome.is_ok()).map(|(id, _)| TaskId(id.clone())).collect();
            forget_streams(&core, gone).await;
        }
        Ok::<Vec<(String, Result<(), ApiProblem>)>, ApiProblem>(done)
    });
    Ok(answer_for(done.await?, verb, language))
}

fn answer_for(
    done: Vec<(String, Result<(), ApiProblem>)>,
    verb: Verb,
    language: fermi_domain::language::Language,
) -> BulkAnswer {
    let results: Vec<BulkResult> = done
        .into_iter()
        .map(|(id, outcome)| {
            let (status, text) = match outcome {
                Ok(()) => (StatusCode::OK, verb.done()),
                Err(problem) => (problem.status, problem.text),
            };
            BulkResult { id, code: status.as_u16(), message: text.in_language(language).to_owned() }
        })
        .collect();
    let succeeded = results.iter().filter(|result| result.code == 200).count();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    BulkAnswer { succeeded: number(succeeded), failed: number(results.len() - succeeded), results }
}

#[derive(Clone, Copy, Debug)]
pub enum Verb {
    Stop {
        force: bool,
    },
    Restart,
    /// `force`: what ranks wrote and has not come yet goes with it.
    Delete {
        force: bool,
    },
}

impl Verb {
    fn action(self) -> Action {
        match self {
            Self::Stop { .. } => Action::Stop,
            Self::Restart => Action::Restart,
            Self::Delete { .. } => Action::Delete,
        }
    }

    fn done(self) -> Text {
        match self {
            Self::Stop { .. } => Text::new("已请求停止", "the task is being stopped"),
            Self::Restart => Text::new("已请求重新启动", "the task is started again"),
            Self::Delete { .. } => Text::new("已删除", "the task was deleted"),
        }
    }
}

async fn one(core: &Core, id: TaskId, verb: Verb, key: Option<Key>, caller: Principal) -> Reply {
    let now_ms = core.now_ms();
    let cause = Cause { principal: caller, now_ms };
    let span = tracing::info_span!("task", task = %id);
    let known = core.known_environments();
    let work = move |tx: &mut Transaction<'_>| {
        let mut changes = Vec::new();
        let answer = once(tx, key.as_ref(), now_ms, |tx| {
            let changed = act(tx, &id, verb, &cause)?;
            let answer =
                EnvelopeAnswer::said(verb.done(), &view::row_of(&changed.task, now_ms, &known, &cause.principal));
            changes.push(changed);
            answer
        })?;
        Ok((answer, changes))
    };
    let change = core.change(work, |(_, changes)| changes);
    let (answer, _) = change.instrument(span).await.map_err(WriteError::<ApiProblem>::flatten)?;
    Ok(answer)
}

/// Does it if it can be done now. Answers with the task as it is then, or as it was.
fn act(tx: &mut Transaction<'_>, id: &TaskId, verb: Verb, cause: &Cause) -> Result<Changed, ApiProblem> {
    let task = tx.task(id)?.ok_or_else(|| ApiProblem::not_found(&TASK, id.as_str()))?.value;
    permit(&cause.principal, verb.action().deed(), task.owner())?;
    if let Some(reason) = AllowedAction::of(verb.action(), task.phase).reason {
        return Err(ApiProblem::conflict("not_now", reason));
    }
    let input = match verb {
        Verb::Stop { force } => TaskInput::StopAsked(StopIntent::by_user(force)),
        Verb::Restart => {
            // Secrets are those of its owner, whoever restarts it.
            let owner = task.created_by.clone().unwrap_or(Principal::System);
            lifecycle::check_references(tx, &task.spec, &owner)?;
            TaskInput::RestartAsked
        }
        Verb::Delete { force } => return remove(tx, task, force, cause),
    };
    Ok(lifecycle::apply(tx, id, [input], cause)?)
}

fn remove(tx: &mut Transaction<'_>, task: Task, force: bool, cause: &Cause) -> Result<Changed, ApiProblem> {
    if !task.is_swept() {
        return Err(ApiProblem::conflict(
            "not_swept",
            Text::new("任务的进程正在清理，请稍后再删除", "processes of the task are still being ended"),
        )
        .hint(Text::new("稍后重试", "try again in a moment")));
    }
    if let Some(names) = trailing::names(tx, &task.id)?.filter(|_| !force) {
        return Err(ApiProblem::conflict(
            "logs_follow",
            Text::new(
                format!("{names} 尚未把该任务的日志全部上传"),
                format!("the task's logs have not all come from {names} yet"),
            ),
        )
        .hint(Text::new(
            "稍后重试；如不再需要这些日志，带 force=true 删除",
            "try again in a moment; to do without them, delete it with force=true",
        )));
    }
    tx.delete_task(&task.id)?;
    let name = &task.spec.name;
    let text = Text::new(format!("任务“{name}”已删除"), format!("the task '{name}' was deleted"));
    let deleted = NewEvent::new(cause.now_ms, "task.deleted", text, cause.principal.clone());
    tx.append_event(deleted.about_task(&task.id))?;
    Ok(Changed { task, phases: Vec::new(), has_changed: true, has_freed: false, principal: cause.principal.clone() })
}

/// Streams that a crash leaves here belong to no task, and the retention removes them.
async fn forget_streams(core: &Core, tasks: Vec<TaskId>) {
    tasks.iter().for_each(|task| core.disk().forget(task));
    let (chunks, forgetful) = (core.chunks().clone(), core.clone());
    let removed = tokio::task::spawn_blocking(move || {
        for task in &tasks {
            forgetful.forget_generations(task);
            if let Err(error) = chunks.delete(task) {
                tracing::warn!(%task, %error, "the streams of a deleted task could not be removed");
            }
        }
    });
    if removed.await.is_err() {
        tracing::error!("removing streams panicked");
    }
}
