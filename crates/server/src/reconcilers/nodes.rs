//! Says to each node what is wanted of it, and lets time pass for tasks that wait for it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use fermi_api::link::ServerMessage;
use fermi_domain::environment::EnvironmentStatus;
use fermi_domain::fleet::Liveness;
use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::principal::Principal;
use fermi_domain::task::{ClockNote, DesiredState, Moment, NodeRun, Spans, Task, TaskInput};
use fermi_store::{StoreError, Transaction, UpdateError, WriteError};
use nix::time::{ClockId, clock_gettime};

use crate::assignment::{self, AssignmentError};
use crate::background::BackgroundLoop;
use crate::core::Core;
use crate::hub::Delivery;
use crate::lifecycle::{self, Cause, LifecycleError};
use crate::preflights::{self, Gate};

pub struct Nodes {
    core: Core,
    began: Instant,
    spans: Spans,
    /// Both clocks as they were noted last.
    clocks: Option<ClockNote>,
}

impl Nodes {
    pub fn new(core: &Core) -> Self {
        Self { core: core.clone(), began: Instant::now(), spans: Spans::default(), clocks: None }
    }

    fn now(&self) -> Moment {
        let monotonic_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Moment { wall_ms: self.core.now_ms(), monotonic_ms }
    }

    /// A wall clock that was set, while the server was up or while it was not, makes nothing longer or shorter.
    async fn mind_clock(&mut self) -> Result<(), StoreError> {
        let last = match self.clocks.take() {
            Some(last) => Some(last),
            None => self.core.store().read(|view| view.clock_note()).await?,
        };
        let now = clock_note(self.core.now_ms());
        let set_by = last.as_ref().and_then(|last| last.set_by(&now));
        if let Some(last) = last.filter(|last| last.boot == now.boot && set_by.is_none()) {
            self.clocks = Some(last);
            return Ok(());
        }
        let noted = now.clone();
        let written = self.core.store().write(move |tx| note_clocks(tx, &noted, set_by)).await;
        written.map_err(WriteError::<LifecycleError>::flatten).or_else(store_error)?;
        if let Some(by_ms) = set_by {
            tracing::warn!(by_s = by_ms / 1_000, "the wall clock was set; what lasts is counted on as if it was not");
        }
        self.clocks = Some(now);
        Ok(())
    }

    fn lasted(&mut self, task: &Task) -> Lasted {
        let now = self.now();
        let mut since = |began_ms: Option<u64>| self.spans.lasted_ms(&task.id, began_ms, now);
        let (phase_ms, placed_ms) = (since(task.phase_since_ms), since(task.placed_ms));
        Lasted { phase_ms, unheld_ms: self.spans.unheld_ms(&task.id, phase_ms, now), placed_ms }
    }
}

struct Lasted {
    /// How long it has been in its phase.
    phase_ms: u64,
    /// How much of that came after it was last held back, and after the server started.
    unheld_ms: u64,
    /// How long it has had its workers.
    placed_ms: u64,
}

/// Whether a task may start what it wants to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Free,
    HeldBack,
}

impl BackgroundLoop for Nodes {
    const NAME: &'static str = "nodes";
    const PERIOD: Duration = Duration::from_millis(500);

    async fn woken(&mut self) {
        self.core.bells().nodes.notified().await;
    }

    /// A task that cannot be stored does not hold up the others; the run has failed all the same.
    async fn run(&mut self) -> Result<(), StoreError> {
        let core = self.core.clone();
        // A disk that takes no note of the time holds up no order.
        let minded = self.mind_clock().await;
        let tasks = core.store().read(|view| view.live_tasks()).await?;
        let tasks: Vec<Task> = tasks.into_iter().map(|task| task.value).collect();
        let live: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
        self.spans.keep(|task| live.contains(task));
        preflights::call_off(&core, &tasks);
        let known = core.known_environments();
        let lost: HashSet<&EnvironmentId> =
            known.iter().filter(|known| known.status == EnvironmentStatus::Lost).map(|known| &known.id).collect();
        let mut outcome = minded;
        for task in &tasks {
            let lasted = self.lasted(task);
            match reconcile(&core, task, lasted, &lost).await {
                Ok(Start::Free) => {}
                Ok(Start::HeldBack) => self.spans.held_back(&task.id, self.now()),
                Err(error) => {
                    tracing::error!(task = %task.id, %error, "a task could not be brought on");
                    outcome = Err(error);
                }
            }
        }
        outcome
    }
}

/// Both clocks now.
fn clock_note(wall_ms: u64) -> ClockNote {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let since = clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or_default();
    let boot_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    ClockNote { boot: boot.trim().to_owned(), wall_ms, boot_ms }
}

