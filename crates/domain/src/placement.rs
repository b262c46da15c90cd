//! Which tasks start, and on which workers: the [`Queue`] as it is fed with tasks, environments and leases.
//!
//! A task that cannot be asked for as things are (an environment that it names is gone, or it is held back after a restore)
//! stands aside and takes no workers meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::environment::{Environment, EnvironmentStatus};
use crate::explain::Summary;
use crate::group;
use crate::ids::{EnvironmentId, TaskId, WorkerId};
use crate::language::{Explained, Text};
use crate::queue::{
    self, Decision, Need, Offer, Preemption, Queue, Request, Rules, Running, Start, Stopping, Waiting, Wish,
};
use crate::rank_map::{self, RankMap, RankMapError};
use crate::task::{Selection, Standby, StopCause, Task, TaskSpec};
use crate::units::Seconds;

/// Gives workers to tasks.
#[derive(Clone, Debug, Default)]
pub struct Scheduler {
    /// Shared with those who look at it as it was: then a change makes a copy.
    queue: Arc<Queue>,
    environments: Vec<Environment>,
    aside: BTreeMap<TaskId, Aside>,
    /// Tasks that wait and whose lost workers may be replaced by those that stand by.
    replaceable: HashMap<TaskId, Task>,
    /// Since when those wait of whom it has not been told that they wait for long.
    untold: HashMap<TaskId, u64>,
    /// Of these it is stored that they are first in line.
    first: HashSet<TaskId>,
    /// Machines that serve again, or no longer, since the reasons were told.
    turned: HashSet<String>,
    /// When it was last decided, if nothing has changed since.
    decided_ms: Option<u64>,
}

/// How long a decision stands where nothing changes: those who wait grow older, and deadlines pass.
const DECISION_STANDS_MS: u64 = 1_000;

/// A task that stands aside.
#[derive(Clone, Debug)]
struct Aside {
    task: Task,
    reason: Text,
}

/// Why a task waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitReason {
    Aside(Text),
    Queued(Box<Waiting>),
}

/// What would become of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prospect {
    Starts(Start),
    Waits(WaitReason),
}

impl Prospect {
    pub fn text(&self) -> Text {
        match self {
            Self::Starts(start) => {
                let now = Text::new("可以立即启动", "it would start at once");
                start.text().map_or(now.clone(), |why| now.followed_by(&why))
            }
            Self::Waits(reason) => {
                let reason = reason.text();
                Text::new(format!("需要排队：{}", reason.zh), format!("it would wait: {}", reason.en))
            }
        }
    }
}

/// With so many tasks in the queue none is tried out.
const MOST_TRIED: usize = 10_000;
/// Of so many the reasons are kept up to date.
const MOST_TOLD: usize = 16;
/// Of so many something is stored at a time.
const MOST_AT_A_TIME: usize = 64;

impl WaitReason {
    /// A machine that is out of reach, on which a task has workers for which this one waits.
    pub fn silent_machine(&self) -> Option<&str> {
        match self {
            Self::Aside(_) => None,
            Self::Queued(waiting) => waiting.silent_machine(),
        }
    }

    pub fn text(&self) -> Text {
        match self {
            Self::Aside(text) => text.clone(),
            Self::Queued(waiting) => waiting.text(),
        }
    }
}

impl Scheduler {
    pub fn new(rules: Rules) -> Self {
        Self { queue: Arc::new(Queue::new(rules)), ..Self::default() }
    }

    /// Forgets everything but the rules.
    pub fn clear(&mut self) {
        *self = Self::new(self.queue.rules().clone());
    }

    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// What a user has used before the server started.
    pub fn charge(&mut self, task: &Task, now_ms: u64) {
        if let (Some(from), Some(to)) = (task.placed_ms.or(task.started_ms), task.ended_ms) {
            let request = Request::from_task(task, Need::Workers(Vec::new()));
            Arc::make_mut(&mut self.queue).charge(&request, u64::from(task.world_size()), from, to, now_ms);
        }
    }

