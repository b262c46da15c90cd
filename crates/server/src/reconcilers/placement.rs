//! Gives workers to the tasks that wait for them, in the order of the queue.

use std::collections::HashMap;
use std::time::Duration;

use fermi_domain::environment::Environment;
use fermi_domain::explain::Summary;
use fermi_domain::fleet::Liveness;
use fermi_domain::ids::{EnvironmentId, TaskId, WorkerId};
use fermi_domain::language::{Explained, Text};
use fermi_domain::phase::TaskPhase;
use fermi_domain::placement::{are_holders_back, ranks_on};
use fermi_domain::principal::Principal;
use fermi_domain::queue::{Decision, Preempt, Start};
use fermi_domain::rank_map::RankMap;
use fermi_domain::task::{Task, TaskInput};
use fermi_store::leases::LeaseError;
use fermi_store::tasks::QueueCursor;
use fermi_store::{StoreError, Transaction, WriteError};
use tokio::time::Instant;

use crate::background::BackgroundLoop;
use crate::core::Core;
use crate::lifecycle::{self, Cause, Changed, LifecycleError};
use crate::restored::Restored;

/// Tasks that are read at once.
const PAGE: usize = 256;
/// Tasks that are over and count in the shares of their users, when a server starts.
const MOST_CHARGED: usize = 1_000;
/// How long the tasks in the queue are trusted to be those that are known.
const COUNTED_AFTER: Duration = Duration::from_secs(5);
/// In a longer queue those that have just come are told when they are asked about, since each answer is a walk along it.
const LONG: usize = 1_000;
/// How many tasks that have just come are told in detail why they wait; `explain` tells the others when they are asked about.
const MOST_EXPLAINED: usize = 64;

/// After a start, machines that have workers of tasks are waited for that long: what is kept for the first in line must not
/// depend on which of them is back first.
const SETTLES: Duration = Duration::from_secs(5);

pub struct Placing {
    core: Core,
    seen: Option<Seen>,
    began: Instant,
}

/// What the last look has shown.
struct Seen {
    openings: u64,
    leases: HashMap<WorkerId, TaskId>,
    /// What was held back after a restore.
    restored: Restored,
    /// When leases, and when tasks, were held against the store.
    compared: Instant,
    counted: Instant,
}

impl Placing {
    pub fn new(core: &Core) -> Self {
        Self { core: core.clone(), seen: None, began: Instant::now() }
    }

    /// Whether all machines that have workers of tasks are back, or have had their time.
    async fn is_settled(&self) -> Result<bool, StoreError> {
        if self.began.elapsed() >= SETTLES {
            return Ok(true);
        }
        let leases = self.core.store().read(|view| view.leases()).await?;
        let is_here = |id: &EnvironmentId| self.core.hub().liveness(id) == Liveness::Here;
        Ok(are_holders_back(&self.core.known_environments(), |worker| leases.contains_key(worker), is_here))
    }

    async fn look(&mut self) -> Result<(), StoreError> {
        let is_new = |seen: &&Seen| seen.openings != self.core.openings() && seen.restored != *self.core.restored();
        if self.seen.as_ref().filter(is_new).is_some() {
            // Any task may be held back now, or no longer.
            self.seen = None;
        }
        match self.seen.as_ref() {
            None => self.fill().await?,
            Some(seen) => {
                if seen.compared.elapsed() >= Self::PERIOD {
                    self.compare().await?;
                }
                self.follow_leases().await?;
                self.follow_tasks().await?;
            }
        }
        if self.is_settled().await? { self.place().await } else { Ok(()) }
    }

    /// Makes the queue from what is stored.
    async fn fill(&mut self) -> Result<(), StoreError> {
        let core = &self.core;
        let (openings, now_ms) = (core.openings(), core.now_ms());
        let ended = core.store().read(|view| view.ended_tasks(MOST_CHARGED)).await?;
        let leases = core.store().read(|view| view.leases()).await?;
        {
            let scheduler = &mut *core.scheduler();
            scheduler.clear();
            ended.iter().for_each(|task| scheduler.charge(&task.value, now_ms));
        }
        core.take_stirred();
        self.take_environments();
        let (restored, now) = ((*self.core.restored()).clone(), Instant::now());
        self.seen = Some(Seen { openings, leases: HashMap::new(), restored, compared: now, counted: now });
        self.take_leases(leases).await?;
        let mut after = None;
        loop {
            let page = self.core.store().read(move |view| view.queued_tasks(after, PAGE)).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = QueueCursor::of(&last.value);
            page.into_iter().filter(|task| task.value.phase == TaskPhase::Queued).for_each(|task| self.add(task.value));
        }
    }

