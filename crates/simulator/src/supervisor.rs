//! The keepers of runs and the ranks below them: the coordinator and the assembly are the real ones; processes and the
//! links between supervisors are values.

use std::collections::{BTreeMap, VecDeque};

use fermi_api::link::Assignment;
use fermi_attempt::assembly::{Assembly, Greeting, LINK_VERSION};
use fermi_attempt::coordinator::{Coordinator, Failure, Loss, Policy, RunEffect, RunInput};
use fermi_attempt::node_message::{MarkDuty, NodeCommand, NodePosition, NodeReport, Start, Survey};
use fermi_domain::checkpoint::{Fence, NodeCheckpoints};
use fermi_domain::event::{Outcome, RunEvent};
use fermi_domain::exit::Exit;
use fermi_domain::task::RunKey;
use fermi_domain::verdict::{Verdict, VerdictKind};

use crate::truth::GrowingBytes;
use crate::world::{Event, World};

const LOOK_EVERY_MS: u64 = 1_000;

/// Warden and supervisor of one run, with its ranks.
#[derive(Debug)]
pub struct Keepers {
    pub run: RunKey,
    pub agent: usize,
    pub machine: usize,
    pub is_up: bool,
    pub assignment: Box<Assignment>,
    /// Ranks that live, each with its attempt.
    pub alive: BTreeMap<u32, u32>,
    role: Role,
    /// Until when it may go on without the server, where it holds a lease from it.
    pub lease_until_ms: Option<u64>,
    /// When something last came over the link to the other node, for members.
    last_letter_ms: u64,
    /// Since when it tries to join, for members.
    joins_since_ms: u64,
}

#[derive(Debug)]
enum Role {
    First(Box<First>),
    Member(Option<Joined>),
}

/// A member's link to the first node.
#[derive(Clone, Copy, Debug)]
struct Joined {
    first: usize,
    number: usize,
    heard_ms: u64,
}

#[derive(Debug)]
struct First {
    coordinator: Coordinator,
    assembly: Assembly,
    /// The members that are linked, by their number, each with when it was last heard.
    members: BTreeMap<usize, (usize, u64)>,
    /// Numbers in the order of node ranks; its own is 0.
    order: Vec<usize>,
    is_assembling: bool,
    /// Over which time the coordinator is woken.
    wakes_at: Option<u64>,
}

/// What goes between supervisors.
#[derive(Clone, Debug)]
pub enum PeerLetter {
    /// To a member, over the connection of this number.
    Command {
        number: usize,
        command: NodeCommand,
    },
    Report {
        number: usize,
        report: NodeReport,
    },
    /// The connection ends behind all that was sent over it.
    Closed,
}

impl World {
    pub fn start_keepers(&mut self, agent: usize, assignment: Box<Assignment>, lease_until_ms: Option<u64>) -> usize {
        let run = assignment.run.clone();
        let role = if run.node_rank.0 == 0 {
            let policy = Policy {
                restarts: assignment.policy.restarts,
                ladder: assignment.policy.ladder.clone(),
                start_timeout_ms: None,
                join_timeout_ms: assignment.policy.join_timeout_ms,
                elastic: false,
                resume: assignment.policy.resume,
                attempts_before: assignment.policy.attempts_before,
            };
            let nodes = assignment.launch.node_count;
            let mut assembly = Assembly::new(nodes, nodes, String::new(), String::new());
            let _ = assembly.welcome(&greeting(&assignment));
            Role::First(Box::new(First {
                coordinator: Coordinator::new(policy),
                assembly,
                members: BTreeMap::new(),
                order: Vec::new(),
                is_assembling: false,
                wakes_at: None,
            }))
        } else {
            Role::Member(None)
        };
        let machine = self.agents[agent].machine;
        let index = self.keepers.len();
        self.tell(|_| format!("keepers of {run} start on machine {machine}"));
        self.keepers.push(Keepers {
            run,
            agent,
            machine,
            is_up: true,
            assignment,
            alive: BTreeMap::new(),
            role,
            lease_until_ms,
            last_letter_ms: 0,
            joins_since_ms: 0,
        });
        let at = self.soon(1..20);
        self.at(at, Event::KeepersUp { keepers: index });
        index
    }

    fn files(&mut self, index: usize) -> Option<&mut crate::agent::RunFiles> {
        let Keepers { agent, run, .. } = &self.keepers[index];
        self.agents[*agent].folder.runs.get_mut(run)
    }

