//! Whose run it is: an agent sends and asks for what was written in its own environment, and for nothing else.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use fermi_api::link::{Taken, UnwantedRun};
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_domain::task::RunKey;
use fermi_store::{StoreError, View};

use super::journal::unavailable;
use super::streams::answer_with;
use crate::core::Core;
use crate::envelope::ApiProblem;
use crate::restored;

/// Lets the agent of the run's environment pass. The error is the answer to any other caller.
pub async fn check(core: &Core, principal: &Principal, run: &RunKey) -> Result<(), Box<Response>> {
    if core.restored().stray(run).is_some() {
        return Err(Box::new(unwanted(core, run)));
    }
    let key = run.clone();
    let found = core.store().read(move |view| environment_of(view, &key)).await;
    match found {
        Ok(Some(environment)) if principal.is_agent_of(&environment) => Ok(()),
        Ok(Some(_)) => Err(Box::new(refused(principal, run))),
        // Of a task that was deleted, or of a launch that nobody remembers.
        Ok(None) => Err(Box::new(unwanted(core, run))),
        Err(error) => Err(Box::new(unavailable(&error))),
    }
}

/// The last word on a run: nothing of it is taken, now or later. It names the run and this cluster, so that no answer of a
/// proxy or of another program can be taken for it.
pub fn unwanted(core: &Core, run: &RunKey) -> Response {
    // The last word on a run that was set aside is an operator's.
    if restored::is_set_aside(core, run) {
        return answer_with(StatusCode::SERVICE_UNAVAILABLE, Taken { length: 0, unwanted: None });
    }
    let unwanted = UnwantedRun { cluster: core.store().cluster().to_owned(), run: run.clone() };
    answer_with(StatusCode::GONE, Taken { length: 0, unwanted: Some(unwanted) })
}

/// The answer to a caller that sends what belongs to another environment.
pub fn refused(principal: &Principal, run: &RunKey) -> Response {
    tracing::warn!(%principal, %run, "a piece of another environment's run was refused");
    let text =
        Text::new(format!("{run} 不属于该环境"), format!("{run} does not belong to the environment that sends it"));
    let hint = Text::new(
        "X-Fermi-Environment 应为该运行所在环境的 id",
        "X-Fermi-Environment is the id of the environment in which the run is",
    );
    ApiProblem::new(StatusCode::FORBIDDEN, "another_environment", text).hint(hint).into_response()
}

/// Known without reading the task once a piece of the run's journal has come.
pub fn environment_of(view: &View<'_>, run: &RunKey) -> Result<Option<EnvironmentId>, StoreError> {
    if let Some(environment) = view.environment_of_run(run)? {
        return Ok(Some(environment));
    }
    Ok(view.task(&run.task)?.and_then(|task| task.value.environment_of(run).cloned()))
}
