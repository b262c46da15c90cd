//! The server: its rules are the real ones, its database is a value, and any write may fail.

mod admission;
mod disk;
mod duty;
mod kept;
mod placing;
mod reconcile;
mod requests;
mod uploaded;

pub use admission::Hello;
pub use disk::Death;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fermi_api::link::{AgentMessage, ServerMessage};
use fermi_domain::environment::{Duty, Environment, EnvironmentStatus};
use fermi_domain::fleet::{History, Identity, Liveness, StrayRun};
use fermi_domain::ids::{EnvironmentId, TaskId, WorkerId};
use fermi_domain::phase::TaskPhase;
use fermi_domain::placement::Scheduler;
use fermi_domain::rank_map;
use fermi_domain::task::{PhaseChange, Release, RunKey, Task, TaskInput};

use crate::truth::Truth;
use disk::ServerDisk;
use kept::Retention;

/// How far a restore leaps, so that no cursor is given twice.
const CURSOR_LEAP: u64 = 1 << 32;
/// The name of the database.
pub const CLUSTER: &str = "c";
/// Workers of every machine.
pub const WORKERS: u32 = 2;

/// A write that the store refused; nothing of it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreDown;

/// What is on disk.
#[derive(Clone, Debug, Default)]
pub struct Database {
    pub tasks: BTreeMap<TaskId, Task>,
    pub(crate) next_task: u32,
    pub(crate) leases: BTreeMap<WorkerId, (TaskId, EnvironmentId)>,
    pub(crate) environments: BTreeMap<EnvironmentId, (Environment, Identity)>,
    pub(crate) history: History,
    pub(crate) strays: Vec<StrayRun>,
    /// Runs that are gone and of which bytes still come.
    pub(crate) trailing: BTreeMap<RunKey, EnvironmentId>,
    /// What operators have said of environments that do not just serve.
    duties: BTreeMap<EnvironmentId, Duty>,
    next_environment: u32,
    /// How much of each journal was taken, and what of it is not a whole line yet.
    journals: BTreeMap<RunKey, (u64, Vec<u8>)>,
    answers: BTreeMap<u32, TaskId>,
    /// The event log, as far as it tells of phases.
    pub(crate) events: Vec<LoggedChange>,
    /// By which the retention judges ages.
    believed_ms: Option<u64>,
}

/// A change of a task's phase in the event log.
#[derive(Clone, Debug)]
pub(crate) struct LoggedChange {
    pub(crate) cursor: u64,
    pub(crate) task: TaskId,
    pub(crate) change: PhaseChange,
}

#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) link: Option<usize>,
    /// Which process it is that is connected.
    process: (usize, u32),
    connected_ms: u64,
    heard_ms: u64,
    sent: BTreeSet<(RunKey, &'static str)>,
}

#[derive(Debug)]
pub struct Server {
    pub database: Database,
    pub(crate) backup: Option<Database>,
    /// On disk as well, behind an fsync.
    pub streams: BTreeMap<(TaskId, u32, u32), Vec<u8>>,
    pub is_up: bool,
    pub disk: ServerDisk,
    retention: Retention,
    /// Links of agents that say hello again, since what they have said was about an earlier launch.
    pub to_be_asked_again: Vec<usize>,
    /// What is added to the time by a clock that was set.
    pub clock_skew_ms: i64,
    started_ms: u64,
    pub(crate) sessions: BTreeMap<EnvironmentId, Session>,
    openings: u64,
    seen: Option<(u64, Scheduler)>,
    /// The environments as they were last shown to the scheduler; empty when they must be read anew.
    picture: Vec<Environment>,
    next_credential: u32,
    /// Something may have to be sent or placed.
    pub is_rung: bool,
    /// What operators have deleted.
    pub deleted: BTreeSet<TaskId>,
}

impl Server {
    pub fn new() -> Self {
        Self {
            database: Database::default(),
            backup: None,
            streams: BTreeMap::new(),
            is_up: true,
            disk: ServerDisk::default(),
            retention: Retention::default(),
            to_be_asked_again: Vec::new(),
            clock_skew_ms: 0,
            started_ms: 0,
            sessions: BTreeMap::new(),
            openings: 0,
            seen: None,
            picture: Vec::new(),
            next_credential: 0,
            is_rung: false,
            deleted: BTreeSet::new(),
        }
    }