    /// The environments as they are now. Those that stand aside are looked at again; `hold` says why one is held back.
    pub fn set_environments(
        &mut self,
        environments: &[Environment],
        hold: impl Fn(&Task) -> Option<Text>,
        now_ms: u64,
    ) {
        if self.environments == environments && self.aside.is_empty() && self.replaceable.is_empty() {
            return;
        }
        self.decided_ms = None;
        let ids: HashSet<&EnvironmentId> = environments.iter().map(|it| &it.id).collect();
        for gone in self.environments.iter().filter(|known| !ids.contains(&known.id)) {
            Arc::make_mut(&mut self.queue).remove_environment(&gone.id);
        }
        for environment in environments {
            Arc::make_mut(&mut self.queue).set_environment(Offer::of(environment));
        }
        let served: HashMap<&EnvironmentId, bool> =
            self.environments.iter().map(|known| (&known.id, known.status.is_reachable())).collect();
        let has_turned =
            |it: &&Environment| served.get(&it.id).is_some_and(|serves| *serves != it.status.is_reachable());
        self.turned.extend(environments.iter().filter(has_turned).map(|it| it.name.clone()));
        self.environments = environments.to_vec();
        let aside = std::mem::take(&mut self.aside);
        let replaceable = std::mem::take(&mut self.replaceable);
        for task in aside.into_values().map(|aside| aside.task) {
            let held = hold(&task);
            self.add(task, held, now_ms);
        }
        for task in replaceable.into_values() {
            let held = hold(&task);
            // One that needs the same as before keeps its place and what is kept for it.
            let is_same =
                held.is_none() && self.need(&task.spec).is_ok_and(|need| self.queue.need(&task.id) == Some(&need));
            if is_same {
                self.replaceable.insert(task.id.clone(), task);
            } else {
                self.add(task, held, now_ms);
            }
        }
    }

    /// Who has which worker, as it is stored. Answers with the tasks that have workers which the queue did not give:
    /// [`Scheduler::set_running`] makes them known. To be told before the environments, whose tasks look at who has what.
    pub fn set_leases(&mut self, leases: &HashMap<WorkerId, TaskId>, now_ms: u64) -> BTreeMap<TaskId, Vec<WorkerId>> {
        let mut held: HashMap<&TaskId, HashSet<&WorkerId>> = HashMap::new();
        for (worker, task) in leases {
            held.entry(task).or_default().insert(worker);
        }
        let is_freed =
            |task: &TaskId, worker: &WorkerId| !held.get(task).is_some_and(|workers| workers.contains(worker));
        let freed: Vec<(TaskId, Vec<WorkerId>)> = self
            .queue
            .running()
            .map(|running| (&running.request.task, &running.workers))
            .map(|(task, workers)| (task.clone(), workers.iter().filter(|it| is_freed(task, it)).cloned().collect()))
            .collect();
        for (task, workers) in freed.iter().filter(|(_, workers): &&(_, Vec<WorkerId>)| !workers.is_empty()) {
            self.decided_ms = None;
            Arc::make_mut(&mut self.queue).freed(task, workers, now_ms);
        }
        let knows = |task: &TaskId, workers: &HashSet<&WorkerId>| {
            self.queue.held_by(task).is_some_and(|running| running.workers.len() == workers.len())
        };
        let unknown = held.iter().filter(|(task, workers)| !knows(task, workers));
        unknown
            .map(|(task, workers)| ((*task).clone(), workers.iter().map(|worker| (*worker).clone()).collect()))
            .collect()
    }

