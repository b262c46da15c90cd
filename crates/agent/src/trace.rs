//! One line per thing that the agent is asked for, does and meets, with the names that the server's lines have: task, run,
//! environment, attempt, rank.

use fermi_api::link::AgentMessage;
use fermi_domain::ids::EnvironmentId;
use fermi_domain::task::RunKey;
use tracing::{Span, info, info_span, warn};

use crate::link::NoLink;
use crate::options::AgentNews;
use crate::run_registry::AgentEffect;
use crate::upload::UploadKind;

/// The name under which all of it is logged.
pub const LOG_TARGET: &str = module_path!();

/// What an effect is about. Whatever is logged while it is carried out stands inside.
pub fn effect(effect: &AgentEffect, environment: Option<&EnvironmentId>) -> Span {
    let environment = environment.map(EnvironmentId::as_str);
    let attempt = match effect {
        AgentEffect::Prepare(assignment) => Some(assignment.policy.attempts_before + 1),
        _ => None,
    };
    let (what, run) = match effect {
        AgentEffect::Prepare(assignment) => ("prepare", &assignment.run),
        AgentEffect::Start(run) => ("start", run),
        AgentEffect::Signal { run, .. } => ("signal", run),
        AgentEffect::UploadRest(run) => ("upload the rest", run),
        AgentEffect::RefuseForEver(run) => ("refuse for ever", run),
        AgentEffect::Delete(run) => ("delete", run),
        AgentEffect::Send(AgentMessage::Gone { run, .. }) => ("tell that it is gone", run),
        AgentEffect::Send(AgentMessage::LaunchFailed(failed)) => ("tell that it failed", &failed.run),
        AgentEffect::Send(
            AgentMessage::Hello(_)
            | AgentMessage::Heartbeat(_)
            | AgentMessage::Probed { .. }
            | AgentMessage::DatasetLooked { .. }
            | AgentMessage::Preflight { .. },
        ) => return Span::none(),
    };
    let span = info_span!("effect", task = %run.task, %run, attempt, environment);
    span.in_scope(|| info!(what, "the agent does something for a run"));
    span
}

/// A file of a run on its way. A journal is of no attempt and of no rank.
pub fn upload(
    run: &RunKey,
    kind: UploadKind,
    of_rank: Option<(u32, u32)>,
    environment: Option<&EnvironmentId>,
) -> Span {
    let environment = environment.map(EnvironmentId::as_str);
    let (attempt, rank) = of_rank.unzip();
    info_span!("upload", task = %run.task, %run, attempt, rank, environment, kind = kind.as_str())
}

/// The server asks for something.
pub fn asked(what: &'static str, run: &RunKey, environment: Option<&EnvironmentId>) {
    let environment = environment.map(EnvironmentId::as_str);
    info!(task = %run.task, %run, environment, what, "the server asks for something");
}

/// Something happened.
pub fn news(news: &AgentNews, environment: Option<&EnvironmentId>) {
    let environment = environment.map(EnvironmentId::as_str);
    match news {
        AgentNews::RanksRunAs { text } => info!(what = %text.en, "under which accounts ranks run"),
        AgentNews::Connected { environment, cluster } => info!(%environment, cluster, "connected to the server"),
        AgentNews::NoLink(NoLink::Lost { reason, .. }) => warn!(environment, reason, "no connection to the server"),
        AgentNews::NoLink(NoLink::Refused { reason, hint }) => {
            warn!(environment, reason = %reason.en, hint = %hint.en, "the server refused");
        }
        AgentNews::Launched { run } => info!(task = %run.task, %run, environment, "a run was started"),
        AgentNews::LaunchFailed { run, reason, hint } => {
            warn!(task = %run.task, %run, environment, reason = %reason.en, hint = %hint.en, "a run could not be started");
        }
        AgentNews::Adopted { run } => info!(task = %run.task, %run, environment, "a run was taken over"),
        AgentNews::Gone { run } => info!(task = %run.task, %run, environment, "a run is gone"),
        AgentNews::Swept { run, killed } => warn!(run, killed, environment, "processes that were left have been ended"),
    }
}