    /// All that was in memory is gone.
    pub fn kill(&mut self) {
        self.is_up = false;
        self.sessions.clear();
        self.picture.clear();
        self.seen = None;
        self.retention = Retention::default();
    }

    pub fn start(&mut self, now: u64) {
        self.is_up = true;
        self.started_ms = now;
        self.openings += 1;
        self.is_rung = true;
    }

    /// As the server's clock shows it.
    fn wall(&self, now: u64) -> u64 {
        (now + 100_000_000).saturating_add_signed(self.clock_skew_ms)
    }

    fn write(&mut self, now: u64) -> Result<(), StoreDown> {
        self.disk.write(now)
    }

    fn liveness(&self, environment: &EnvironmentId, now: u64) -> Liveness {
        let is_connected = self.sessions.get(environment).is_some_and(|session| session.link.is_some());
        Liveness::of(self.silent_for(environment, now), is_connected)
    }

    fn silent_for(&self, environment: &EnvironmentId, now: u64) -> Duration {
        let heard = self.sessions.get(environment).map_or(self.started_ms, |session| session.heard_ms);
        Duration::from_millis(now.saturating_sub(heard))
    }

    fn environments(&self, now: u64) -> Vec<Environment> {
        let shown = |environment: &Environment| {
            let status = self.status(&environment.id, now);
            Environment { status, ..environment.clone() }
        };
        self.database.environments.values().map(|(environment, _)| shown(environment)).collect()
    }

    fn status(&self, id: &EnvironmentId, now: u64) -> EnvironmentStatus {
        match (self.duty(id), self.liveness(id, now)) {
            (Duty::Lost | Duty::LostAndDrained, _) => EnvironmentStatus::Lost,
            (_, Liveness::Offline) => EnvironmentStatus::Offline,
            (_, Liveness::Suspect) => EnvironmentStatus::Suspect,
            (Duty::Drained, Liveness::Here) => EnvironmentStatus::Drained,
            (Duty::Serves, Liveness::Here) => EnvironmentStatus::Running,
        }
    }

    /// As [`Self::environments`], but only their status is read anew until one comes or goes.
    fn pictured(&mut self, now: u64) -> Vec<Environment> {
        let mut picture = std::mem::take(&mut self.picture);
        if picture.is_empty() {
            return self.environments(now);
        }
        for environment in &mut picture {
            environment.status = self.status(&environment.id, now);
        }
        picture
    }

    /// Something was heard over a link that is alive.
    pub fn heard(&mut self, environment: &EnvironmentId, link: usize, now: u64) {
        if let Some(session) = self.sessions.get_mut(environment).filter(|session| session.link == Some(link)) {
            if Liveness::of(Duration::from_millis(now.saturating_sub(session.heard_ms)), true) != Liveness::Here {
                self.openings += 1;
                self.is_rung = true;
            }
            session.heard_ms = now;
        }
    }

    pub fn link_ended(&mut self, environment: &EnvironmentId, link: usize) {
        if let Some(session) = self.sessions.get_mut(environment).filter(|session| session.link == Some(link)) {
            session.link = None;
        }
    }

    /// The links over which nothing was heard for so long.
    pub fn silent_links(&self, now: u64, longer_than_ms: u64) -> Vec<usize> {
        let silent = self.sessions.values().filter(|session| now.saturating_sub(session.heard_ms) >= longer_than_ms);
        silent.filter_map(|session| session.link).collect()
    }

    /// A task that waits though its workers are free and here.
    pub fn placeable(&self, now: u64) -> Option<&Task> {
        let environments = self.environments(now);
        let is_free = |worker: &WorkerId| !self.database.leases.contains_key(worker);
        self.database.tasks.values().find(|task| {
            let waits = matches!(task.phase, TaskPhase::Queued | TaskPhase::Initializing);
            waits
                && rank_map::of_spec(&task.spec, &environments).is_ok_and(|map| {
                    let is_here = |id: &EnvironmentId| self.status(id, now) == EnvironmentStatus::Running;
                    map.slots().iter().all(|slot| is_free(&slot.worker) && is_here(&slot.environment))
                })
        })
    }

