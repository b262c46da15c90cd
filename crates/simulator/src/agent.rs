//! Machines and the agents on them: the registry, the uploads and the adoption are the real ones; files and processes are
//! values.

mod folder;

pub use folder::{Folder, Pass, RunFiles};

use std::collections::BTreeMap;

use fermi_agent::adoption::{self, Traces};
use fermi_agent::run_registry::{AgentEffect, AgentInput, RunRegistry};
use fermi_api::link::{AgentMessage, Assignment, LaunchFailed, ServerMessage};
use fermi_domain::fleet::{self, Witness};
use fermi_domain::ids::EnvironmentId;
use fermi_domain::language::Text;
use fermi_domain::task::RunKey;

use crate::plan::Strange;
use crate::server::Hello;
use crate::uploads::Uploads;
use crate::world::{Event, World};

#[derive(Debug, Default)]
pub struct Machine {
    /// The operating system's name for it.
    pub id: String,
    pub boot: u32,
    pub is_up: bool,
    /// It will not come back.
    pub has_vanished: bool,
    /// An operator has given its name to another one.
    pub is_replaced: bool,
    pub paused_until: u64,
    pub cut_to_server_until: u64,
    pub cut_to_agent_until: u64,
    pub cut_from_peers_until: u64,
    pub proxy: Option<(Strange, u64)>,
    pub late_until: u64,
    pub full_until: u64,
    /// What was reserved before the disk was full is there.
    pub has_reserve: bool,
}

#[derive(Debug)]
pub struct Agent {
    pub name: String,
    pub machine: usize,
    pub folder: Folder,
    pub is_up: bool,
    /// Which start of it: what was scheduled for an earlier one is void.
    pub life: u32,
    pub(crate) registry: RunRegistry,
    pub(crate) assignments: BTreeMap<RunKey, Box<Assignment>>,
    pub(crate) uploads: BTreeMap<RunKey, Uploads>,
    pub link: Option<usize>,
    pub(crate) environment: Option<EnvironmentId>,
    pause_ms: u64,
    pub(crate) is_upload_due: bool,
    pub dies_when_it_starts: bool,
    /// When the server was last known to have been there.
    pub server_heard_ms: u64,
    /// That of the last welcome.
    pub(crate) epoch: Option<u64>,
    /// The agent whose machine was cloned. The seal tells the two apart once the original has come back.
    pub clone_of: Option<usize>,
    /// Its machine came in the place of another one that an operator has said is lost.
    pub is_replacement: bool,
}

impl Agent {
    pub fn new(name: String, machine: usize, folder: Folder) -> Self {
        Self {
            name,
            machine,
            folder,
            is_up: false,
            life: 0,
            registry: RunRegistry::default(),
            assignments: BTreeMap::new(),
            uploads: BTreeMap::new(),
            link: None,
            environment: None,
            pause_ms: 100,
            is_upload_due: false,
            dies_when_it_starts: false,
            server_heard_ms: 0,
            epoch: None,
            clone_of: None,
            is_replacement: false,
        }
    }

    pub fn live_runs(&self) -> Vec<RunKey> {
        self.registry.known().into_iter().filter(|known| known.alive).map(|known| known.run).collect()
    }
}

/// A connection of an agent.
#[derive(Debug)]
pub struct Link {
    pub agent: usize,
    pub life: u32,
    pub environment: EnvironmentId,
    /// Nothing comes through any more, though neither side need know it yet.
    pub is_dead: bool,
    to_agent_ms: u64,
    to_server_ms: u64,
}

/// What comes over a link.
#[derive(Clone, Debug)]
pub enum Letter {
    Welcome { credential: Option<String>, epoch: u64 },
    ToAgent(Box<ServerMessage>),
    ToServer(Box<AgentMessage>),
}