    /// A task has these workers.
    pub fn set_running(&mut self, task: &Task, workers: Vec<WorkerId>, now_ms: u64) {
        self.forget(&task.id, now_ms);
        let started_ms = task.placed_ms.or(task.started_ms).unwrap_or(task.created_ms);
        let gives_way = task.stop.is_some_and(|stop| stop.cause == StopCause::GivesWay);
        let grace = match self.queue.rules().preemption {
            Preemption::After(grace) => grace.as_millis(),
            Preemption::Off => task.spec.policies.stop.planned_ms(),
        };
        let since = task.phase_since_ms.unwrap_or(now_ms);
        let stopping = if gives_way { Stopping::By(since.saturating_add(grace)) } else { Stopping::No };
        let request = Request::from_task(task, Need::Workers(workers.clone()));
        Arc::make_mut(&mut self.queue).set_running(Running { request, workers, started_ms, stopping }, now_ms);
    }

    /// A task of which nothing else is known has these workers.
    pub fn set_held(&mut self, task: &TaskId, workers: Vec<WorkerId>, now_ms: u64) {
        self.forget(task, now_ms);
        let request = Request::unknown(task.clone(), Need::Workers(workers.clone()));
        Arc::make_mut(&mut self.queue)
            .set_running(Running { request, workers, started_ms: now_ms, stopping: Stopping::No }, now_ms);
    }

    /// A task waits; `held` says why it is held back, if it is.
    pub fn add(&mut self, task: Task, held: Option<Text>, now_ms: u64) {
        self.decided_ms = None;
        // What it had is given back, or it would not wait.
        Arc::make_mut(&mut self.queue).ended(&task.id, now_ms);
        self.aside.remove(&task.id);
        if task.first_in_line {
            self.first.insert(task.id.clone());
        }
        if !task.told_long_wait {
            self.untold.insert(task.id.clone(), task.phase_since_ms.unwrap_or(task.created_ms));
        }
        let need = match held {
            Some(reason) => Err(reason),
            None => self.need(&task.spec).map_err(|error| error.text()),
        };
        match need {
            Ok(need) => Arc::make_mut(&mut self.queue).insert(Request::from_task(&task, need)),
            Err(reason) => {
                Arc::make_mut(&mut self.queue).remove(&task.id);
                self.aside.insert(task.id.clone(), Aside { task, reason });
                return;
            }
        }
        if task.spec.policies.standby == Standby::Replace && !task.spec.distributed.standby.is_empty() {
            self.replaceable.insert(task.id.clone(), task);
        }
    }

    fn need(&self, spec: &TaskSpec) -> Result<Need, RankMapError> {
        if let Selection::Auto(auto) = &spec.selection {
            return Ok(Need::Auto(Wish::of(auto)));
        }
        let replaced = group::replaced(spec, &self.environments, |worker| self.queue.holder(worker).is_none());
        let map = rank_map::of_spec(replaced.as_ref().unwrap_or(spec), &self.environments)?;
        Ok(Need::Workers(map.slots().iter().map(|slot| slot.worker.clone()).collect()))
    }

    /// A task neither waits nor runs any more.
    pub fn forget(&mut self, task: &TaskId, now_ms: u64) {
        self.decided_ms = None;
        self.aside.remove(task);
        self.replaceable.remove(task);
        self.untold.remove(task);
        self.first.remove(task);
        Arc::make_mut(&mut self.queue).remove(task);
        Arc::make_mut(&mut self.queue).ended(task, now_ms);
    }

    /// Who starts now, and who gives way. What cannot be carried out is told by [`Scheduler::not_started`] or
    /// [`Scheduler::forget`].
    pub fn decide(&mut self, now_ms: u64) -> Vec<Decision> {
        // A clock that was set back ends it too.
        let stands = |at: u64| (at..at.saturating_add(DECISION_STANDS_MS)).contains(&now_ms);
        if self.decided_ms.is_some_and(stands) {
            return Vec::new();
        }
        self.decided_ms = Some(now_ms);
        let decisions = Arc::make_mut(&mut self.queue).decide(now_ms);
        for decision in &decisions {
            if let Decision::Start(start) = decision {
                self.replaceable.remove(&start.task);
                self.untold.remove(&start.task);
                self.first.remove(&start.task);
            }
        }
        decisions
    }

    /// A copy to try a task out on; none where that would take long.
    pub fn for_trial(&self) -> Option<Self> {
        (self.queue.waiting() <= MOST_TRIED).then(|| self.clone())
    }

