//! What operators say of an environment: that it is lost, drained, in service again, or another machine's from now on.

use axum::extract::State;
use fermi_api::v1::{Empty, Envelope, Failure};
use fermi_domain::environment::Duty;
use fermi_domain::fleet::Identity;
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_domain::task::TaskInput;
use fermi_store::events::NewEvent;
use fermi_store::{Transaction, WriteError};

use super::id::EnvironmentPath;
use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, ENVIRONMENT, EnvelopeAnswer, Reply};
use crate::lifecycle::{self, Cause, Changed};
use crate::restored;

/// Declares the machine of an environment lost: its runs are taken for ended, and tasks that may start again wait for a
/// machine under its name.
#[utoipa::path(post, path = "/api/v1/environments/{id}/lost", tag = "environments", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn lost(State(core): State<Core>, Caller(caller): Caller, EnvironmentPath(id): EnvironmentPath) -> Reply {
    say(&core, id, DutyWord::Lost, caller).await
}

/// Lets another machine take the name of an environment whose own is lost.
#[utoipa::path(post, path = "/api/v1/environments/{id}/replace", tag = "environments", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn replace(State(core): State<Core>, Caller(caller): Caller, EnvironmentPath(id): EnvironmentPath) -> Reply {
    say(&core, id, DutyWord::Replace, caller).await
}

/// Takes an environment out of service: what runs there goes on, and nothing new starts.
#[utoipa::path(post, path = "/api/v1/environments/{id}/drain", tag = "environments", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure), (status = 409, body = Failure)))]
pub async fn drain(State(core): State<Core>, Caller(caller): Caller, EnvironmentPath(id): EnvironmentPath) -> Reply {
    say(&core, id, DutyWord::Drain, caller).await
}

/// Puts an environment back into service.
#[utoipa::path(post, path = "/api/v1/environments/{id}/resume", tag = "environments", params(("id" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure)))]
pub async fn resume(State(core): State<Core>, Caller(caller): Caller, EnvironmentPath(id): EnvironmentPath) -> Reply {
    say(&core, id, DutyWord::Resume, caller).await
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DutyWord {
    Lost,
    Replace,
    Drain,
    Resume,
}

impl DutyWord {
    fn says_lost(self) -> bool {
        matches!(self, Self::Lost | Self::Replace)
    }

    /// What holds of an environment from now on.
    fn after(self, before: Duty) -> Duty {
        match self {
            Self::Lost | Self::Replace => before.lost(),
            Self::Drain => before.drained(),
            Self::Resume => Duty::Serves,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Lost => "environment.lost",
            Self::Replace => "environment.replaced",
            Self::Drain => "environment.drained",
            Self::Resume => "environment.resumed",
        }
    }

    fn text(self, name: &str) -> Text {
        match self {
            Self::Lost => Text::new(
                format!("开发环境 {name} 的机器已宣告丢失，其上的运行视为已结束"),
                format!("the machine of {name} is declared lost: what ran there counts as ended"),
            ),
            Self::Replace => Text::new(
                format!("开发环境 {name} 的机器已宣告丢失，另一台机器可以使用这个名字"),
                format!("the machine of {name} is declared lost, and another one may take its name"),
            ),
            Self::Drain => Text::new(
                format!("开发环境 {name} 已停用：正在运行的继续，不再启动新任务"),
                format!("{name} is drained: what runs goes on, nothing new starts"),
            ),
            Self::Resume => Text::new(format!("开发环境 {name} 已恢复使用"), format!("{name} is in service again")),
        }
    }
}

async fn say(core: &Core, id: EnvironmentId, word: DutyWord, caller: Principal) -> Reply {
    let is_answering = core.hub().is_answering(&id, None);
    if word.says_lost() && is_answering {
        return Err(ApiProblem::conflict(
            "environment_online",
            Text::new("该开发环境的代理仍在应答", "the agent of this environment still answers"),
        )
        .hint(Text::new(
            "若要停用它，运行 fermi env drain；若机器确已关闭，稍候再试",
            "to take it out of service, run `fermi env drain`; if the machine is off, try again in a moment",
        )));
    }
    let (wanted, cause) = (id.clone(), Cause { principal: caller, now_ms: core.now_ms() });
    let change = core.change(move |tx| note(tx, &wanted, word, &cause), |(_, changes)| changes);
    let (text, _) = change.await.map_err(WriteError::<ApiProblem>::flatten)?;
    if word.says_lost() {
        // Should its agent be heard again, it says hello, and what still runs there is ended.
        core.hub().hang_up(&id);
    }
    core.refresh_environments().await?;
    core.ring();
    EnvelopeAnswer::said(text, &Empty {})
}

/// Stores it, with what it means for tasks.
fn note(
    tx: &mut Transaction<'_>,
    id: &EnvironmentId,
    word: DutyWord,
    cause: &Cause,
) -> Result<(Text, Vec<Changed>), ApiProblem> {
    let row = tx.environment(id)?.ok_or_else(|| ApiProblem::not_found(&ENVIRONMENT, id.as_str()))?;
    tx.set_duty(id, word.after(row.duty))?;
    let text = word.text(&row.environment.name);
    let event = NewEvent::new(cause.now_ms, word.kind(), text.clone(), cause.principal.clone());
    tx.append_event(event.about_environment(id))?;
    let mut changes = Vec::new();
    if word.says_lost() {
        for task in tx.live_tasks()? {
            let lost = task.value.lost_nodes(|environment| environment == id);
            let inputs: Vec<TaskInput> = lost.into_iter().map(|node| TaskInput::NodeLost { node }).collect();
            if !inputs.is_empty() {
                changes.push(lifecycle::apply(tx, &task.value.id, inputs, cause)?);
            }
        }
    }
    if word.says_lost() {
        restored::give_up(tx, id)?;
    }
    if word == DutyWord::Replace {
        tx.revoke_identity(id)?;
        let replaced = row.identity.map(Identity::replaced).filter(|replaced| *replaced != Identity::default());
        if let Some(replaced) = replaced {
            tx.set_identity(id, &replaced)?;
        }
    }
    Ok((text, changes))
}