impl World {
    pub fn start_agent(&mut self, index: usize) {
        let machine = self.agents[index].machine;
        if !self.machines[machine].is_up || self.agents[index].is_up {
            return;
        }
        if let Some(older) = self.agents[index].folder.older_pass.take() {
            self.agents[index].folder.pass = older;
        }
        if self.agents[index].clone_of.is_some_and(|of| self.cannot_be_told_apart(of, index)) {
            self.at(self.now + 5_000, Event::AgentBack { agent: index });
            return;
        }
        self.tell(|world| format!("the agent of {} on machine {machine} starts", world.agents[index].name));
        self.sweep_orphans(index);
        let agent = &mut self.agents[index];
        agent.is_up = true;
        agent.life += 1;
        agent.epoch = None;
        (agent.link, agent.environment, agent.pause_ms, agent.is_upload_due) = (None, None, 100, false);
        agent.server_heard_ms = 0;
        self.take_runs_in(index);
        let life = self.agents[index].life;
        let at = self.soon(1..50);
        self.at(at, Event::Dial { agent: index, life });
    }

    /// What is in the agent's folder is all that it knows. The answer is what it knew before.
    fn take_runs_in(&mut self, index: usize) -> RunRegistry {
        let agent = &mut self.agents[index];
        let before = std::mem::take(&mut agent.registry);
        agent.uploads.clear();
        agent.assignments.clear();
        let found: Vec<(RunKey, Traces)> =
            self.agents[index].folder.runs.iter().map(|(run, files)| (run.clone(), self.traces(files))).collect();
        for (run, traces) in found {
            let agent = &mut self.agents[index];
            match adoption::adopt(traces) {
                Some(state) => {
                    agent.registry.found(run.clone(), state);
                    self.upload(index, &run, false);
                    self.rest_if_over(index, &run, state);
                }
                None => {
                    agent.folder.runs.remove(&run);
                }
            }
        }
        before
    }

    fn rest_if_over(&mut self, index: usize, run: &RunKey, state: fermi_agent::run_registry::FoundRun) {
        use fermi_agent::run_registry::FoundRun;
        let life = self.agents[index].life;
        match state {
            FoundRun::Alive => {
                let at = self.soon(1..5);
                self.at(at, Event::Watch { agent: index, life, run: run.clone() });
            }
            FoundRun::Over => {
                if let Some(uploads) = self.agents[index].uploads.get_mut(run) {
                    uploads.ends = true;
                }
                self.ring_uploads(index);
            }
            FoundRun::Never => {}
        }
    }

    /// Whether something of a run lives, as far as an agent on its machine can tell.
    fn traces(&self, files: &RunFiles) -> Traces {
        let keepers = files.keepers.map(|keepers| &self.keepers[keepers]);
        let is_up = keepers.is_some_and(|keepers| keepers.is_up);
        let has_ranks = keepers.is_some_and(|keepers| !keepers.alive.is_empty());
        let said = |alive: bool| if alive { Witness::Alive } else { Witness::Dead };
        let lock = if files.has_lock { said(is_up) } else { Witness::Silent };
        Traces {
            life: fleet::judge(lock, said(is_up), said(has_ranks)),
            is_refused: files.is_refused,
            has_journal: files.has_journal,
        }
    }

    pub fn kill_agent(&mut self, index: usize, why: &str) {
        if !self.agents[index].is_up {
            return;
        }
        self.tell(|world| format!("the agent of {} {why}", world.agents[index].name));
        self.agents[index].is_up = false;
        self.agents[index].life += 1;
        if let Some(link) = self.agents[index].link.take() {
            self.end_link(link);
        }
    }

    /// The process at the agent's end is gone: the server hears so, unless the network is cut.
    pub fn end_link(&mut self, link: usize) {
        if self.links[link].is_dead {
            return;
        }
        self.links[link].is_dead = true;
        let machine = self.agents[self.links[link].agent].machine;
        if self.now >= self.machines[machine].cut_to_server_until && self.machines[machine].is_up {
            let environment = self.links[link].environment.clone();
            self.server.link_ended(&environment, link);
        }
    }

