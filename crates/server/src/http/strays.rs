//! Runs that the database has never launched: an older state of it was put back while they went on.

use axum::extract::{Path, State};
use fermi_api::link::ServerMessage;
use fermi_api::v1::{Empty, Envelope, Failure, Page, Stray};
use fermi_domain::language::Text;
use fermi_domain::task::RunKey;
use fermi_store::events::NewEvent;
use fermi_store::{StoreError, Transaction, WriteError};

use crate::caller::Caller;
use crate::core::Core;
use crate::envelope::{ApiProblem, EnvelopeAnswer, Reply, STRAY};

/// The runs that this database has never launched. They go on until somebody ends them.
#[utoipa::path(get, path = "/api/v1/server/strays", tag = "health",
    responses((status = 200, body = Envelope<Page<Stray>>)))]
pub async fn list(State(core): State<Core>) -> Reply {
    let known = core.known_environments();
    let name = |id: &str| known.iter().find(|known| known.id.as_str() == id).map(|known| known.name.clone());
    let restored = core.restored();
    let strays = restored.strays.iter().map(|stray| Stray {
        run: stray.run.to_string(),
        environment_id: stray.environment.to_string(),
        environment: name(stray.environment.as_str()).unwrap_or_else(|| stray.environment.to_string()),
        alive: stray.alive,
        ending: stray.ending,
        found_at: stray.found_ms,
    });
    EnvelopeAnswer::ok(&Page::whole(strays.collect()))
}

/// Ends such a run; what is left of it on its node is removed, but for what it wrote to its outputs.
#[utoipa::path(post, path = "/api/v1/server/strays/{run}/end", tag = "health", params(("run" = String, Path)),
    responses((status = 200, body = Envelope<Empty>), (status = 404, body = Failure)))]
pub async fn end(State(core): State<Core>, Caller(caller): Caller, Path(run): Path<String>) -> Reply {
    let missing = || ApiProblem::not_found(&STRAY, &run);
    let key: RunKey = run.parse().map_err(|_| missing())?;
    let (ended, now_ms) = (key.clone(), core.now_ms());
    let text = Text::new(format!("正在结束 {run}"), format!("{run} is being ended"));
    let said = text.clone();
    let noted = core.store().write(move |tx: &mut Transaction<'_>| {
        let is_stray = tx.end_stray(&ended)?;
        if is_stray {
            tx.append_event(NewEvent::new(now_ms, "run.ended_by_operator", said, caller))?;
        }
        Ok(is_stray)
    });
    if !noted.await.map_err(WriteError::<StoreError>::flatten)? {
        return Err(missing());
    }
    core.refresh_environments().await?;
    for stray in core.restored().strays.iter().filter(|stray| stray.run == key) {
        core.hub().send_once(&stray.environment, &key, "kill", || ServerMessage::Kill { run: key.clone() });
    }
    EnvelopeAnswer::said(text, &Empty {})
}