    fn take_environments(&self) {
        let core = &self.core;
        let mut environments = core.known_environments().to_vec();
        for environment in &mut environments {
            core.restored().bar(environment);
        }
        let hold = |task: &Task| hold(core, task);
        core.scheduler().set_environments(&environments, hold, core.now_ms());
    }

    async fn take_leases(&mut self, leases: HashMap<WorkerId, TaskId>) -> Result<(), StoreError> {
        let core = &self.core;
        let mut unknown = core.scheduler().set_leases(&leases, core.now_ms());
        for task in read_tasks(core, unknown.keys().cloned().collect()).await? {
            let workers = unknown.remove(&task.id).unwrap_or_default();
            core.scheduler().set_running(&task, workers, core.now_ms());
        }
        for (id, workers) in unknown {
            // Also those of a task that cannot be read are taken.
            core.scheduler().set_held(&id, workers, core.now_ms());
        }
        if let Some(seen) = &mut self.seen {
            seen.leases = leases;
        }
        Ok(())
    }

    /// Environments and leases, where they have changed.
    async fn follow_leases(&mut self) -> Result<(), StoreError> {
        let openings = self.core.openings();
        let Some(seen) = self.seen.as_mut().filter(|seen| seen.openings != openings) else { return Ok(()) };
        seen.openings = openings;
        let leases = self.core.store().read(|view| view.leases()).await?;
        self.take_leases(leases).await?;
        self.take_environments();
        Ok(())
    }