    pub fn dial(&mut self, index: usize, life: u32) {
        let agent = &self.agents[index];
        if !agent.is_up || agent.life != life || agent.link.is_some() {
            return;
        }
        let machine = &self.machines[agent.machine];
        let is_cut = self.now < machine.cut_to_server_until || self.now < machine.cut_to_agent_until;
        if is_cut || !self.server.is_up {
            self.dial_later(index);
            return;
        }
        let (boot, machine) = (format!("{}-{}", agent.machine, machine.boot), machine.id.clone());
        if !self.is_full(agent.machine) {
            self.propose_seal(index);
        }
        let agent = &self.agents[index];
        let pass = &agent.folder.pass;
        let hello = Hello {
            process: (index, life),
            name: agent.name.clone(),
            instance: agent.folder.instance.clone(),
            machine,
            boot,
            credential: pass.credential.clone(),
            seal: pass.seal.clone(),
            next_seal: pass.next_seal.clone(),
            pending_seals: pass.pending_seals.clone(),
            is_by_join_token: agent.is_replacement,
            runs: agent.registry.known(),
        };
        let link = self.links.len();
        let admitted = self.server.hello(&hello, link, self.now, &mut self.truth);
        for other in std::mem::take(&mut self.server.to_be_asked_again) {
            self.break_link(other);
        }
        match admitted {
            Err(reason) => {
                self.tell(|_| format!("{} is refused: {reason}", hello.name));
                if self.server.has_replaced(&hello) {
                    for known in hello.runs.into_iter().filter(|known| known.alive) {
                        self.agent_hears(index, AgentInput::Kill(known.run));
                    }
                }
                self.agents[index].pause_ms = 5_000;
                self.dial_later(index);
            }
            Ok(welcomed) => {
                self.tell(|_| format!("{} is welcomed with {:?}", hello.name, hello.runs));
                let environment = welcomed.environment;
                self.note_others_of_name(index);
                self.links.push(Link {
                    agent: index,
                    life,
                    environment,
                    is_dead: false,
                    to_agent_ms: self.now,
                    to_server_ms: self.now,
                });
                self.agents[index].link = Some(link);
                let epoch = self.server.database.history.epoch;
                self.post(link, Letter::Welcome { credential: welcomed.credential, epoch });
                for message in welcomed.messages {
                    self.post(link, Letter::ToAgent(Box::new(message)));
                }
                self.ring_server();
            }
        }
    }

    pub fn dial_later(&mut self, index: usize) {
        let agent = &mut self.agents[index];
        let (pause, life) = (agent.pause_ms, agent.life);
        agent.pause_ms = (pause * 2).min(5_000);
        let at = self.now + pause + self.rng.u64(..pause / 2 + 1);
        self.at(at, Event::Dial { agent: index, life });
    }

    /// Sends a letter over a link; letters of one direction arrive in their order.
    pub fn post(&mut self, link: usize, letter: Letter) {
        let delay = self.rng.u64(1..30);
        let (now, entry) = (self.now, &mut self.links[link]);
        let last = match letter {
            Letter::ToServer(_) => &mut entry.to_server_ms,
            Letter::Welcome { .. } | Letter::ToAgent(_) => &mut entry.to_agent_ms,
        };
        *last = (now + delay).max(*last + 1);
        let at = *last;
        self.at(at, Event::Deliver { link, letter });
    }

