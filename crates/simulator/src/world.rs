//! Everything together, under one queue of events and one clock.

mod acts;
mod machines;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::Instant;

use fastrand::Rng;
use fermi_agent::run_registry::AgentInput;
use fermi_agent::upload::Piece;
use fermi_domain::exit::Exit;
use fermi_domain::fleet::{JournalSent, OFFLINE_AFTER};
use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::task::RunKey;

use crate::agent::{Agent, Folder, Letter, Link, Machine};
use crate::followers::Follower;
use crate::lines::Lines;
use crate::operators::Request;
use crate::plan::{Action, FAULTS_END_MS, MACHINES, Plan};
use crate::server::Server;
use crate::supervisor::{Keepers, PeerLetter};
use crate::truth::{Truth, Violation};
use crate::uploads::Clock;

/// How long everything has to come to rest once faults have ended.
const PATIENCE_MS: u64 = 900_000;
const TICK_MS: u64 = 1_000;
/// More than a history has that comes to rest.
const MOST_STEPS: u32 = 200_000;

/// What is due.
#[derive(Clone, Debug)]
pub enum Event {
    Do(Action),
    Tick,
    Reconcile,
    ServerBack,
    AgentBack {
        agent: usize,
    },
    MachineBack {
        machine: usize,
    },
    Dial {
        agent: usize,
        life: u32,
    },
    Deliver {
        link: usize,
        letter: Letter,
    },
    LinkEnds {
        link: usize,
    },
    Prepared {
        agent: usize,
        life: u32,
        run: RunKey,
    },
    Watch {
        agent: usize,
        life: u32,
        run: RunKey,
    },
    Upload {
        agent: usize,
        life: u32,
    },
    LatePiece {
        environment: EnvironmentId,
        epoch: Option<u64>,
        run: RunKey,
        stream: Option<(u32, u32)>,
        offset: u64,
        bytes: Vec<u8>,
    },
    KeepersUp {
        keepers: usize,
    },
    CoordinatorWake {
        keepers: usize,
    },
    Join {
        keepers: usize,
    },
    PeerCheck {
        keepers: usize,
    },
    Peer {
        to: usize,
        from: usize,
        letter: PeerLetter,
    },
    RankEnds {
        keepers: usize,
        rank: u32,
        attempt: u32,
        exit: Exit,
    },
    /// A person asks again for a task, whose request was not answered; the second one is the id that it has got.
    AskAgain {
        request: Request,
        known: Option<TaskId>,
    },
    Repaired,
    LostForGood(Vec<usize>),
}

#[derive(Debug)]
struct Entry {
    at: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The earliest is the greatest, as the heap wants it.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

#[derive(Debug)]
pub struct World {
    pub seed: u64,
    pub now: u64,
    pub rng: Rng,
    pub clock: Clock,
    queue: BinaryHeap<Entry>,
    next_number: u64,
    pub server: Server,
    pub machines: Vec<Machine>,
    pub agents: Vec<Agent>,
    pub keepers: Vec<Keepers>,
    pub links: Vec<Link>,
    pub lines: Lines,
    pub truth: Truth,
    /// One that reads after every step, and one that reads now and then.
    pub followers: [Follower; 2],
    is_reconcile_due: bool,
    pub(crate) next_key: u32,
    pub(crate) created: Vec<TaskId>,
    story: Option<Vec<String>>,
}

impl World {
    pub fn new(plan: &Plan, is_told: bool) -> Self {
        let mut world = Self {
            seed: plan.seed,
            now: 0,
            rng: Rng::with_seed(plan.seed),
            clock: Clock::new(),
            queue: BinaryHeap::new(),
            next_number: 0,
            server: Server::new(),
            machines: Vec::new(),
            agents: Vec::new(),
            keepers: Vec::new(),
            links: Vec::new(),
            lines: Lines::default(),
            truth: Truth::default(),
            followers: Default::default(),
            is_reconcile_due: false,
            next_key: 0,
            created: Vec::new(),
            story: is_told.then(Vec::new),
        };
        for number in 0..MACHINES {
            world.machines.push(Machine { id: format!("m{number}"), is_up: true, ..Machine::default() });
            let folder = Folder { instance: format!("i{number}"), ..Folder::default() };
            world.agents.push(Agent::new(format!("gn{number}"), number, folder));
            world.start_agent(number);
        }
        world.at(1, Event::Tick);
        for (at, action) in &plan.actions {
            world.at(*at, Event::Do(*action));
        }
        world.at(FAULTS_END_MS, Event::Repaired);
        world.at(FAULTS_END_MS + 20_000, Event::LostForGood((0..MACHINES).collect()));
        world
    }