    /// What would become of a task that came now; a [`Scheduler::for_trial`] is used up by it.
    pub fn would(mut self, task: Task, now_ms: u64) -> Option<Prospect> {
        let id = task.id.clone();
        self.add(task, None, now_ms);
        let start = self.decide(now_ms).into_iter().find_map(|decision| match decision {
            Decision::Start(start) if start.task == id => Some(start),
            _ => None,
        });
        start.map(Prospect::Starts).or_else(|| self.explain(&id, now_ms).map(Prospect::Waits))
    }

    pub fn not_started(&mut self, task: &TaskId, now_ms: u64) {
        self.decided_ms = None;
        Arc::make_mut(&mut self.queue).not_started(task, now_ms);
    }

    /// Those that were asked to give way and have not done so in time.
    pub fn overdue(&self, now_ms: u64) -> Vec<TaskId> {
        let is_overdue = |running: &&Running| matches!(running.stopping, Stopping::By(at) if now_ms > at);
        self.queue.running().filter(is_overdue).map(|running| running.request.task.clone()).collect()
    }

    /// Those that have come to wait for long, and why; each once.
    pub fn long_waits(&mut self, now_ms: u64) -> Vec<(TaskId, Text)> {
        let Some(long) = self.queue.rules().long_wait.map(Seconds::as_millis) else { return Vec::new() };
        let is_long = |since: &u64| now_ms.saturating_sub(*since) >= long;
        let found = self.untold.iter().filter(|(_, since)| is_long(since));
        let found: Vec<TaskId> = found.map(|(task, _)| task.clone()).take(MOST_AT_A_TIME).collect();
        let is_long = self.queue.waiting() > MOST_TRIED;
        let told = found.into_iter().filter_map(|task| {
            self.untold.remove(&task);
            let reason = if is_long { None } else { Some(self.explain(&task, now_ms)?.text()) };
            Some((task, reason.unwrap_or_else(|| Summary::WaitsForWorkers.text())))
        });
        told.collect()
    }

    pub fn waits(&self, task: &TaskId) -> bool {
        self.queue.waits(task) || self.aside.contains_key(task)
    }

    /// All that wait.
    pub fn waiting(&self) -> impl Iterator<Item = &TaskId> {
        self.queue.tasks().chain(self.aside.keys())
    }

    /// Those that have come to be the first in line; each once.
    pub fn newly_first(&mut self) -> Vec<TaskId> {
        let kept = self.queue.reservations().map(|kept| &kept.task).filter(|task| !self.first.contains(*task));
        let new: Vec<TaskId> = kept.take(MOST_AT_A_TIME).cloned().collect();
        self.first.extend(new.iter().cloned());
        new
    }

    /// Why those wait whose reasons may be others than were told: for whom workers are kept, after something was decided or
    /// machines have turned; and who has named one of these machines.
    pub fn reasons_to_tell(&mut self, has_decided: bool, now_ms: u64) -> Vec<(TaskId, Text)> {
        let turned = std::mem::take(&mut self.turned);
        if !has_decided && turned.is_empty() {
            return Vec::new();
        }
        let queue = self.settled();
        let mut tasks: BTreeSet<&TaskId> = queue.reservations().map(|kept| &kept.task).take(MOST_TOLD).collect();
        if !turned.is_empty() && queue.waiting() <= MOST_TRIED {
            let is_named = |task: &&TaskId| match queue.need(task) {
                Some(Need::Workers(workers)) => workers.iter().any(|worker| turned.contains(worker.node())),
                Some(Need::Auto(_)) | None => false,
            };
            tasks.extend(queue.tasks().filter(is_named).take(MOST_TOLD));
        }
        let reason = |task: &TaskId| Some((task.clone(), queue.explain_as_is(task, now_ms)?.text()));
        tasks.into_iter().filter_map(reason).collect()
    }