    /// What an agent says over its link. The answer is what it is told.
    pub fn hear(
        &mut self,
        environment: &EnvironmentId,
        message: AgentMessage,
        now: u64,
        truth: &mut Truth,
    ) -> Result<Option<ServerMessage>, StoreDown> {
        let (run, inputs, follow) = match message {
            AgentMessage::Gone { run, lease, in_order, ended, streams_follow, not_started: _ } => {
                let node = run.node_rank;
                let ended = ended.map(|event| TaskInput::Ended { node, event });
                (run, ended.into_iter().chain([TaskInput::Gone { node, lease, in_order }]).collect(), streams_follow)
            }
            AgentMessage::LaunchFailed(failed) => {
                let (node, message) = (failed.run.node_rank, failed.stored());
                (failed.run, vec![TaskInput::LaunchFailed { node, message }], false)
            }
            AgentMessage::Heartbeat(_)
            | AgentMessage::Hello(_)
            | AgentMessage::Probed { .. }
            | AgentMessage::DatasetLooked { .. }
            | AgentMessage::Preflight { .. } => return Ok(None),
        };
        let is_ours = self
            .database
            .tasks
            .get(&run.task)
            .and_then(|task| task.node_of(&run))
            .is_some_and(|node| node.environment == *environment);
        self.write(now)?;
        if is_ours {
            self.apply_within(&run.task, inputs, now, truth);
        }
        if !follow {
            self.database.trailing.remove(&run);
        } else if self.may_deliver(environment, &run) {
            self.database.trailing.insert(run.clone(), environment.clone());
        }
        match follow || self.is_set_aside(&run) {
            true => return Ok(None),
            false => self.database.strays.retain(|stray| stray.run != run || stray.environment != *environment),
        }
        Ok(Some(ServerMessage::Forget { run }))
    }

    /// Whether bytes of a run may come from an environment: its task is there, and the run was.
    fn may_deliver(&self, environment: &EnvironmentId, run: &RunKey) -> bool {
        self.database.tasks.get(&run.task).and_then(|task| task.environment_of(run)) == Some(environment)
    }

    fn apply(
        &mut self,
        id: &TaskId,
        inputs: impl IntoIterator<Item = TaskInput>,
        now: u64,
        truth: &mut Truth,
    ) -> Result<(), StoreDown> {
        self.write(now)?;
        self.apply_within(id, inputs, now, truth);
        Ok(())
    }

    /// As [`Self::apply`], inside of a transaction.
    fn apply_within(&mut self, id: &TaskId, inputs: impl IntoIterator<Item = TaskInput>, now: u64, truth: &mut Truth) {
        let wall = self.wall(now);
        let database = &mut self.database;
        let Some(task) = database.tasks.get_mut(id) else { return };
        let before = task.clone();
        let mut is_taken_up = false;
        for input in inputs {
            if let TaskInput::MovedOn { run } = &input {
                is_taken_up = true;
                truth.taken_up(run);
            }
            let (from, generation) = (task.phase, task.generation);
            for note in task.apply(input, wall) {
                let Some(change) = note.detail.and_then(|detail| detail.phase) else { continue };
                let last = database.events.last().map_or(0, |event| event.cursor);
                let cursor = last.max(database.history.epoch * CURSOR_LEAP) + 1;
                database.events.push(LoggedChange { cursor, task: id.clone(), change });
            }
            task.pass_over_lost_launches(generation, &database.history);
            truth.task_changed(now, task, from);
        }
        if *task == before {
            return;
        }
        // What a state that was lost has launched was not launched by this one.
        if !is_taken_up {
            truth.launched_again(now, &before, task);
        }
        let held = database.leases.len();
        match task.releasable() {
            Release::Nothing => {}
            Release::All => database.leases.retain(|_, (holder, _)| holder != id),
            Release::Environments(environments) => {
                database.leases.retain(|_, (holder, at)| holder != id || !environments.contains(&&*at));
            }
        }
        if database.leases.len() < held {
            self.openings += 1;
        }
        self.is_rung = true;
    }
}
