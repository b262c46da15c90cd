//! The server: its rules are the real ones, its database is a value, and any write may fail.

mod placing;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fermi_agent::upload::Piece;
use fermi_api::link::{AgentMessage, Assignment, Master, ServerMessage, Taken, UnwantedRun};
use fermi_domain::environment::{Environment, EnvironmentKind, EnvironmentStatus, Versions};
use fermi_domain::fleet::{
    self, Admission, Conclusion, Fit, History, Identity, Introduction, JournalSent, KnownRun, Liveness, SUSPECT_AFTER,
    Standing, StrayRun, Wanted,
};
use fermi_domain::healing::RestartPolicy;
use fermi_domain::ids::{EnvironmentId, TaskId, WorkerId};
use fermi_domain::launch::{NodeLaunch, RankLaunch, RunPolicy};
use fermi_domain::phase::TaskPhase;
use fermi_domain::placement::Scheduler;
use fermi_domain::rank_map;
use fermi_domain::task::{
    DesiredState, DistributedConfig, NodeRun, OnDisconnect, Policies, Release, RunKey, StopIntent, Task, TaskInput,
    TaskSpec, Work,
};
use fermi_domain::units::{Bytes, Seconds};

use crate::lines::Lines;
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

/// Who says hello.
#[derive(Clone, Debug)]
pub struct Hello {
    pub process: (usize, u32),
    pub name: String,
    pub instance: String,
    pub machine: String,
    pub boot: String,
    pub credential: Option<String>,
    pub seal: Option<String>,
    pub next_seal: String,
    pub pending_seals: Vec<String>,
    pub runs: Vec<KnownRun>,
}

