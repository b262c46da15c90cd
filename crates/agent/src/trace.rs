//! One line per thing that the agent is asked for and per thing that happens, with the names that the server's lines have:
//! task, run, environment.

use fermi_domain::ids::EnvironmentId;
use fermi_domain::task::RunKey;
use tracing::{info, warn};

use crate::options::AgentNews;

/// The server asks for something.
pub fn asked(what: &'static str, run: &RunKey, environment: Option<&EnvironmentId>) {
    let environment = environment.map(EnvironmentId::as_str);
    info!(task = %run.task, %run, environment, what, "the server asks for something");
}

/// Something happened.
pub fn news(news: &AgentNews, environment: Option<&EnvironmentId>) {
    let environment = environment.map(EnvironmentId::as_str);
    match news {
        AgentNews::Connected { environment, cluster } => info!(%environment, cluster, "connected to the server"),
        AgentNews::Lost { reason, .. } => warn!(environment, reason, "no connection to the server"),
        AgentNews::Refused { reason, .. } => warn!(environment, reason = %reason.en, "the server refused"),
        AgentNews::Launched { run } => info!(task = %run.task, %run, environment, "a run was started"),
        AgentNews::LaunchFailed { run, reason, .. } => {
            warn!(task = %run.task, %run, environment, reason = %reason.en, "a run could not be started");
        }
        AgentNews::Adopted { run } => info!(task = %run.task, %run, environment, "a run was taken over"),
        AgentNews::Gone { run } => info!(task = %run.task, %run, environment, "a run is gone"),
        AgentNews::Swept { run, killed } => warn!(run, killed, environment, "processes that were left have been ended"),
    }
}