    /// Tasks that were stopped while they waited, or wait again.
    async fn follow_tasks(&mut self) -> Result<(), StoreError> {
        let stirred: Vec<TaskId> = self.core.take_stirred().into_iter().collect();
        if stirred.is_empty() {
            return Ok(());
        }
        let found = read_tasks(&self.core, stirred.clone()).await?;
        let mut queued: HashMap<TaskId, Task> = found
            .into_iter()
            .filter(|task| task.phase == TaskPhase::Queued)
            .map(|task| (task.id.clone(), task))
            .collect();
        for id in stirred {
            let waits = self.core.scheduler().waits(&id);
            match queued.remove(&id) {
                Some(task) if !waits => self.add(task),
                None if waits => self.core.scheduler().forget(&id, self.core.now_ms()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Once in a while, what is known is held against the store: what has changed without word is found then.
    async fn compare(&mut self) -> Result<(), StoreError> {
        let core = self.core.clone();
        let Some(seen) = &mut self.seen else { return Ok(()) };
        seen.compared = Instant::now();
        if core.store().read(|view| view.leases()).await? != seen.leases {
            // What is known of the environments has missed it as well.
            core.refresh_environments().await?;
        }
        if seen.counted.elapsed() < COUNTED_AFTER {
            return Ok(());
        }
        seen.counted = Instant::now();
        let queued = core.store().read(|view| view.queued_ids()).await?;
        let (gone, missing) = {
            let scheduler = core.scheduler();
            let gone: Vec<TaskId> = scheduler.waiting().filter(|id| !queued.contains(*id)).cloned().collect();
            let missing: Vec<TaskId> = queued.into_iter().filter(|id| !scheduler.waits(id)).collect();
            (gone, missing)
        };
        for id in gone {
            core.scheduler().forget(&id, core.now_ms());
        }
        for task in read_tasks(&core, missing).await? {
            // One that initializes is placed as a new one.
            if task.phase == TaskPhase::Queued {
                self.add(task);
            }
        }
        self.tell_long_waits().await
    }

    /// Tells of those that have come to wait for long.
    async fn tell_long_waits(&self) -> Result<(), StoreError> {
        let core = &self.core;
        let now_ms = core.now_ms();
        let long = core.scheduler().long_waits(now_ms);
        if long.is_empty() {
            return Ok(());
        }
        let cause = Cause { principal: Principal::System, now_ms };
        let told = core.store().write(move |tx| {
            for (id, reason) in long {
                apply(tx, &id, TaskInput::WaitsLong { reason }, &cause)?;
            }
            Ok(())
        });
        told.await.map_err(WriteError::<StoreError>::flatten)?;
        core.bells().webhooks.notify_one();
        Ok(())
    }

    fn add(&self, task: Task) {
        let held = hold(&self.core, &task);
        self.core.scheduler().add(task, held, self.core.now_ms());
    }

    /// Decides, and stores what was decided together with why those wait that have just come.
    async fn place(&mut self) -> Result<(), StoreError> {
        let mut before = None;
        loop {
            let page = self.core.store().read(|view| view.initializing_tasks(PAGE)).await?;
            let new: Vec<TaskId> = page.iter().map(|task| task.value.id.clone()).collect();
            page.into_iter().for_each(|task| self.add(task.value));
            // One that could not be dealt with is left for the next look.
            let is_last = new.len() < PAGE || new.first() == before.as_ref();
            before = new.first().cloned();
            self.carry_out(new).await?;
            if is_last {
                return Ok(());
            }
        }
    }

    async fn carry_out(&mut self, new: Vec<TaskId>) -> Result<(), StoreError> {
        let core = &self.core;
        let now_ms = core.now_ms();
        let plan = {
            let scheduler = &mut *core.scheduler();
            let decisions = scheduler.decide(now_ms);
            let overdue = scheduler.overdue(now_ms);
            let mut waiting = Vec::new();
            for id in new {
                if scheduler.waits(&id) {
                    let is_told = waiting.len() < MOST_EXPLAINED && scheduler.queue().waiting() <= LONG;
                    let reason = if is_told { scheduler.explain(&id, now_ms) } else { None };
                    waiting.push((id, reason.map_or_else(|| Summary::WaitsForWorkers.text(), |reason| reason.text())));
                }
            }
            waiting.extend(scheduler.reasons_to_tell(!decisions.is_empty(), now_ms));
            let first = scheduler.newly_first();
            Plan { decisions, overdue, waiting, first }
        };
        if plan.is_empty() {
            return Ok(());
        }
        let cause = Cause { principal: Principal::System, now_ms };
        let environments = core.known_environments();
        let stored = core.store().write(move |tx| plan.store(tx, &environments, &cause)).await;
        let done = stored.map_err(WriteError::flatten)?;
        done.changed.iter().chain(&done.waiting).for_each(Changed::log);
        let has_started = !done.changed.is_empty();
        let mut is_missed = false;
        for (id, failed) in done.failed {
            match failed {
                NotStarted::Gone => core.scheduler().forget(&id, now_ms),
                NotStarted::Held => {
                    is_missed = true;
                    core.scheduler().not_started(&id, now_ms);
                }
                NotStarted::Refused { task, reason } => core.scheduler().add(*task, Some(reason), now_ms),
            }
        }
        if is_missed {
            // Leases are other than known.
            self.seen = None;
        }
        if has_started {
            core.refresh_environments().await?;
            core.bells().nodes.notify_one();
        }
        Ok(())
    }
}

impl BackgroundLoop for Placing {
    const NAME: &'static str = "placement";
    const PERIOD: Duration = Duration::from_millis(500);
    /// A flood of requests is answered, and not looked at one by one.
    const BREATH: Duration = Duration::from_millis(5);

    async fn woken(&mut self) {
        self.core.bells().placement.notified().await;
    }

    async fn run(&mut self) -> Result<(), StoreError> {
        let looked = self.look().await;
        if looked.is_err() {
            self.reset();
        }
        looked
    }

    /// What the queue has given may not have been stored.
    fn reset(&mut self) {
        self.seen = None;
    }
}

/// Why a task takes no workers after a restore. One whose environments are not named may still run somewhere.
fn hold(core: &Core, task: &Task) -> Option<Text> {
    core.hold(&task.id, |id: &EnvironmentId| task.spec.distributed.node_ids.contains(id))
}

async fn read_tasks(core: &Core, ids: Vec<TaskId>) -> Result<Vec<Task>, StoreError> {
    if ids.is_empty() { Ok(Vec::new()) } else { core.store().read(move |view| view.readable_tasks(&ids)).await }
}

/// What is to be stored at once.
struct Plan {
    decisions: Vec<Decision>,
    /// Asked to give way, and not gone in time.
    overdue: Vec<TaskId>,
    /// Why those wait that have just come, and those that are next.
    waiting: Vec<(TaskId, Text)>,
    /// Those that have come to be the first in line.
    first: Vec<TaskId>,
}

/// What has become of it.
#[derive(Default)]
struct Done {
    /// Those that start or give way.
    changed: Vec<Changed>,
    waiting: Vec<Changed>,
    failed: Vec<(TaskId, NotStarted)>,
}

/// Why a task has not started.
enum NotStarted {
    /// It does not wait any more.
    Gone,
    /// Another task has one of its workers.
    Held,
    /// Its ranks cannot be given.
    Refused { task: Box<Task>, reason: Text },
}

impl Plan {
    fn is_empty(&self) -> bool {
        self.decisions.is_empty() && self.overdue.is_empty() && self.waiting.is_empty() && self.first.is_empty()
    }

    fn store(self, tx: &mut Transaction<'_>, known: &[Environment], cause: &Cause) -> Result<Done, StoreError> {
        let mut done = Done::default();
        for decision in self.decisions {
            match decision {
                Decision::Start(start) => match begin(tx, known, &start, cause)? {
                    Ok(changed) => done.changed.push(changed),
                    Err(failed) => done.failed.push((start.task, failed)),
                },
                Decision::Preempt(preempt) => {
                    done.changed.extend(apply(tx, &preempt.victim, give_way(&preempt), cause)?);
                }
            }
        }
        for id in self.overdue {
            done.changed.extend(apply(tx, &id, TaskInput::GiveWayOverdue, cause)?.filter(|it| it.has_changed));
        }
        for (id, reason) in self.waiting {
            done.waiting.extend(apply(tx, &id, TaskInput::MustWait { reason }, cause)?);
        }
        for id in self.first {
            apply(tx, &id, TaskInput::FirstInLine, cause)?;
        }
        Ok(done)
    }
}

fn give_way(preempt: &Preempt) -> TaskInput {
    TaskInput::GiveWay { reason: preempt.text() }
}

/// Leases the workers of a task and lets it begin.
fn begin(
    tx: &mut Transaction<'_>,
    known: &[Environment],
    start: &Start,
    cause: &Cause,
) -> Result<Result<Changed, NotStarted>, StoreError> {
    let waits = |task: &Task| matches!(task.phase, TaskPhase::Initializing | TaskPhase::Queued);
    let Some(task) = tx.task(&start.task)?.map(|found| found.value).filter(waits) else {
        return Ok(Err(NotStarted::Gone));
    };
    let rank_map: RankMap = match ranks_on(&task.spec, &start.workers, known) {
        Ok(rank_map) => rank_map,
        Err(error) => {
            let reason = error.text();
            apply(tx, &start.task, TaskInput::MustWait { reason: reason.clone() }, cause)?;
            return Ok(Err(NotStarted::Refused { task: Box::new(task), reason }));
        }
    };
    let workers = rank_map.slots().iter().map(|slot| (&slot.worker, &slot.environment));
    match tx.lease(workers, &start.task, task.generation) {
        Ok(()) => {}
        Err(LeaseError::Held { .. }) => return Ok(Err(NotStarted::Held)),
        Err(LeaseError::NoTask) => return Ok(Err(NotStarted::Gone)),
        Err(LeaseError::Store(error)) => return Err(error),
    }
    let Some(changed) = apply(tx, &start.task, TaskInput::Placed { rank_map }, cause)? else {
        return Ok(Err(NotStarted::Gone));
    };
    if let Some(text) = start.text() {
        lifecycle::note(tx, &changed.task, "task.placed", text, cause)?;
    }
    Ok(Ok(changed))
}

/// Nothing of a task that is gone, or was changed since it was read.
fn apply(
    tx: &mut Transaction<'_>,
    id: &TaskId,
    input: TaskInput,
    cause: &Cause,
) -> Result<Option<Changed>, StoreError> {
    match lifecycle::apply(tx, id, [input], cause) {
        Ok(changed) => Ok(Some(changed)),
        Err(LifecycleError::NotFound(_) | LifecycleError::Update(_)) => Ok(None),
        Err(LifecycleError::Store(error)) => Err(error),
    }
}