    pub fn deliver(&mut self, link: usize, letter: Letter) {
        let Link { agent, life, environment, is_dead, .. } = &self.links[link];
        let (agent, life, environment) = (*agent, *life, environment.clone());
        if *is_dead || !self.agents[agent].is_up || self.agents[agent].life != life {
            return;
        }
        let machine = &self.machines[self.agents[agent].machine];
        let is_cut = match letter {
            Letter::ToServer(_) => self.now < machine.cut_to_server_until,
            Letter::Welcome { .. } | Letter::ToAgent(_) => self.now < machine.cut_to_agent_until,
        };
        if is_cut || !self.server.is_up {
            self.break_link(link);
            return;
        }
        match letter {
            Letter::ToServer(message) => {
                self.tell(|_| format!("{environment} says {}", brief_agent(&message)));
                match self.server.hear(&environment, *message, self.now, &mut self.truth) {
                    Ok(answer) => {
                        if let Some(answer) = answer {
                            self.post(link, Letter::ToAgent(Box::new(answer)));
                        }
                    }
                    // What is not stored is not acknowledged: the server hangs up, and the agent says it again.
                    Err(_) => {
                        self.server.link_ended(&environment, link);
                        self.break_link(link);
                    }
                }
                self.ring_server();
            }
            Letter::Welcome { credential, epoch } => {
                if self.agents[agent].epoch.replace(epoch).is_some_and(|before| before != epoch) {
                    let before = self.take_runs_in(agent);
                    self.agents[agent].registry.keep_unstarted(before);
                }
                self.confirm_seal(agent, credential);
                let agent_ = &mut self.agents[agent];
                agent_.environment = Some(environment);
                agent_.pause_ms = 100;
                self.server_answered(agent, self.now);
                self.agent_hears(agent, AgentInput::Welcomed { streams_may_follow: true });
                self.ring_uploads(agent);
            }
            Letter::ToAgent(message) => {
                self.tell(|world| format!("{} is told {}", world.agents[agent].name, brief_server(&message)));
                let input = match *message {
                    ServerMessage::Launch(assignment) => AgentInput::Launch(assignment),
                    ServerMessage::Stop { run } => AgentInput::Stop(run),
                    ServerMessage::Kill { run } => AgentInput::Kill(run),
                    ServerMessage::Forget { run } => AgentInput::Forget(run),
                    ServerMessage::Welcome(_)
                    | ServerMessage::Refused { .. }
                    | ServerMessage::Probe(_)
                    | ServerMessage::Stacks { .. }
                    | ServerMessage::Preflight { .. }
                    | ServerMessage::EndPreflight { .. } => return,
                };
                self.agent_hears(agent, input);
            }
        }
    }

    /// Nothing comes through any more; the agent notices after a while, the server when it has heard nothing for long.
    pub fn break_link(&mut self, link: usize) {
        if self.links[link].is_dead {
            return;
        }
        self.links[link].is_dead = true;
        let at = self.soon(500..12_000);
        self.at(at, Event::LinkEnds { link });
    }

    pub fn link_ends(&mut self, link: usize) {
        let Link { agent, life, .. } = &self.links[link];
        let (agent, life) = (*agent, *life);
        self.links[link].is_dead = true;
        if self.agents[agent].is_up && self.agents[agent].life == life && self.agents[agent].link == Some(link) {
            self.agents[agent].link = None;
            self.dial_later(agent);
        }
    }

    pub fn agent_hears(&mut self, index: usize, input: AgentInput) {
        for effect in self.agents[index].registry.on(input) {
            self.carry_out(index, effect);
            if !self.agents[index].is_up {
                return;
            }
        }
    }