/// What a hello leads to.
#[derive(Debug)]
pub struct Welcomed {
    pub environment: EnvironmentId,
    /// Issued at a registration.
    pub credential: Option<String>,
    pub messages: Vec<ServerMessage>,
    /// Links of agents that say hello again, since what they have said was about an earlier launch.
    pub to_be_asked_again: Vec<usize>,
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
            next_credential: 0,
            is_rung: false,
            deleted: BTreeSet::new(),
        }
    }

    /// All that was in memory is gone.
    pub fn kill(&mut self) {
        self.is_up = false;
        self.sessions.clear();
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
        let status = |id: &EnvironmentId| match self.liveness(id, now) {
            Liveness::Here => EnvironmentStatus::Running,
            Liveness::Suspect => EnvironmentStatus::Suspect,
            Liveness::Offline => EnvironmentStatus::Offline,
        };
        let all = self.database.environments.values();
        all.map(|(environment, _)| Environment { status: status(&environment.id), ..environment.clone() }).collect()
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

    pub fn hello(&mut self, hello: &Hello, link: usize, now: u64, truth: &mut Truth) -> Result<Welcomed, String> {
        self.write(now).map_err(|StoreDown| "the store is away".to_owned())?;
        let known = self.database.environments.values().find(|(environment, _)| environment.name == hello.name);
        let id = known.map(|(environment, _)| environment.id.clone());
        let introduction = Introduction {
            instance: &hello.instance,
            machine: Some(&hello.machine),
            boot: &hello.boot,
            credential: hello.credential.as_deref(),
            seal: hello.seal.as_deref(),
            next_seal: Some(&hello.next_seal),
            pending_seals: &hello.pending_seals,
        };
        let standing = id.as_ref().map(|id| self.standing(id, hello.process, now)).unwrap_or_default();
        let admission = fleet::admit(known.map(|(_, identity)| identity), standing, &introduction);
        if let Admission::Refuse(impostor) = admission {
            return Err(format!("{impostor:?}"));
        }
        let issued = introduction.needs_credential(known.map(|(_, identity)| identity), admission).then(|| {
            self.next_credential += 1;
            format!("k{}", self.next_credential)
        });
        let credential = issued.clone().or_else(|| hello.credential.clone());
        let id = id.unwrap_or_else(|| {
            self.database.next_environment += 1;
            EnvironmentId::from(format!("env-{:03}", self.database.next_environment).as_str())
        });
        let identity = Identity::after(&introduction, credential);
        self.database.lost.remove(&id);
        self.database.environments.insert(id.clone(), (environment(&id, &hello.name), identity));
        let session = Session {
            link: Some(link),
            process: hello.process,
            connected_ms: now,
            heard_ms: now,
            sent: BTreeSet::new(),
        };
        self.sessions.insert(id.clone(), session);
        self.openings += 1;
        self.is_rung = true;
        let tasks = self.database.tasks.values();
        // Every agent here looks at its machine's processes, and finds none outside of its folder.
        let conclusions = fleet::compare(tasks, &id, &hello.runs, Some(&[]), |run| self.origin(run));
        let mut messages: Vec<ServerMessage> = self.kills_of_strays(&id).collect();
        let (mut strays, mut to_be_asked_again) = (Vec::new(), Vec::new());
        for conclusion in conclusions {
            match conclusion {
                Conclusion::Gone(run) => {
                    let input = TaskInput::Gone { node: run.node_rank, lease: None };
                    self.apply(&run.task, [input], now, truth).map_err(|StoreDown| "the store is away".to_owned())?;
                }
                Conclusion::Unproven(_) => {}
                Conclusion::Kill(run) => messages.push(ServerMessage::Kill { run }),
                Conclusion::Forget(run) => messages.push(ServerMessage::Forget { run }),
                Conclusion::MovedOn(run) => {
                    let task = run.task.clone();
                    let taken_up = self.apply(&task, [TaskInput::MovedOn { run }], now, truth);
                    taken_up.map_err(|StoreDown| "the store is away".to_owned())?;
                    to_be_asked_again.extend(self.links_of_other_nodes(&task, &id));
                }
                Conclusion::SetAside(known) => {
                    truth.incomplete.insert((known.run.task.clone(), known.run.generation));
                    strays.push(known);
                }
            }
        }
        self.note_hello(&id, &strays);
        Ok(Welcomed { environment: id, credential: issued, messages, to_be_asked_again })
    }

    fn standing(&self, id: &EnvironmentId, process: (usize, u32), now: u64) -> Standing {
        let is_answering = self.sessions.get(id).is_some_and(|session| {
            session.link.is_some()
                && session.process != process
                && Duration::from_millis(now.saturating_sub(session.heard_ms)) < SUSPECT_AFTER
        });
        let may_have_runs = fleet::may_have_runs(self.database.tasks.values(), &self.database.strays, id);
        Standing { is_answering, may_have_runs, is_restored: self.is_unheard(id), ..Standing::default() }
    }

    /// What an agent says over its link. The answer is what it is told.
    pub fn hear(
        &mut self,
        environment: &EnvironmentId,
        message: AgentMessage,
        now: u64,
        truth: &mut Truth,
    ) -> Result<Option<ServerMessage>, StoreDown> {
        let (run, input) = match message {
            AgentMessage::Gone { run, lease, .. } => (run.clone(), TaskInput::Gone { node: run.node_rank, lease }),
            AgentMessage::LaunchFailed(failed) => {
                let (node, message) = (failed.run.node_rank, failed.stored());
                (failed.run, TaskInput::LaunchFailed { node, message })
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
        match self.is_set_aside(&run) {
            true => return Ok(None),
            false => self.database.strays.retain(|stray| stray.run != run || stray.environment != *environment),
        }
        Ok(Some(ServerMessage::Forget { run }))
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

    /// Whether a piece was sent to the state of the database that there is.
    pub fn is_of_epoch(&self, epoch: Option<u64>) -> bool {
        epoch == Some(self.database.history.epoch)
    }

    /// A piece of a journal.
    pub fn take_journal(
        &mut self,
        from: &EnvironmentId,
        run: &RunKey,
        (offset, bytes): (u64, &[u8]),
        now: u64,
        lines: &Lines,
        truth: &mut Truth,
    ) -> (u16, Option<Taken>) {
        if self.write(now).is_err() {
            return (503, None);
        }
        let node = self.database.tasks.get(&run.task).and_then(|task| task.node_of(run));
        let Some(node) = node else { return self.unwanted(run) };
        if node.environment != *from {
            return (403, None);
        }
        let time_ms = self.wall(now);
        let (length, tail) = self.database.journals.entry(run.clone()).or_default();
        if *length != offset {
            return (409, Some(has(*length)));
        }
        tail.extend_from_slice(bytes);
        *length += bytes.len() as u64;
        let has_now = *length;
        let whole = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let rest = tail.split_off(whole);
        let text = std::mem::replace(tail, rest);
        let inputs: Vec<TaskInput> = lines
            .read(&text)
            .map(|event| TaskInput::Journal { node: run.node_rank, time_ms, event: Box::new(event.clone()) })
            .collect();
        let _ = self.apply(&run.task, inputs, now, truth);
        (200, Some(has(has_now)))
    }

    pub fn journal_length(&self, from: &EnvironmentId, run: &RunKey) -> (u16, Option<Taken>) {
        let task = self.database.tasks.get(&run.task).filter(|_| self.stray(run).is_none());
        match task.and_then(|task| task.environment_of(run)) {
            None => self.unwanted(run),
            Some(environment) if environment != from => (403, None),
            Some(_) => (200, Some(has(self.database.journals.get(run).map_or(0, |(length, _)| *length)))),
        }
    }

    /// A piece of what a rank wrote; without bytes, how much is there.
    pub fn take_stream(
        &mut self,
        from: &EnvironmentId,
        run: &RunKey,
        (attempt, rank): (u32, u32),
        piece: Option<Piece<'_>>,
        now: u64,
        truth: &mut Truth,
    ) -> (u16, Option<Taken>) {
        let task = self.database.tasks.get(&run.task).filter(|_| self.stray(run).is_none());
        let Some(task) = task else { return self.unwanted(run) };
        match task.environment_of(run) {
            None => return self.unwanted(run),
            Some(environment) if environment != from => return (403, None),
            Some(_) => {}
        }
        match task.wants_stream(run, attempt, piece.map_or(JournalSent::Partly, |piece| piece.journal)) {
            Wanted::Yes => {}
            Wanted::NotYet => return (503, None),
            Wanted::Never => return self.unwanted(run),
        }
        let kept = self.streams.entry((run.task.clone(), attempt, rank)).or_default();
        let have = kept.len() as u64;
        let Some(Piece { offset, bytes, .. }) = piece else { return (200, Some(has(have))) };
        match fleet::fit(have, offset, bytes.len()) {
            Fit::Gap => return (409, Some(has(have))),
            Fit::Known => {}
            Fit::Append { known } => kept.extend_from_slice(&bytes[known..]),
        }
        truth.stream_taken(now, (run.task.clone(), (run.generation, attempt), rank), kept);
        (200, Some(has(kept.len() as u64)))
    }

    /// The last word on a run, unless it is an operator's.
    fn unwanted(&self, run: &RunKey) -> (u16, Option<Taken>) {
        if self.is_set_aside(run) { (503, None) } else { (410, Some(unwanted(run))) }
    }

    /// One look of all reconcilers. The answer is what agents are told, by link.
    pub fn reconcile(&mut self, now: u64, truth: &mut Truth) -> Vec<(usize, ServerMessage)> {
        self.is_rung = false;
        let _ = self.place(now, truth);
        let mut messages = Vec::new();
        let ids: Vec<TaskId> = self.live_tasks().map(|task| task.id.clone()).collect();
        for id in ids {
            let _ = self.give_up_lost_nodes(&id, now, truth);
            let Some(task) = self.database.tasks.get(&id) else { continue };
            let connected_ms = |id: &EnvironmentId| {
                let session = self.sessions.get(id).filter(|session| session.link.is_some())?;
                Some(now.saturating_sub(session.connected_ms))
            };
            let since = |began_ms: Option<u64>| began_ms.map_or(0, |began| self.wall(now).saturating_sub(began));
            if task.is_stop_overdue(since(task.phase_since_ms), connected_ms) {
                let _ = self.apply(&id, [TaskInput::StopOverdue], now, truth);
            } else if task.is_over_limit(since(task.placed_ms)) {
                let _ = self.apply(&id, [TaskInput::TimeLimitReached], now, truth);
            } else if task.is_due(self.wall(now)) {
                let _ = self.apply(&id, [TaskInput::TimePassed], now, truth);
            } else if task.is_abandoned(|environment| self.liveness(environment, now) == Liveness::Offline) {
                let _ = self.apply(&id, [TaskInput::CoordinatorUnreachable], now, truth);
            }
            let Some(task) = self.database.tasks.get(&id) else { continue };
            for (node, desired) in task.nodes.iter().zip(task.desired_states()) {
                let run = task.run_key(node);
                let (what, message) = match desired {
                    DesiredState::Rest => continue,
                    DesiredState::Stop => ("stop", ServerMessage::Stop { run: run.clone() }),
                    DesiredState::Kill => ("kill", ServerMessage::Kill { run: run.clone() }),
                    DesiredState::Launch if self.is_held(task) => continue,
                    DesiredState::Launch => {
                        let assignment = assignment(task, node, self.newest_written(task));
                        ("launch", ServerMessage::Launch(Box::new(assignment)))
                    }
                };
                let Some(session) = self.sessions.get_mut(&node.environment) else { continue };
                let Some(link) = session.link else { continue };
                if session.sent.insert((run, what)) {
                    messages.push((link, message));
                }
            }
        }
        messages
    }

    fn live_tasks(&self) -> impl Iterator<Item = &Task> {
        let is_live = |task: &&Task| {
            let is_waiting = matches!(task.phase, TaskPhase::Initializing | TaskPhase::Queued);
            !(is_waiting || task.phase.is_final() && task.is_swept())
        };
        self.database.tasks.values().filter(is_live)
    }

    pub fn create(
        &mut self,
        nodes: Vec<EnvironmentId>,
        restarts: u32,
        key: u32,
        now: u64,
    ) -> Result<TaskId, StoreDown> {
        self.write(now)?;
        if let Some(known) = self.database.answers.get(&key) {
            return Ok(known.clone());
        }
        self.database.next_task += 1;
        let id = TaskId::from(format!("task-{}", self.database.next_task).as_str());
        // Every second task ends when it has lost the server for long.
        let on_disconnect = match self.database.next_task % 2 {
            0 => OnDisconnect::StopAfter(OnDisconnect::SHORTEST),
            _ => OnDisconnect::Keep,
        };
        let mut spec = spec(nodes, restarts, on_disconnect);
        // Every fourth goes before the others, and every fifth has a limit.
        spec.priority = i32::from(self.database.next_task.is_multiple_of(4));
        spec.policies.time_limit = self.database.next_task.is_multiple_of(5).then_some(Seconds(40));
        let task = Task::new(id.clone(), spec, self.wall(now));
        self.database.tasks.insert(id.clone(), task);
        self.database.answers.insert(key, id.clone());
        self.is_rung = true;
        Ok(id)
    }

    pub fn stop(&mut self, id: &TaskId, force: bool, now: u64, truth: &mut Truth) -> Result<(), StoreDown> {
        self.write(now)?;
        self.apply(id, [TaskInput::StopAsked(StopIntent::by_user(force))], now, truth)
    }

    pub fn restart(&mut self, id: &TaskId, key: u32, now: u64, truth: &mut Truth) -> Result<(), StoreDown> {
        self.write(now)?;
        if self.database.answers.insert(key, id.clone()).is_some() {
            return Ok(());
        }
        self.apply(id, [TaskInput::RestartAsked], now, truth)
    }

    pub fn delete(&mut self, id: &TaskId, now: u64) -> Result<(), StoreDown> {
        self.write(now)?;
        let can = self.database.tasks.get(id).is_some_and(|task| task.phase.is_final() && task.is_swept());
        if can {
            self.database.tasks.remove(id);
            self.deleted.insert(id.clone());
            self.database.leases.retain(|_, (holder, _)| holder != id);
            self.streams.retain(|(task, ..), _| task != id);
        }
        Ok(())
    }

    pub fn delete_environment(&mut self, id: &EnvironmentId, now: u64) {
        let is_open = |task: &&Task| !task.phase.is_final() && task.spec.distributed.node_ids.contains(id);
        let is_named = self.database.tasks.values().any(|task| is_open(&task));
        let is_leased = self.database.leases.values().any(|(_, environment)| environment == id);
        let is_offline = self.liveness(id, now) == Liveness::Offline;
        if is_offline && !is_leased && !is_named && self.write(now).is_ok() {
            self.database.environments.remove(id);
            self.give_up(id);
            self.sessions.remove(id);
            self.openings += 1;
        }
    }

    /// An operator says that the machine behind an environment is off.
    pub fn declare_lost(&mut self, id: &EnvironmentId, now: u64, truth: &mut Truth) -> Result<(), StoreDown> {
        self.write(now)?;
        self.database.lost.insert(id.clone());
        self.give_up(id);
        let ids: Vec<TaskId> = self.live_tasks().map(|task| task.id.clone()).collect();
        for task in ids {
            self.give_up_lost_nodes(&task, now, truth)?;
        }
        Ok(())
    }

    fn give_up_lost_nodes(&mut self, id: &TaskId, now: u64, truth: &mut Truth) -> Result<(), StoreDown> {
        let Some(task) = self.database.tasks.get(id) else { return Ok(()) };
        let lost = task.lost_nodes(|environment| self.database.lost.contains(environment));
        let without_lease = task.nodes_without_lease(|environment| self.silent_for(environment, now));
        let inputs: Vec<TaskInput> =
            lost.into_iter().chain(without_lease).map(|node| TaskInput::NodeLost { node }).collect();
        if inputs.is_empty() {
            return Ok(());
        }
        truth.incomplete.insert((id.clone(), task.generation));
        self.apply(id, inputs, now, truth)
    }

    pub fn environment_named(&self, name: &str) -> Option<EnvironmentId> {
        let mut all = self.database.environments.values();
        all.find(|(environment, _)| environment.name == name).map(|(environment, _)| environment.id.clone())
    }
}

fn has(length: u64) -> Taken {
    Taken { length, unwanted: None }
}

fn unwanted(run: &RunKey) -> Taken {
    Taken { length: 0, unwanted: Some(UnwantedRun { cluster: CLUSTER.to_owned(), run: run.clone() }) }
}

fn environment(id: &EnvironmentId, name: &str) -> Environment {
    Environment {
        id: id.clone(),
        name: name.to_owned(),
        kind: EnvironmentKind::Custom,
        zone: None,
        image: None,
        gpus: Vec::new(),
        cpu_cores: 1,
        memory: Bytes(1),
        address: None,
        versions: Versions::default(),
        cpu_workers: WORKERS,
        labels: Default::default(),
        declared: false,
        status: EnvironmentStatus::Running,
    }
}

fn spec(nodes: Vec<EnvironmentId>, restarts: u32, on_disconnect: OnDisconnect) -> TaskSpec {
    TaskSpec {
        name: String::new(),
        dataset: None,
        model_id: None,
        selection: fermi_domain::task::Selection::Environments,
        work: Work::Builtin { args: Vec::new() },
        source: None,
        distributed: DistributedConfig { enabled: true, node_ids: nodes, ..DistributedConfig::default() },
        options: fermi_domain::task::LaunchOptions::default(),
        policies: Policies { restart: RestartPolicy { max_restarts: restarts }, on_disconnect, ..Policies::default() },
        priority: 0,
        labels: BTreeMap::new(),
    }
}

fn assignment(task: &Task, node: &NodeRun, written: u32) -> Assignment {
    let slots = task.rank_map.iter().flat_map(|map| map.slots());
    let ranks = slots.filter(|slot| slot.environment == node.environment).map(|slot| RankLaunch {
        rank: slot.rank,
        worker: slot.worker.clone(),
        gpu: None,
        env: Vec::new(),
    });
    let restarts = task.spec.policies.restart.max_restarts.saturating_sub(task.restarts_used);
    Assignment {
        run: task.run_key(node),
        task_name: String::new(),
        launch: NodeLaunch {
            node_name: node.name.clone(),
            node_count: u32::try_from(task.nodes.len()).unwrap_or(u32::MAX),
            world_size: task.world_size(),
            ranks: ranks.collect(),
            ..NodeLaunch::default()
        },
        policy: RunPolicy {
            restarts: RestartPolicy { max_restarts: restarts },
            ladder: task.spec.policies.stop.clone(),
            join_timeout_ms: 60_000,
            attempts_before: task.attempts_before(written),
            resume: task.resume,
            server_lease_ms: task.spec.policies.server_lease_ms(),
            ..RunPolicy::default()
        },
        master: Master { address: String::new(), port: task.master_port },
        interpreter: None,
        source: None,
        checkpoint_dir: None,
        dataset: None,
        secret: String::new(),
        secret_variables: Vec::new(),
        owner: None,
    }
}
