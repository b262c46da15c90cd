//! The server: its rules are the real ones, its database is a value, and any write may fail.

mod admission;
mod placing;
mod reconcile;
mod requests;
mod uploaded;

pub use admission::Hello;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fermi_api::link::{AgentMessage, ServerMessage};
use fermi_domain::environment::{Environment, EnvironmentStatus};
use fermi_domain::fleet::{History, Identity, Liveness, StrayRun};
use fermi_domain::ids::{EnvironmentId, TaskId, WorkerId};
use fermi_domain::phase::TaskPhase;
use fermi_domain::placement::Scheduler;
use fermi_domain::rank_map;
use fermi_domain::task::{Release, RunKey, Task, TaskInput};

use crate::truth::Truth;

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
    leases: BTreeMap<WorkerId, (TaskId, EnvironmentId)>,
    pub(crate) environments: BTreeMap<EnvironmentId, (Environment, Identity)>,
    pub(crate) history: History,
    pub(crate) strays: Vec<StrayRun>,
    /// Runs that are gone and of which bytes still come.
    pub(crate) trailing: BTreeMap<RunKey, EnvironmentId>,
    /// Those that an operator has declared lost, until they are back.
    lost: BTreeSet<EnvironmentId>,
    next_environment: u32,
    /// How much of each journal was taken, and what of it is not a whole line yet.
    journals: BTreeMap<RunKey, (u64, Vec<u8>)>,
    answers: BTreeMap<u32, TaskId>,
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
    pub fails_until_ms: u64,
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
            fails_until_ms: 0,
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

    fn write(&self, now: u64) -> Result<(), StoreDown> {
        if now < self.fails_until_ms { Err(StoreDown) } else { Ok(()) }
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
        match self.liveness(id, now) {
            Liveness::Here => EnvironmentStatus::Running,
            Liveness::Suspect => EnvironmentStatus::Suspect,
            Liveness::Offline => EnvironmentStatus::Offline,
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
                    let is_here = |id: &EnvironmentId| self.liveness(id, now) == Liveness::Here;
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
        let (run, input, follow) = match message {
            AgentMessage::Gone { run, lease, in_order, streams_follow, .. } => {
                (run.clone(), TaskInput::Gone { node: run.node_rank, lease, in_order }, streams_follow)
            }
            AgentMessage::LaunchFailed(failed) => {
                let (node, message) = (failed.run.node_rank, failed.stored());
                (failed.run, TaskInput::LaunchFailed { node, message }, false)
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
        if is_ours {
            self.apply(&run.task, [input], now, truth)?;
        }
        self.write(now)?;
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
        let wall = self.wall(now);
        let Some(task) = self.database.tasks.get_mut(id) else { return Ok(()) };
        let before = task.clone();
        for input in inputs {
            let (from, generation) = (task.phase, task.generation);
            task.apply(input, wall);
            task.pass_over_lost_launches(generation, &self.database.history);
            truth.task_changed(now, task, from);
        }
        if *task == before {
            return Ok(());
        }
        truth.launched_again(now, &before, task);
        let held = self.database.leases.len();
        match task.releasable() {
            Release::Nothing => {}
            Release::All => self.database.leases.retain(|_, (holder, _)| holder != id),
            Release::Environments(environments) => {
                self.database.leases.retain(|_, (holder, at)| holder != id || !environments.contains(&&*at));
            }
        }
        if self.database.leases.len() < held {
            self.openings += 1;
        }
        self.is_rung = true;
        Ok(())
    }
}