    /// Plays to the end. The answer is the promise that did not hold.
    pub fn play(&mut self) -> Option<Violation> {
        let mut steps = 0u32;
        while let Some(Entry { at, event, .. }) = self.queue.pop() {
            self.now = self.now.max(at);
            steps += 1;
            if steps > MOST_STEPS {
                let what = format!("{steps} steps by {} s, the last one {event:?}", self.now / 1_000);
                self.truth.broken(self.now, "nothing is tried without end", what);
                break;
            }
            if self.now > FAULTS_END_MS + PATIENCE_MS {
                break;
            }
            self.step(event);
            if let Some(back_after_ms) = self.server.disk.take_death() {
                self.kill_server();
                self.at(self.now + back_after_ms, Event::ServerBack);
            }
            self.followers[0].read(&self.server, &mut self.truth, self.now);
            if self.truth.violation.is_some() {
                return self.truth.violation.take();
            }
            if self.now > FAULTS_END_MS + 25_000 && self.is_at_rest() {
                break;
            }
        }
        if self.truth.violation.is_none() {
            self.check_rest();
        }
        self.truth.violation.take()
    }

    pub fn story(&mut self) -> Vec<String> {
        self.story.take().unwrap_or_default()
    }

    /// Notes what happens, when somebody wants to read it.
    pub fn tell(&mut self, what: impl FnOnce(&Self) -> String) {
        if self.story.is_some() {
            let line = format!("{:>8.3} s  {}", self.now as f64 / 1e3, what(self));
            self.story.get_or_insert_default().push(line);
        }
    }

    pub fn at(&mut self, at: u64, event: Event) {
        self.next_number += 1;
        let number = self.next_number;
        self.queue.push(Entry { at: at.max(self.now), number, event });
    }

    pub fn soon(&mut self, range: Range<u64>) -> u64 {
        self.now + self.rng.u64(range)
    }

    pub fn instant(&self) -> Instant {
        self.clock.instant(self.now)
    }

    pub fn ring_server(&mut self) {
        if self.server.is_up && !self.is_reconcile_due {
            self.is_reconcile_due = true;
            self.at(self.now + 3, Event::Reconcile);
        }
    }

    /// Which machine an event happens on: nothing does while it stands still.
    fn machine_of(&self, event: &Event) -> Option<usize> {
        match event {
            Event::Dial { agent, .. }
            | Event::Prepared { agent, .. }
            | Event::Watch { agent, .. }
            | Event::Upload { agent, .. } => Some(self.agents[*agent].machine),
            Event::Deliver { link, letter: Letter::Welcome { .. } | Letter::ToAgent(_) } | Event::LinkEnds { link } => {
                Some(self.agents[self.links[*link].agent].machine)
            }
            Event::KeepersUp { keepers }
            | Event::CoordinatorWake { keepers }
            | Event::Join { keepers }
            | Event::PeerCheck { keepers }
            | Event::RankEnds { keepers, .. } => Some(self.keepers[*keepers].machine),
            Event::Peer { to, .. } => Some(self.keepers[*to].machine),
            _ => None,
        }
    }