    fn carry_out(&mut self, index: usize, effect: AgentEffect) {
        let life = self.agents[index].life;
        match effect {
            AgentEffect::Prepare(assignment) => {
                let run = assignment.run.clone();
                self.agents[index].assignments.insert(run.clone(), assignment);
                let at = self.soon(2..200);
                self.at(at, Event::Prepared { agent: index, life, run });
            }
            AgentEffect::Start(run) => self.start_run(index, &run),
            AgentEffect::Signal { run, signal } => {
                let keepers = self.agents[index].folder.runs.get(&run).and_then(|files| files.keepers);
                if let Some(keepers) = keepers {
                    self.signal_keepers(keepers, signal);
                }
            }
            AgentEffect::UploadRest(run) => {
                if let Some(uploads) = self.agents[index].uploads.get_mut(&run) {
                    uploads.ends = true;
                    uploads.journal.is_open = true;
                    uploads.streams.values_mut().for_each(|file| file.is_open = true);
                }
                self.ring_uploads(index);
            }
            // On a full disk this agent remembers it, and the next one does not.
            AgentEffect::RefuseForEver(_) if self.is_full(self.agents[index].machine) => {}
            AgentEffect::RefuseForEver(run) => {
                self.agents[index].folder.runs.entry(run).or_default().is_refused = true;
            }
            AgentEffect::Delete(run) => {
                self.agents[index].folder.runs.remove(&run);
                self.agents[index].uploads.remove(&run);
            }
            AgentEffect::Send(mut message) => {
                if let AgentMessage::Gone { run, ended, in_order, .. } = &mut message
                    && let Some(files) = self.agents[index].folder.runs.get(run)
                {
                    *ended = files.result.clone().map(Box::new);
                    *in_order = files.in_order;
                }
                if let Some(link) = self.agents[index].link {
                    self.post(link, Letter::ToServer(Box::new(message)));
                }
            }
        }
    }

    fn start_run(&mut self, index: usize, run: &RunKey) {
        let Some(assignment) = self.agents[index].assignments.remove(run) else { return };
        let heard_ms = self.agents[index].server_heard_ms;
        let lease_until_ms = assignment.policy.server_lease_ms.map(|length| heard_ms + length);
        let is_full = self.is_full(self.agents[index].machine);
        if is_full || lease_until_ms.is_some_and(|until| until <= self.now) {
            let (reason, hint) = (Text::new("", ""), Text::new("", ""));
            let failed = LaunchFailed { run: run.clone(), reason, hint, settings: Vec::new() };
            self.agent_hears(index, AgentInput::Failed(failed));
            return;
        }
        // What is about to be started stands on disk before it is.
        let files = RunFiles { has_lock: true, ..RunFiles::default() };
        self.agents[index].folder.runs.insert(run.clone(), files);
        if std::mem::take(&mut self.agents[index].dies_when_it_starts) {
            self.kill_agent(index, "is killed between the note and the keepers");
            let at = self.soon(100..3_000);
            self.at(at, Event::AgentBack { agent: index });
            return;
        }
        let keepers = self.start_keepers(index, assignment, lease_until_ms);
        if let Some(files) = self.agents[index].folder.runs.get_mut(run) {
            files.keepers = Some(keepers);
        }
        self.upload(index, run, true);
    }
}

fn brief_server(message: &ServerMessage) -> String {
    match message {
        ServerMessage::Launch(assignment) => format!("launch {}", assignment.run),
        ServerMessage::Stop { run } => format!("stop {run}"),
        ServerMessage::Kill { run } => format!("kill {run}"),
        ServerMessage::Forget { run } => format!("forget {run}"),
        ServerMessage::Welcome(_)
        | ServerMessage::Refused { .. }
        | ServerMessage::Probe(_)
        | ServerMessage::Stacks { .. }
        | ServerMessage::Preflight { .. }
        | ServerMessage::EndPreflight { .. } => String::new(),
    }
}

fn brief_agent(message: &AgentMessage) -> String {
    match message {
        AgentMessage::Gone { run, streams_follow: true, .. } => format!("gone {run}, streams follow"),
        AgentMessage::Gone { run, .. } => format!("gone {run}"),
        AgentMessage::LaunchFailed(failed) => format!("launch failed {}", failed.run),
        AgentMessage::Hello(_)
        | AgentMessage::Heartbeat(_)
        | AgentMessage::Probed { .. }
        | AgentMessage::DatasetLooked { .. }
        | AgentMessage::Preflight { .. } => String::new(),
    }
}