    pub fn keepers_up(&mut self, index: usize) {
        if !self.keepers[index].is_up {
            return;
        }
        if let Some(files) = self.files(index) {
            files.has_journal = true;
        }
        let is_first = matches!(self.keepers[index].role, Role::First(_));
        self.record(
            index,
            RunEvent::RunStarted {
                run_id: String::new(),
                world_size: self.keepers[index].assignment.launch.world_size,
                folder: None,
                warden_pid: 1,
                supervisor_pid: 1,
                master_port: is_first.then_some(29_500),
            },
        );
        if self.keepers[index].assignment.launch.node_count > 1 {
            let at = self.now + LOOK_EVERY_MS;
            self.at(at, Event::PeerCheck { keepers: index });
        }
        if is_first {
            self.feed(index, RunInput::Begin);
        } else {
            self.keepers[index].joins_since_ms = self.now;
            self.at(self.now + 1, Event::Join { keepers: index });
        }
    }

    /// Writes a line to the journal.
    fn record(&mut self, index: usize, event: RunEvent) {
        let line = self.lines.write(event);
        let Some(journal) = self.files(index).map(|files| files.journal.clone()) else { return };
        journal.append(&line);
        let (agent, run) = (self.keepers[index].agent, self.keepers[index].run.clone());
        self.wrote(agent, &run, None);
    }