    /// Why a task waits; none of a task that does not.
    pub fn explain(&mut self, task: &TaskId, now_ms: u64) -> Option<WaitReason> {
        self.question(task).answer(now_ms)
    }

    /// The question why a task waits, with all that its answer needs: who has asked it may let go of the scheduler first.
    pub fn question(&mut self, task: &TaskId) -> WaitQuestion {
        WaitQuestion {
            task: task.clone(),
            aside: self.aside.get(task).map(|aside| aside.reason.clone()),
            queue: self.settled(),
        }
    }

    /// The queue as it is now, with the environments counted.
    fn settled(&mut self) -> Arc<Queue> {
        if !self.queue.is_settled() {
            Arc::make_mut(&mut self.queue).settle();
        }
        Arc::clone(&self.queue)
    }
}

/// Why does this task wait?
#[derive(Clone, Debug)]
pub struct WaitQuestion {
    task: TaskId,
    aside: Option<Text>,
    queue: Arc<Queue>,
}

impl WaitQuestion {
    /// As things were when it was asked; none of a task that did not wait.
    pub fn answer(&self, now_ms: u64) -> Option<WaitReason> {
        match &self.aside {
            Some(reason) => Some(WaitReason::Aside(reason.clone())),
            None => self.queue.explain_as_is(&self.task, now_ms).map(|waiting| WaitReason::Queued(Box::new(waiting))),
        }
    }
}

/// Why the environments that are registered could not hold a task of launch mode `auto` if all were free; none where they
/// could, or where the task names its workers.
pub fn never_fits(spec: &TaskSpec, environments: &[Environment]) -> Option<Text> {
    let Selection::Auto(auto) = &spec.selection else { return None };
    let offers: Vec<Offer> = environments.iter().map(Offer::of).collect();
    queue::never_fits(&Wish::of(auto), &offers)
}

/// Whether every machine of which tasks hold workers is back, or given up. Until then what is kept for the first in line would
/// depend on which of them is back first.
pub fn are_holders_back(
    known: &[Environment],
    is_held: impl Fn(&WorkerId) -> bool,
    is_here: impl Fn(&EnvironmentId) -> bool,
) -> bool {
    let holds = |environment: &Environment| environment.workers().iter().any(|worker| is_held(&worker.id));
    known.iter().all(|it| it.status == EnvironmentStatus::Lost || is_here(&it.id) || !holds(it))
}

/// The ranks of a task on the workers that it was given.
pub fn ranks_on(spec: &TaskSpec, workers: &[WorkerId], known: &[Environment]) -> Result<RankMap, RankMapError> {
    rank_map::of_spec(&on_workers(spec, workers, known), known)
}

/// A task with exactly these workers: the nodes that it names in its order, then the others in theirs; the master stays if it
/// is among them.
pub fn on_workers(spec: &TaskSpec, workers: &[WorkerId], known: &[Environment]) -> TaskSpec {
    let mut spec = spec.clone();
    let distributed = &mut spec.distributed;
    let ids: HashMap<&str, &EnvironmentId> = known.iter().map(|it| (it.name.as_str(), &it.id)).collect();
    let mut chosen: BTreeMap<EnvironmentId, Vec<u32>> = BTreeMap::new();
    let mut given: Vec<EnvironmentId> = Vec::new();
    for worker in workers {
        let Some(id) = ids.get(worker.node()) else { continue };
        let numbers = chosen.entry((*id).clone()).or_default();
        if numbers.is_empty() {
            given.push((*id).clone());
        }
        numbers.push(worker.index());
    }
    distributed.node_ids.retain(|id| chosen.contains_key(id));
    let named: HashSet<EnvironmentId> = distributed.node_ids.iter().cloned().collect();
    distributed.node_ids.extend(given.into_iter().filter(|id| !named.contains(id)));
    let master = distributed.master_node.take().filter(|master| chosen.contains_key(master));
    distributed.master_node = master.or_else(|| distributed.node_ids.first().cloned());
    distributed.workers = chosen;
    spec
}

#[cfg(test)]
mod tests;
