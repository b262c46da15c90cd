//! Preflights: several environments checked together. What is decided is in `fermi_domain::preflight`; here agents are
//! asked, and what came of it is kept in memory for a while.

mod drive;
mod gate;
mod kept;

use fermi_domain::environment::Environment;
use fermi_domain::ids::{Generation, TaskId};
use fermi_domain::language::Text;
use fermi_domain::preflight::{CourseEffect, InterfaceRule, PreflightCourse, PreflightNode, PreflightWish};
use fermi_domain::principal::Principal;
use fermi_store::StoreError;
use fermi_store::events::NewEvent;

pub use gate::{Gate, call_off, gate, hold_of};
pub use kept::{KeptPreflight, Preflights};

use crate::access::secret_word;
use crate::core::Core;

/// Who asks for a preflight, and of what.
#[derive(Clone, Debug)]
pub struct PreflightRequest {
    pub environments: Vec<Environment>,
    pub wish: PreflightWish,
    pub by: Principal,
    /// The launch of a task before whose ranks it happens.
    pub launch: Option<CheckedLaunch>,
}

/// The launch of a task that waits for its preflight.
#[derive(Clone, Debug)]
pub struct CheckedLaunch {
    pub task: TaskId,
    pub generation: Generation,
    pub rule: InterfaceRule,
}

/// Why one cannot begin.
#[derive(Debug)]
pub enum StartProblem {
    /// Two at once would disturb each other.
    Busy {
        environment: String,
        /// None where it is kept for a task that waits for its own.
        preflight: Option<String>,
    },
    Store(StoreError),
}

/// Begins, and goes on by itself until it is over.
pub async fn start(core: &Core, request: PreflightRequest) -> Result<KeptPreflight, StartProblem> {
    let now_ms = core.now_ms();
    let nodes: Vec<PreflightNode> = request.environments.iter().map(|environment| node(core, environment)).collect();
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let started = started_event(&names, &request, now_ms);
    let wish = PreflightWish { word: secret_word::draw().ok(), ..request.wish.clone() };
    let (course, effects) = PreflightCourse::begin(nodes, wish, now_ms);
    let (kept, effects): (KeptPreflight, Vec<CourseEffect>) = core
        .preflights()
        .keep(&request, course, now_ms)
        .map(|kept| (kept, effects))
        .map_err(|(environment, preflight)| StartProblem::Busy { environment, preflight })?;
    let noted = core.store().write(move |tx| tx.append_event(started)).await;
    if let Err(error) = noted {
        core.preflights().forget(&kept);
        return Err(StartProblem::Store(error.flatten()));
    }
    tracing::info!(preflight = %kept.id(), "a preflight begins");
    let (core, going) = (core.clone(), kept.clone());
    tokio::spawn(async move { drive::to_its_end(&core, &going, effects).await });
    Ok(kept)
}

fn node(core: &Core, environment: &Environment) -> PreflightNode {
    PreflightNode {
        environment: environment.id.clone(),
        name: environment.name.clone(),
        zone: environment.zone.clone(),
        address: environment.address.clone(),
        readiness: core.hub().readiness(&environment.id),
    }
}

fn started_event(names: &[&str], request: &PreflightRequest, now_ms: u64) -> NewEvent {
    let names = names.join(", ");
    let text = Text::new(format!("预检开始：{names}"), format!("a preflight of {names} begins"));
    let event = NewEvent::new(now_ms, "preflight.started", text, request.by.clone());
    match &request.launch {
        Some(launch) => event.about_task(&launch.task),
        None => event,
    }
}