    fn step(&mut self, event: Event) {
        if let Some(machine) = self.machine_of(&event)
            && self.now < self.machines[machine].paused_until
        {
            let at = self.machines[machine].paused_until;
            self.at(at, event);
            return;
        }
        match event {
            Event::Do(action) => self.act(action),
            Event::Tick => self.tick(),
            Event::Reconcile => self.reconcile(),
            Event::ServerBack => self.start_server(),
            Event::AgentBack { agent } => self.start_agent(agent),
            Event::MachineBack { machine } => self.start_machine(machine),
            Event::Dial { agent, life } => self.dial(agent, life),
            Event::Deliver { link, letter } => self.deliver(link, letter),
            Event::LinkEnds { link } => self.link_ends(link),
            Event::Prepared { agent, life, run } => {
                if self.agents[agent].is_up && self.agents[agent].life == life {
                    self.agent_hears(agent, AgentInput::Prepared(run));
                }
            }
            Event::Watch { agent, life, run } => self.watch(agent, life, &run),
            Event::Upload { agent, life } => self.upload_once(agent, life),
            Event::LatePiece { environment, epoch, run, stream, offset, bytes } => {
                if self.server.is_up && self.server.is_of_epoch(epoch) {
                    self.late_piece(&environment, &run, stream, offset, &bytes);
                }
            }
            Event::KeepersUp { keepers } => self.keepers_up(keepers),
            Event::CoordinatorWake { keepers } => self.coordinator_wake(keepers),
            Event::Join { keepers } => self.join(keepers),
            Event::PeerCheck { keepers } => self.peer_check(keepers),
            Event::Peer { to, from, letter } => self.peer(to, from, letter),
            Event::RankEnds { keepers, rank, attempt, exit } => self.rank_ends(keepers, rank, attempt, exit),
            Event::AskAgain { request, known } => self.ask_again(request, known),
            Event::Repaired => self.repair(),
            Event::LostForGood(machines) => self.declare_the_vanished_lost(&machines),
        }
    }

    fn late_piece(
        &mut self,
        environment: &EnvironmentId,
        run: &RunKey,
        stream: Option<(u32, u32)>,
        offset: u64,
        bytes: &[u8],
    ) {
        match stream {
            None => {
                let piece = (offset, bytes);
                self.server.take_journal(environment, run, piece, self.now, &self.lines, &mut self.truth);
            }
            Some(stream) => {
                let piece = Some(Piece { offset, bytes, journal: JournalSent::Partly });
                self.server.take_stream(environment, run, stream, piece, self.now, &mut self.truth);
            }
        }
    }

    fn tick(&mut self) {
        self.at(self.now + TICK_MS, Event::Tick);
        self.end_leases();
        self.try_disks_again();
        if !self.server.is_up {
            return;
        }
        let seconds = self.now / TICK_MS;
        if seconds.is_multiple_of(7) {
            self.followers[1].read(&self.server, &mut self.truth, self.now);
        }
        if seconds.is_multiple_of(5) {
            self.server.let_go(self.now, &mut self.truth);
        }
        for link in 0..self.links.len() {
            if self.links[link].is_dead {
                continue;
            }
            let machine = &self.machines[self.agents[self.links[link].agent].machine];
            let is_heard = machine.is_up && self.now >= machine.cut_to_server_until && self.now >= machine.paused_until;
            let environment = self.links[link].environment.clone();
            let is_answered = is_heard && self.now >= machine.cut_to_agent_until;
            if is_heard {
                self.server.heard(&environment, link, self.now);
            }
            if is_answered {
                let agent = self.links[link].agent;
                self.server_answered(agent, self.now);
            }
        }
        let offline = u64::try_from(OFFLINE_AFTER.as_millis()).unwrap_or(u64::MAX);
        for link in self.server.silent_links(self.now, offline) {
            let environment = self.links[link].environment.clone();
            self.server.link_ended(&environment, link);
            self.break_link(link);
        }
        if self.now > FAULTS_END_MS + 20_000 {
            self.end_strays();
        }
        self.reconcile();
    }

    fn reconcile(&mut self) {
        self.is_reconcile_due = false;
        if !self.server.is_up {
            return;
        }
        for (link, message) in self.server.reconcile(self.now, &mut self.truth) {
            self.post(link, Letter::ToAgent(Box::new(message)));
        }
        if self.server.is_rung {
            self.ring_server();
        }
    }
}