/// In one transaction, so that nothing is moved twice.
fn note_clocks(tx: &mut Transaction<'_>, now: &ClockNote, set_by: Option<i64>) -> Result<(), LifecycleError> {
    if let Some(by_ms) = set_by {
        let cause = Cause { principal: Principal::System, now_ms: now.wall_ms };
        for task in tx.live_tasks()? {
            lifecycle::apply(tx, &task.value.id, [TaskInput::ClockSet { by_ms }], &cause)?;
        }
    }
    Ok(tx.put_clock_note(now)?)
}

async fn reconcile(
    core: &Core,
    task: &Task,
    lasted: Lasted,
    lost: &HashSet<&EnvironmentId>,
) -> Result<Start, StoreError> {
    let is_lost = |id: &EnvironmentId| lost.contains(id);
    // Also what came to count on a machine after it was declared lost.
    let without_lease = task.nodes_without_lease(|id| core.hub().silent_for(id));
    // What is applied here may end the task: what is launched must not go by how it was before.
    let mut may_launch = true;
    for node in task.lost_nodes(is_lost).into_iter().chain(without_lease) {
        may_launch = false;
        apply(core, task, TaskInput::NodeLost { node }).await?;
    }
    let is_held = match preflights::gate(core, task).await? {
        Gate::After(input) => return apply(core, task, input).await.map(|()| Start::HeldBack),
        Gate::Held => true,
        Gate::Open => core.hold_of(task).is_some(),
    };
    let connected_ms = |id: &EnvironmentId| {
        let span = core.hub().connected_for(id)?;
        u64::try_from(span.as_millis()).ok()
    };
    if task.is_start_overdue(lasted.unheld_ms) && !is_held {
        may_launch = false;
        apply(core, task, TaskInput::StartOverdue).await?;
    } else if task.is_stop_overdue(lasted.phase_ms, connected_ms) {
        apply(core, task, TaskInput::StopOverdue).await?;
    } else if task.is_over_limit(lasted.placed_ms) {
        apply(core, task, TaskInput::TimeLimitReached).await?;
    } else if task.is_due(core.now_ms()) {
        apply(core, task, TaskInput::TimePassed).await?;
    } else if task.is_abandoned(|id| core.hub().liveness(id) == Liveness::Offline) {
        apply(core, task, TaskInput::CoordinatorUnreachable).await?;
    }
    for (node, desired) in task.nodes.iter().zip(task.desired_states()) {
        if desired != DesiredState::Launch || may_launch && !is_held {
            tell(core, task, node, desired).await?;
        }
    }
    Ok(if is_held { Start::HeldBack } else { Start::Free })
}

async fn apply(core: &Core, task: &Task, input: TaskInput) -> Result<(), StoreError> {
    core.apply(&task.id, input, Principal::System).await.map(|_| ()).or_else(store_error)
}

/// A task that was deleted or changed since it was read is seen by the next run as it is then.
fn store_error(error: LifecycleError) -> Result<(), StoreError> {
    match error {
        LifecycleError::Store(error) | LifecycleError::Update(UpdateError::Store(error)) => Err(error),
        LifecycleError::NotFound(_) | LifecycleError::Update(_) => {
            tracing::info!(%error, "a task has changed in the meantime");
            Ok(())
        }
    }
}

async fn tell(core: &Core, task: &Task, node: &NodeRun, desired: DesiredState) -> Result<(), StoreError> {
    let run = task.run_key(node);
    let hub = core.hub();
    let environment = &node.environment;
    let send = |what: &'static str, message: ServerMessage| {
        if hub.send_once(environment, &run, what, || message) == Delivery::Now {
            tracing::info!(task = %task.id, %environment, %run, what, "a node was told what is wanted");
        }
    };
    match desired {
        DesiredState::Rest => {}
        DesiredState::Stop => send("stop", ServerMessage::Stop { run: run.clone() }),
        DesiredState::Kill => send("kill", ServerMessage::Kill { run: run.clone() }),
        // Making an assignment asks the framework for the whole launch, which is not done for nobody.
        DesiredState::Launch if !hub.can_send(environment, &run, "launch") => {}
        DesiredState::Launch => match assignment::of(core, task, node).await {
            Ok(assignment) => send("launch", ServerMessage::Launch(Box::new(assignment))),
            Err(AssignmentError::Refused(message)) => {
                apply(core, task, TaskInput::LaunchFailed { node: node.node_rank, message }).await?;
            }
            Err(AssignmentError::Store(error)) => return Err(error),
        },
    }
    Ok(())
}