    fn feed(&mut self, index: usize, input: RunInput) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let now = self.now;
            let Role::First(first) = &mut self.keepers[index].role else { return };
            let effects = first.coordinator.on(input, now);
            for effect in effects {
                inputs.extend(self.carry_out_run(index, effect));
                if !self.keepers[index].is_up {
                    return;
                }
            }
        }
        let Role::First(first) = &mut self.keepers[index].role else { return };
        let wake_at = first.coordinator.wake_at();
        if let Some(at) = wake_at.filter(|_| wake_at != first.wakes_at) {
            first.wakes_at = wake_at;
            self.at(at, Event::CoordinatorWake { keepers: index });
        }
    }

    pub fn coordinator_wake(&mut self, index: usize) {
        if self.keepers[index].is_up {
            if let Role::First(first) = &mut self.keepers[index].role {
                first.wakes_at = None;
            }
            self.feed(index, RunInput::TimePassed);
        }
    }

    fn carry_out_run(&mut self, index: usize, effect: RunEffect) -> Vec<RunInput> {
        let Role::First(first) = &mut self.keepers[index].role else { return Vec::new() };
        let command = match effect {
            RunEffect::Assemble => {
                first.is_assembling = true;
                return self.assembled(index).into_iter().collect();
            }
            RunEffect::SurveyCheckpoints { .. } => {
                let fence = Fence { owner: String::new(), generation: 0, attempt: 0, has_ended: false };
                NodeCommand::Survey(Survey { fence, first_rank: 0, mark: MarkDuty::Nothing })
            }
            RunEffect::StartRanks { attempt, plan } => return self.start_attempt(index, attempt, plan.resume),
            RunEffect::Tell(event) => {
                if first.order.is_empty() {
                    self.record(index, event);
                    return Vec::new();
                }
                NodeCommand::Tell(Some(Box::new(event)))
            }
            RunEffect::SignalRanks { signal } => NodeCommand::Signal { signal },
            RunEffect::KillRanks => NodeCommand::Kill,
            RunEffect::CheckJoined => NodeCommand::CheckJoined,
            RunEffect::Sweep => NodeCommand::Sweep,
            RunEffect::Finish => {
                let inputs = self.command_all(index, &NodeCommand::Over);
                self.keepers_exit(index);
                return inputs;
            }
        };
        self.command_all(index, &command)
    }

    fn assembled(&mut self, index: usize) -> Option<RunInput> {
        let Role::First(first) = &mut self.keepers[index].role else { return None };
        if !first.is_assembling || !first.assembly.is_full() {
            return None;
        }
        first.is_assembling = false;
        let (order, nodes) = first.assembly.node_ranks().into_iter().unzip();
        first.order = order;
        Some(RunInput::Assembled { nodes })
    }

    fn start_attempt(&mut self, index: usize, attempt: u32, resume: bool) -> Vec<RunInput> {
        let started = RunEvent::AttemptStarted { attempt, master_addr: String::new(), master_port: 29_500, resume };
        let mut inputs = self.command_all(index, &NodeCommand::Tell(Some(Box::new(started))));
        let start = Start {
            task_id: String::new(),
            torch_run_id: String::new(),
            attempt,
            resume,
            resume_step: None,
            checkpoints_shared: None,
            master_port: 29_500,
            hosted_store: false,
            role: None,
            position: NodePosition { first_rank: 0, world_size: 0, node_rank: 0, node_count: 0 },
        };
        inputs.extend(self.command_all(index, &NodeCommand::Start(start)));
        inputs
    }

    fn command_all(&mut self, index: usize, command: &NodeCommand) -> Vec<RunInput> {
        let Role::First(first) = &self.keepers[index].role else { return Vec::new() };
        let order = first.order.clone();
        let mut inputs = Vec::new();
        for (node, number) in order.into_iter().enumerate() {
            if number == 0 {
                let reports = self.obey(index, command.clone());
                inputs.extend(reports.into_iter().map(|report| RunInput::Reported { node, report }));
                continue;
            }
            let Role::First(first) = &self.keepers[index].role else { return inputs };
            if let Some((member, _)) = first.members.get(&number) {
                let member = *member;
                self.post_peer(member, PeerLetter::Command { number, command: command.clone() }, index);
            }
        }
        inputs
    }

    /// Letters between supervisors arrive in their order.
    fn post_peer(&mut self, to: usize, letter: PeerLetter, from: usize) {
        let at = (self.now + self.rng.u64(1..8)).max(self.keepers[to].last_letter_ms + 1);
        self.keepers[to].last_letter_ms = at;
        self.at(at, Event::Peer { to, from, letter });
    }

    fn can_talk(&self, one: usize, other: usize) -> bool {
        [one, other].into_iter().all(|keepers| {
            let machine = &self.machines[self.keepers[keepers].machine];
            machine.is_up && self.now >= machine.cut_from_peers_until && self.now >= machine.paused_until
        })
    }

    pub fn peer(&mut self, to: usize, from: usize, letter: PeerLetter) {
        if !self.keepers[to].is_up {
            return;
        }
        if !self.can_talk(to, from) {
            // TCP sends it again until the connection is given up.
            let at = self.now + 500;
            self.keepers[to].last_letter_ms = self.keepers[to].last_letter_ms.max(at);
            self.at(at, Event::Peer { to, from, letter });
            return;
        }
        match letter {
            PeerLetter::Command { number, command } => {
                let Role::Member(Some(joined)) = &mut self.keepers[to].role else { return };
                if joined.first != from || joined.number != number {
                    return;
                }
                joined.heard_ms = self.now;
                let is_over = command == NodeCommand::Over;
                for report in self.obey(to, command) {
                    self.post_peer(from, PeerLetter::Report { number, report }, to);
                }
                if is_over {
                    self.keepers_exit(to);
                }
            }
            PeerLetter::Closed => self.peer_closed(to, from),
            PeerLetter::Report { number, report } => {
                let now = self.now;
                let Role::First(first) = &mut self.keepers[to].role else { return };
                let Some((member, heard)) = first.members.get_mut(&number).filter(|(member, _)| *member == from) else {
                    return;
                };
                let _ = member;
                *heard = now;
                if let Some(node) = first.order.iter().position(|seated| *seated == number) {
                    self.feed(to, RunInput::Reported { node, report });
                }
            }
        }
    }

    /// A member tries to join the first node of its run.
    pub fn join(&mut self, index: usize) {
        if !self.keepers[index].is_up || !matches!(self.keepers[index].role, Role::Member(None)) {
            return;
        }
        let run = self.keepers[index].run.clone();
        let is_first = |keepers: &Keepers| {
            keepers.is_up
                && matches!(keepers.role, Role::First(_))
                && keepers.run.task == run.task
                && keepers.run.generation == run.generation
        };
        let first = self.keepers.iter().position(is_first);
        let greeting = greeting(&self.keepers[index].assignment);
        let now = self.now;
        if let Some(at) = first.filter(|first| self.can_talk(*first, index))
            && let Role::First(first) = &mut self.keepers[at].role
            && first.is_assembling
            && let Ok(number) = first.assembly.welcome(&greeting)
        {
            first.members.insert(number, (index, now));
            self.keepers[index].role = Role::Member(Some(Joined { first: at, number, heard_ms: now }));
            if let Some(assembled) = self.assembled(at) {
                self.feed(at, assembled);
            }
            return;
        }
        let at = self.soon(200..600);
        let Keepers { joins_since_ms, assignment, .. } = &self.keepers[index];
        if now - joins_since_ms >= assignment.policy.join_timeout_ms {
            self.member_ends(index);
            return;
        }
        self.at(at, Event::Join { keepers: index });
    }

    /// Each second: who is dead, who is silent.
    pub fn peer_check(&mut self, index: usize) {
        if !self.keepers[index].is_up {
            return;
        }
        let patience = self.keepers[index].assignment.policy.node_lost_after_ms;
        let now = self.now;
        match &self.keepers[index].role {
            Role::First(first) => {
                let members: Vec<(usize, usize, u64)> =
                    first.members.iter().map(|(number, (member, heard))| (*number, *member, *heard)).collect();
                for (number, member, heard) in members {
                    if self.can_talk(index, member) && self.keepers[member].is_up {
                        if let Role::First(first) = &mut self.keepers[index].role
                            && let Some((_, heard)) = first.members.get_mut(&number)
                        {
                            *heard = now;
                        }
                    } else if now - heard >= patience {
                        self.lose(index, number, Loss::Silent);
                    }
                    if !self.keepers[index].is_up {
                        return;
                    }
                }
            }
            Role::Member(Some(joined)) => {
                let (first, heard) = (joined.first, joined.heard_ms);
                if !self.can_talk(index, first) || !self.keepers[first].is_up {
                    if now - heard >= patience {
                        self.tell(|world| format!("{} hears nothing of its first node", world.keepers[index].run));
                        self.end_ranks(index);
                        self.post_peer(first, PeerLetter::Closed, index);
                        self.keepers[index].role = Role::Member(None);
                        if self.keepers[index].assignment.policy.restarts.max_restarts == 0 {
                            self.member_ends(index);
                            return;
                        }
                        self.keepers[index].joins_since_ms = now;
                        self.at(now + 1, Event::Join { keepers: index });
                    }
                } else if let Role::Member(Some(joined)) = &mut self.keepers[index].role {
                    joined.heard_ms = now;
                }
            }
            Role::Member(None) => {}
        }
        self.at(now + LOOK_EVERY_MS, Event::PeerCheck { keepers: index });
    }

    fn peer_closed(&mut self, to: usize, from: usize) {
        match &self.keepers[to].role {
            Role::First(first) => {
                let number = first.members.iter().find(|(_, (member, _))| *member == from).map(|(number, _)| *number);
                if let Some(number) = number {
                    self.lose(to, number, Loss::SupervisorDied);
                }
            }
            Role::Member(Some(joined)) if joined.first == from => self.member_ends(to),
            Role::Member(_) => {}
        }
    }

    /// The kernel closes the connections of a process that ends.
    fn close_links(&mut self, index: usize) {
        let peers: Vec<usize> = match &self.keepers[index].role {
            Role::First(first) => first.members.values().map(|(member, _)| *member).collect(),
            Role::Member(joined) => joined.iter().map(|joined| joined.first).collect(),
        };
        for peer in peers {
            self.post_peer(peer, PeerLetter::Closed, index);
        }
    }

    fn member_ends(&mut self, index: usize) {
        let verdict = Box::new(Verdict::of(VerdictKind::supervisor_lost("")));
        self.end_ranks(index);
        self.record(index, RunEvent::RunEnded { outcome: Outcome::Failed, attempts: 0, verdict });
        self.keepers_exit(index);
    }

    fn lose(&mut self, index: usize, number: usize, loss: Loss) {
        let Role::First(first) = &mut self.keepers[index].role else { return };
        first.members.remove(&number);
        first.assembly.leave(number);
        if let Some(node) = first.order.iter().position(|seated| *seated == number) {
            self.feed(index, RunInput::NodeLost { node, loss });
        }
    }

    /// Does what a node is told.
    fn obey(&mut self, index: usize, command: NodeCommand) -> Vec<NodeReport> {
        match command {
            NodeCommand::Start(start) => self.start_ranks(index, start.attempt),
            NodeCommand::Signal { signal } => {
                let ranks: Vec<(u32, u32)> = self.keepers[index].alive.iter().map(|(r, a)| (*r, *a)).collect();
                for (rank, attempt) in ranks {
                    let at = self.soon(1..60);
                    self.at(at, Event::RankEnds { keepers: index, rank, attempt, exit: killed(signal) });
                }
                Vec::new()
            }
            NodeCommand::Kill => {
                let ranks: Vec<(u32, u32)> = self.keepers[index].alive.iter().map(|(r, a)| (*r, *a)).collect();
                for (rank, attempt) in ranks {
                    let at = self.soon(1..5);
                    self.at(at, Event::RankEnds { keepers: index, rank, attempt, exit: killed(libc::SIGKILL) });
                }
                Vec::new()
            }
            NodeCommand::CheckJoined => vec![NodeReport::NotJoined { missing: Vec::new(), ranks: Vec::new() }],
            NodeCommand::Sweep => {
                self.end_ranks(index);
                vec![NodeReport::Swept]
            }
            NodeCommand::Tell(event) => {
                if let Some(event) = event {
                    self.record(index, *event);
                }
                Vec::new()
            }
            NodeCommand::Survey(_) => {
                vec![NodeReport::Surveyed { found: NodeCheckpoints::default(), mark: None }]
            }
            NodeCommand::Over | NodeCommand::Begun { .. } | NodeCommand::Alive | NodeCommand::Pong { .. } => Vec::new(),
        }
    }

    fn start_ranks(&mut self, index: usize, attempt: u32) -> Vec<NodeReport> {
        let Keepers { run, machine, assignment, .. } = &self.keepers[index];
        let (run, machine, world) = (run.clone(), *machine, assignment.launch.world_size);
        let ranks: Vec<(u32, u32)> =
            assignment.launch.ranks.iter().map(|rank| (rank.rank.get(), rank.worker.index())).collect();
        self.tell(|_| format!("ranks {ranks:?} of {run} start attempt {attempt} on machine {machine}"));
        let mut reports = Vec::new();
        for (rank, worker) in ranks {
            let launch = (run.generation, attempt);
            self.truth.rank_started(self.now, &run.task, launch, rank, (machine, worker), world);
            self.keepers[index].alive.insert(rank, attempt);
            let bytes = GrowingBytes::default();
            bytes.append(format!("{run} {attempt} {rank}\n").as_bytes());
            self.truth.streams.insert((run.task.clone(), launch, rank), bytes.clone());
            if let Some(files) = self.files(index) {
                files.streams.insert((attempt, rank), bytes);
            }
            self.record(index, RunEvent::RankStarted { attempt, rank, local_rank: 0, pid: 1 });
            reports.push(NodeReport::RankStarted { rank, local_rank: 0, pid: 1 });
            let (after, exit) = self.fate(&run, attempt, rank, world);
            self.at(self.now + after, Event::RankEnds { keepers: index, rank, attempt, exit });
        }
        reports
    }

    /// How an attempt would end if nothing came between: the same for all its ranks, whoever asks.
    fn fate(&self, run: &RunKey, attempt: u32, rank: u32, world: u32) -> (u64, Exit) {
        let task: u64 = run.task.as_str().bytes().fold(0, |sum, byte| sum * 31 + u64::from(byte));
        let seed = self.seed ^ task ^ run.generation.0.wrapping_mul(7_919) ^ (u64::from(attempt) << 32);
        let mut rng = fastrand::Rng::with_seed(seed);
        let lasts = rng.u64(500..20_000);
        let failing = (rng.u8(..4) == 0).then(|| rng.u32(..world.max(1)));
        let jitter = u64::from(rank) * 3;
        match failing {
            Some(failing) if failing == rank => (lasts / 2, Exit::Code { code: 1 }),
            // They would go on until they are ended.
            Some(_) => (lasts * 20, Exit::SUCCESS),
            None => (lasts + jitter, Exit::SUCCESS),
        }
    }

    pub fn rank_ends(&mut self, index: usize, rank: u32, attempt: u32, exit: Exit) {
        if self.keepers[index].alive.get(&rank) != Some(&attempt) {
            return;
        }
        self.rank_gone(index, rank, attempt, exit.is_success());
        if !self.keepers[index].is_up {
            return;
        }
        self.record(index, RunEvent::RankExited { attempt, rank, local_rank: 0, pid: 1, exit: exit.clone() });
        let failure = Box::new(Failure::default());
        let (pid, reached) = (1, None);
        let report = NodeReport::RankEnded { rank, local_rank: 0, pid, exit, failure, made_progress: true, reached };
        match &self.keepers[index].role {
            Role::First(first) => {
                if let Some(node) = first.order.iter().position(|number| *number == 0) {
                    self.feed(index, RunInput::Reported { node, report });
                }
            }
            Role::Member(Some(joined)) => {
                let (first, number) = (joined.first, joined.number);
                self.post_peer(first, PeerLetter::Report { number, report }, index);
            }
            Role::Member(None) => {}
        }
    }

    fn rank_gone(&mut self, index: usize, rank: u32, attempt: u32, is_success: bool) {
        let Keepers { run, machine, assignment, .. } = &self.keepers[index];
        let ranks = &assignment.launch.ranks;
        let worker = ranks.iter().find(|known| known.rank.get() == rank).map_or(0, |known| known.worker.index());
        let (run, machine) = (run.clone(), *machine);
        self.keepers[index].alive.remove(&rank);
        if let Some(bytes) = self.truth.streams.get(&(run.task.clone(), (run.generation, attempt), rank)) {
            bytes.append(b"end\n");
        }
        self.truth.rank_ended(&run.task, (run.generation, attempt), (machine, worker), is_success);
        let agent = self.keepers[index].agent;
        self.wrote(agent, &run, Some((attempt, rank)));
    }

    /// All ranks of a run are ended at once.
    pub fn end_ranks(&mut self, index: usize) {
        let ranks: Vec<(u32, u32)> =
            self.keepers[index].alive.iter().map(|(rank, attempt)| (*rank, *attempt)).collect();
        for (rank, attempt) in ranks {
            self.rank_gone(index, rank, attempt, false);
        }
    }

    /// The keepers are done, or dead with all that they held.
    pub fn keepers_exit(&mut self, index: usize) {
        self.keepers[index].is_up = false;
        self.close_links(index);
        self.end_ranks(index);
        self.watch_soon(index);
    }

    fn watch_soon(&mut self, index: usize) {
        let Keepers { agent, run, .. } = &self.keepers[index];
        let (agent, run) = (*agent, run.clone());
        let life = self.agents[agent].life;
        let at = self.soon(1..30);
        self.at(at, Event::Watch { agent, life, run });
    }

    /// Both keepers die at once: their ranks go on until somebody finds them.
    pub fn kill_both_keepers(&mut self, index: usize) {
        if self.keepers[index].lease_until_ms.is_some() {
            // Ranks die with their supervisor; what has forked away from them is beyond a lease until the agent looks.
            self.keepers_exit(index);
            return;
        }
        self.keepers[index].is_up = false;
        self.close_links(index);
        self.watch_soon(index);
    }

    pub fn signal_keepers(&mut self, index: usize, signal: i32) {
        if !self.keepers[index].is_up {
            return;
        }
        if signal == libc::SIGKILL {
            self.keepers_exit(index);
            return;
        }
        match &self.keepers[index].role {
            Role::First(_) => self.feed(index, RunInput::StopAsked { signal }),
            Role::Member(_) => {}
        }
    }

    /// The agent's watch on a run: when nobody holds its lock any more, what is left of it is swept, and it is over.
    pub fn watch(&mut self, agent: usize, life: u32, run: &RunKey) {
        if !self.agents[agent].is_up || self.agents[agent].life != life {
            return;
        }
        let Some(keepers) = self.agents[agent].folder.runs.get(run).and_then(|files| files.keepers) else {
            // A folder that was copied here with nothing behind it.
            self.agent_hears(agent, fermi_agent::run_registry::AgentInput::KeepersGone(run.clone()));
            return;
        };
        if !self.keepers[keepers].is_up {
            self.end_ranks(keepers);
            self.agent_hears(agent, fermi_agent::run_registry::AgentInput::KeepersGone(run.clone()));
        }
    }

    /// What an agent does at its start: it ends what dead keepers left.
    pub fn sweep_orphans(&mut self, agent: usize) {
        let found: Vec<usize> = self.agents[agent].folder.runs.values().filter_map(|files| files.keepers).collect();
        for keepers in found {
            if !self.keepers[keepers].is_up {
                self.end_ranks(keepers);
            }
        }
    }
}

fn killed(signal: i32) -> Exit {
    Exit::Signal { signal, core_dumped: false }
}

fn greeting(assignment: &Assignment) -> Greeting {
    Greeting {
        version: LINK_VERSION,
        fermi: String::new(),
        run: String::new(),
        secret: String::new(),
        name: assignment.launch.node_name.clone(),
        node_rank: Some(assignment.run.node_rank.0),
        ranks: u32::try_from(assignment.launch.ranks.len()).unwrap_or(u32::MAX),
        tells_checkpoints: true,
        meets_at_hosted_store: true,
        role: None,
    }
}
