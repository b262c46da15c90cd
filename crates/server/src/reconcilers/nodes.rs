//! Says to each node what is wanted of it, and lets time pass for tasks that wait for it.

use std::time::Duration;

use fermi_api::link::ServerWord;
use fermi_domain::principal::Principal;
use fermi_domain::task::{Happening, NodeRun, Task, Wish};
use fermi_store::StoreError;

use crate::assignment;
use crate::background::BackgroundLoop;
use crate::core::Core;
use crate::hub::{Liveness, Said};

pub struct Nodes {
    core: Core,
}

impl Nodes {
    pub fn new(core: &Core) -> Self {
        Self { core: core.clone() }
    }
}

impl BackgroundLoop for Nodes {
    const NAME: &'static str = "nodes";
    const PERIOD: Duration = Duration::from_millis(500);

    async fn woken(&mut self) {
        self.core.bells().nodes.notified().await;
    }

    async fn run(&mut self) -> Result<(), StoreError> {
        let core = &self.core;
        let tasks = core.store().read(|view| view.live_tasks()).await?;
        let now_ms = core.now_ms();
        let is_offline = |id: &_| core.hub().liveness(id) == Liveness::Offline;
        for task in tasks.into_iter().map(|task| task.value) {
            if task.wake_at().is_some_and(|at| now_ms >= at) && task.is_swept() {
                happen(core, &task, Happening::TimePassed).await;
            } else if task.is_abandoned(is_offline) {
                happen(core, &task, Happening::CoordinatorUnreachable).await;
            }
            for (node, wish) in task.nodes.iter().zip(task.wishes()) {
                tell(core, &task, node, wish).await;
            }
        }
        Ok(())
    }
}

async fn happen(core: &Core, task: &Task, happening: Happening) {
    if let Err(error) = core.happen(&task.id, happening, Principal::System).await {
        tracing::error!(task = %task.id, %error, "a task could not be changed");
    }
}

async fn tell(core: &Core, task: &Task, node: &NodeRun, wish: Wish) {
    let run = task.run_key(node);
    let hub = core.hub();
    let environment = &node.environment;
    let say = |what: &'static str, word: ServerWord| {
        if hub.say_once(environment, &run, what, || word) == Said::Now {
            tracing::info!(task = %task.id, %environment, %run, what, "a node was told what is wanted");
        }
    };
    match wish {
        Wish::Rest => {}
        Wish::Stop => say("stop", ServerWord::Stop { run: run.clone() }),
        Wish::Kill => say("kill", ServerWord::Kill { run: run.clone() }),
        // Making an assignment asks the framework for the whole launch, which is not done for nobody.
        Wish::Launch if !hub.can_say(environment, &run, "launch") => {}
        Wish::Launch => match assignment::of(core, task, node).await {
            Ok(assignment) => say("launch", ServerWord::Launch(Box::new(assignment))),
            Err(reason) => happen(core, task, Happening::LaunchFailed { node: node.node_rank, reason }).await,
        },
    }
}
