//! Says to each node what is wanted of it, and lets time pass for tasks that wait for it.

use std::time::Duration;

use fermi_api::link::ServerWord;
use fermi_domain::phase::TaskPhase;
use fermi_domain::task::{Happening, NodeRun, NodeRunState, Task, Wish};

use super::rest;
use crate::assignment;
use crate::core::Core;
use crate::hub::Liveness;

const AT_LEAST_EVERY: Duration = Duration::from_millis(500);

pub async fn run(core: Core) {
    loop {
        if let Err(error) = look(&core).await {
            tracing::error!(%error, "nodes could not be looked after");
        }
        rest(&core.bells().nodes, AT_LEAST_EVERY).await;
    }
}

async fn look(core: &Core) -> Result<(), fermi_store::StoreError> {
    let tasks = core.store().read(|view| view.live_tasks()).await?;
    let now_ms = core.now_ms();
    for task in tasks.into_iter().map(|task| task.value) {
        if task.wake_at().is_some_and(|at| now_ms >= at) && task.is_swept() {
            happen(core, &task, Happening::TimePassed).await;
        } else if is_abandoned(core, &task) {
            happen(core, &task, Happening::CoordinatorUnreachable).await;
        }
        for (node, wish) in task.nodes.iter().zip(task.wishes()) {
            tell(core, &task, node, wish).await;
        }
    }
    Ok(())
}

async fn happen(core: &Core, task: &Task, happening: Happening) {
    if let Err(error) = core.happen(&task.id, happening).await {
        tracing::error!(task = %task.id, %error, "a task could not be changed");
    }
}

/// The others have ended themselves, and of the first node nothing is heard.
fn is_abandoned(core: &Core, task: &Task) -> bool {
    let Some((first, others)) = task.nodes.split_first() else { return false };
    let is_up = matches!(task.phase, TaskPhase::Starting | TaskPhase::Running | TaskPhase::Stopping);
    is_up
        && first.state == NodeRunState::Alive
        && core.hub().liveness(&first.environment) == Liveness::Offline
        && others.iter().all(|node| node.state == NodeRunState::Gone)
        && !others.is_empty()
}

async fn tell(core: &Core, task: &Task, node: &NodeRun, wish: Wish) {
    let run = task.run_key(node);
    let hub = core.hub();
    match wish {
        Wish::Rest => {}
        Wish::Stop => {
            hub.say_once(&node.environment, &run, "stop", || ServerWord::Stop { run: run.clone() });
        }
        Wish::Kill => {
            hub.say_once(&node.environment, &run, "kill", || ServerWord::Kill { run: run.clone() });
        }
        Wish::Launch if hub.liveness(&node.environment) == Liveness::Offline => {}
        // The launch is made only to be said; until the run is alive this is looked at twice a second.
        Wish::Launch if !hub.can_say(&node.environment, &run, "launch") => {}
        Wish::Launch => match assignment::of(core, task, node).await {
            Ok(assignment) => {
                hub.say_once(&node.environment, &run, "launch", || ServerWord::Launch(Box::new(assignment)));
            }
            Err(reason) => happen(core, task, Happening::LaunchFailed { node: node.node_rank, reason }).await,
        },
    }
}
