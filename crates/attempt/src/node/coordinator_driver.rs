//! Drives the coordinator: what happens goes in, and its decisions go to this node and, over links, to all others.

mod loss;
mod refusals;
mod start_up;
mod waiting;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use fermi_domain::checkpoint::ResumePlan;
use fermi_domain::event::{Outcome, RunEvent};
use fermi_domain::hang::Demand;
use fermi_domain::language::Explained;
use fermi_domain::ledger::Measured;
use fermi_domain::verdict::{Verdict, VerdictKind};
use fermi_process::clock::Monotonic;

use super::local_node::Node;
use super::peers::{self, PeerNews, Peers, Silence};
use super::pending_peers::PendingPeer;
use super::start_up::StartUpWatch;
use crate::assembly::{Assembly, node_positions};
use crate::bundle::NodeBundle;
use crate::coordinator::{Coordinator, Loss, NodeRanks, Policy, RunEffect, RunInput};
use crate::greeting::{Greeting, Terms};
use crate::join_refusal::JoinRefusal;
use crate::link::JoinAnswer;
use crate::node_message::{MarkDuty, NodeCommand, NodePosition, NodeReport, Start, Survey};
use crate::port::Lease;
use crate::serves::{Served, Serving};
use refusals::Refusals;
use waiting::{cannot_listen, is_join_timeout};

/// A node that was silent so long is shown as suspect.
const SUSPECT_AFTER: Duration = Duration::from_secs(4);
/// At a restart an elastic run listens so long for nodes that want to join, and not longer.
const RESTART_CALL: Duration = Duration::from_millis(1_000);
/// How often links are looked over for silence.
const LOOK_EVERY: Duration = Duration::from_millis(250);
#[derive(Debug)]
pub struct CoordinatorDriver {
    coordinator: Coordinator,
    clock: Monotonic,
    lease: Lease,
    assembly: Assembly,
    own_position: NodePosition,
    is_elastic: bool,
    peers: Peers,
    refusals: Refusals,
    serving: Serving,
    /// The assembly numbers of nodes that go at the next assembling, and their signals.
    leaving: BTreeMap<usize, i32>,
    /// When the links were last looked over for silence.
    looked: Instant,
    /// Assembly numbers in the order of node ranks; the own node is number 0.
    order: Vec<usize>,
    positions: Vec<NodePosition>,
    reminded: Instant,
    /// Until when an elastic run that has enough nodes waits for more.
    last_call: Option<Instant>,
    has_started: bool,
    /// The attempt for which the own node looks at its checkpoints and the others are not asked yet.
    surveyed: Option<u32>,
    /// What the ranks of some node wait for that did not move then.
    begun: Demand,
    /// What the ranks of each node have counted in the attempt that ends.
    measured: BTreeMap<usize, Measured>,
    is_over: bool,
    /// The nodes of the attempt in the order of node ranks.
    nodes: Vec<NodeRanks>,
    start_up: StartUpWatch,
}

impl CoordinatorDriver {
    pub fn new(bundle: &NodeBundle, lease: Lease) -> io::Result<Self> {
        let gathering = &bundle.gathering;
        let policy = Policy {
            restarts: bundle.restarts,
            ladder: bundle.ladder.clone(),
            start_timeout_ms: bundle.start_timeout_ms,
            join_timeout_ms: gathering.join_timeout_ms,
            elastic: gathering.is_elastic(),
            resume: bundle.resume,
            attempts_before: bundle.attempts_before,
        };
        let mut assembly = Assembly::new(Terms::of(gathering), gathering.run.clone());
        // Our own greeting is right by construction, so there is always a node number 0.
        let _ = assembly.welcome(&Greeting::of(bundle));
        Ok(Self {
            coordinator: Coordinator::new(policy),
            clock: Monotonic::start(),
            lease,
            assembly,
            own_position: bundle.own_position(),
            is_elastic: gathering.is_elastic(),
            peers: Peers::new(gathering.nodes, bundle.node_name.clone(), gathering.secret.clone())?,
            refusals: Refusals::new(Instant::now()),
            serving: Serving::default(),
            leaving: BTreeMap::new(),
            looked: Instant::now(),
            order: Vec::new(),
            positions: Vec::new(),
            reminded: Instant::now(),
            last_call: None,
            has_started: false,
            surveyed: None,
            begun: Demand::new(),
            measured: BTreeMap::new(),
            is_over: false,
            nodes: Vec::new(),
            start_up: StartUpWatch::default(),
        })
    }

    /// The port that is held for rank 0.
    pub fn port(&self) -> u16 {
        self.lease.port
    }

    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// When something is due even if nothing happens.
    pub fn wake_in(&self) -> Option<Duration> {
        let due = self.coordinator.wake_at().map(|at| Duration::from_millis(at.saturating_sub(self.clock.ms())));
        let beat = (!self.peers.is_alone()).then_some(LOOK_EVERY);
        due.into_iter().chain(beat).chain(self.start_up.wake_in()).min()
    }

    /// Readable when a node connects or sends something.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.peers.as_fd()
    }

    pub fn begin(&mut self, node: &mut Node) {
        self.feed(RunInput::Begin, node);
    }

    /// Passes on what this node's user or launcher wants.
    pub fn stop_asked(&mut self, signal: i32, node: &mut Node) {
        self.feed(RunInput::StopAsked { signal }, node);
    }

    pub fn kill_asked(&mut self, node: &mut Node) {
        self.feed(RunInput::KillAsked, node);
    }

    /// One look at everything outside: links, ranks, time.
    pub fn turn(&mut self, is_readable: bool, node: &mut Node) {
        if is_readable {
            for news in self.peers.look() {
                self.take_news(news, node);
            }
        }
        let reports = node.look();
        self.take_reports(0, reports, node);
        if node.executor.asks_other_nodes() {
            // Only where all have told how their ranks stand, so that all understand it.
            let ask = NodeCommand::Begun { collectives: 0, groups: Demand::new(), asks: true };
            for number in self.order.iter().filter(|number| **number != 0) {
                self.peers.send(*number, &ask);
            }
        }
        if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            self.mind_silence(node);
            self.remind(node);
            self.mind_start_up(node);
        }
        if let Some(assembled) = self.assembled() {
            self.feed(assembled, node);
        }
        if !self.is_over {
            self.feed(RunInput::TimePassed, node);
        }
    }

    /// Lets the other nodes have what was sent to them at last.
    pub fn finish(&mut self) {
        self.peers.finish();
    }

    /// Gives the coordinator its input and does what it wants, until it wants nothing more.
    fn feed(&mut self, input: RunInput, node: &mut Node) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for effect in self.coordinator.on(input, self.clock.ms()) {
                inputs.extend(self.carry_out(effect, node));
            }
        }
    }

    fn carry_out(&mut self, effect: RunEffect, node: &mut Node) -> Vec<RunInput> {
        if !matches!(effect, RunEffect::Tell(_) | RunEffect::CheckJoined | RunEffect::StartRanks { .. }) {
            self.start_up.rest();
        }
        let command = match effect {
            RunEffect::Assemble => return self.assemble(node),
            RunEffect::SurveyCheckpoints { attempt } => return self.survey(attempt, node),
            RunEffect::StartRanks { attempt, plan } => return self.start(attempt, plan, node),
            RunEffect::Tell(event) => return self.tell_all(event, node),
            RunEffect::SignalRanks { signal } => NodeCommand::Signal { signal },
            RunEffect::KillRanks => NodeCommand::Kill,
            RunEffect::CheckJoined => NodeCommand::CheckJoined,
            RunEffect::Sweep => NodeCommand::Sweep,
            RunEffect::Finish => {
                self.is_over = true;
                NodeCommand::Over
            }
        };
        self.send_to_all(&command, node)
    }

    /// Listens for nodes, unless none is missing.
    fn assemble(&mut self, node: &mut Node) -> Vec<RunInput> {
        // The port is the listener's now.
        self.serving.stop();
        self.release_leaving();
        if !self.assembly.is_full()
            && let Err(error) = self.peers.listen(self.lease.port)
        {
            // No node can join, and the time-out says so.
            node.record(RunEvent::Waiting { text: cannot_listen(self.lease.port, &error) });
        }
        // Where enough are there, the run starts before the time-out of those who are missing would end it.
        let gathering = &node.bundle().gathering;
        let first_call = Duration::from_millis(gathering.last_call_ms.min(gathering.join_timeout_ms / 10 * 9));
        let call = if self.has_started { RESTART_CALL } else { first_call };
        self.last_call = Some(Instant::now() + call);
        self.reminded = Instant::now();
        self.assembled().into_iter().collect()
    }

    /// Lets those go who want to: for them the run is over.
    fn release_leaving(&mut self) {
        for (number, signal) in std::mem::take(&mut self.leaving) {
            let (outcome, verdict) = (Outcome::Stopped { signal }, Box::new(Verdict::of(VerdictKind::StoppedByUser)));
            let ended = RunEvent::RunEnded { outcome, attempts: self.coordinator.attempts(), verdict };
            self.peers.send(number, &NodeCommand::Tell(Some(Box::new(ended))));
            self.peers.send(number, &NodeCommand::Over);
            self.peers.release(number);
            self.assembly.leave(number);
        }
    }

    /// The nodes of the attempt, when all are there, or enough and the last call is over.
    fn assembled(&mut self) -> Option<RunInput> {
        let last_call = self.last_call?;
        let is_called = self.assembly.is_enough() && Instant::now() >= last_call;
        if !self.assembly.is_full() && !is_called {
            return None;
        }
        self.peers.stop_listening();
        self.last_call = None;
        self.has_started = true;
        let (order, mut nodes): (Vec<usize>, Vec<NodeRanks>) = self.assembly.node_ranks().into_iter().unzip();
        self.order = order;
        self.positions = node_positions(&nodes);
        if let ([only], false) = (nodes.as_mut_slice(), self.is_elastic) {
            // Alone, the node's own count is right: it may be one rank of a world that others start.
            let ranks = only.ranks.end - only.ranks.start;
            only.ranks = self.own_position.first_rank..self.own_position.first_rank + ranks;
            self.positions = vec![self.own_position.clone()];
        }
        self.nodes = nodes.clone();
        Some(RunInput::Assembled { nodes })
    }

    /// Asks the own node first: it leaves the mark that the others look for. They are asked when it has answered.
    fn survey(&mut self, attempt: u32, node: &mut Node) -> Vec<RunInput> {
        self.surveyed = Some(attempt);
        let mark = if self.order.len() > 1 { MarkDuty::Leave } else { MarkDuty::Nothing };
        let own = self.order.iter().position(|number| *number == 0);
        own.map(|index| self.send_survey(index, attempt, mark, node)).unwrap_or_default()
    }

    /// Passes the mark on when the own node has left it.
    fn pass_on_survey(&mut self, report: &NodeReport, node: &mut Node) {
        let NodeReport::Surveyed { mark, .. } = report else { return };
        let Some(attempt) = self.surveyed.take() else { return };
        let duty = mark.clone().map_or(MarkDuty::Nothing, MarkDuty::Find);
        for index in 0..self.order.len() {
            if self.order[index] != 0 {
                // Only the own node has inputs for the coordinator at once.
                let _ = self.send_survey(index, attempt, duty.clone(), node);
            }
        }
    }

    fn send_survey(&mut self, index: usize, attempt: u32, mark: MarkDuty, node: &mut Node) -> Vec<RunInput> {
        let first_rank = self.positions[index].first_rank;
        let survey = Survey { fence: node.bundle().fence(attempt), first_rank, mark };
        self.send(index, NodeCommand::Survey(survey), node)
    }

    fn start(&mut self, attempt: u32, plan: ResumePlan, node: &mut Node) -> Vec<RunInput> {
        self.begun.clear();
        self.measured.clear();
        let master_port = self.lease.port;
        let mut what = Served::of(node.bundle());
        if !self.assembly.all_meet_at_hosted_store() {
            what = what.without_store();
        }
        let run = node.bundle().gathering.run.clone();
        let hosted_store = what == Served::TorchStore;
        let listening = self.serving.listen(what, master_port);
        let master_addr = node.bundle().master_addr.clone();
        let resume = plan.resume;
        let mut inputs = self.tell_all(RunEvent::AttemptStarted { attempt, master_addr, master_port, resume }, node);
        let seats = self.order.iter().zip(&self.nodes);
        let seats = seats.map(|(number, ranks)| (*number, ranks.clone(), self.peers.address_of(*number)));
        // Horovod's ranks call at the port for a moment only: nothing is seen of who has joined.
        self.start_up.begin(attempt, seats.filter(|_| what != Served::HorovodRendezvous));
        let roles = self.assembly.role_positions(&self.order);
        for (index, role) in roles.into_iter().enumerate() {
            let position = self.positions[index].clone();
            let start = Start { hosted_store, role, ..node.bundle().start(attempt, plan, master_port, position) };
            inputs.extend(self.send(index, NodeCommand::Start(start), node));
        }
        if let Err(error) = listening.and_then(|()| self.serving.begin(&JoinAnswer::UnderWay { run })) {
            // Ranks say themselves that the port does not answer.
            node.record(RunEvent::Waiting { text: cannot_listen(master_port, &error) });
        }
        inputs
    }

    fn send_to_all(&mut self, command: &NodeCommand, node: &mut Node) -> Vec<RunInput> {
        (0..self.order.len()).flat_map(|index| self.send(index, command.clone(), node)).collect()
    }

    fn tell_all(&mut self, event: RunEvent, node: &mut Node) -> Vec<RunInput> {
        if self.order.is_empty() {
            if is_join_timeout(&event) {
                self.tell_who_came(node);
            }
            // Before the nodes have their ranks no other node has to be told.
            node.record(event);
            return Vec::new();
        }
        // Nodes of the first release take an event that they do not know for a link that is broken.
        let is_new = matches!(
            event,
            RunEvent::CheckpointsFound { .. }
                | RunEvent::NodeLeaves { .. }
                | RunEvent::RestartHeldBack { .. }
                | RunEvent::RanksWaiting { .. }
                | RunEvent::RanksMet { .. }
        );
        let command = NodeCommand::Tell(Some(Box::new(event)));
        let told: Vec<usize> = (0..self.order.len())
            .filter(|index| !is_new || self.assembly.tells_checkpoints(self.order[*index]))
            .collect();
        told.into_iter().flat_map(|index| self.send(index, command.clone(), node)).collect()
    }

    /// Tells a node what to do: our own at once, another over its link.
    fn send(&mut self, index: usize, command: NodeCommand, node: &mut Node) -> Vec<RunInput> {
        match self.order.get(index) {
            Some(0) => {
                let reports = node.obey(command);
                reports.into_iter().map(|report| RunInput::Reported { node: index, report }).collect()
            }
            Some(number) => {
                self.peers.send(*number, &command);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    fn take_reports(&mut self, number: usize, reports: Vec<NodeReport>, node: &mut Node) {
        for report in &reports {
            if let NodeReport::LeaveAsked { signal } = *report {
                self.leave_asked(number, signal, node);
            }
        }
        let Some(index) = self.order.iter().position(|seated| *seated == number) else { return };
        for report in reports {
            self.mind_hangs(number, &report, node);
            if let NodeReport::RankEnded { rank, .. } = report {
                self.start_up.rank_ended(rank);
            }
            if let NodeReport::NotJoined { missing, ranks } = &report
                && self.start_up.hear(number, missing, ranks)
            {
                continue;
            }
            if matches!(report, NodeReport::LeaveAsked { .. }) {
                continue;
            }
            if number == 0 {
                self.pass_on_survey(&report, node);
            }
            self.feed(RunInput::Reported { node: index, report }, node);
        }
    }

    /// Passes on how far ranks are that do not move, so that the node of those that are behind can name them.
    fn mind_hangs(&mut self, number: usize, report: &NodeReport, node: &mut Node) {
        match report {
            NodeReport::Begun { collectives, groups, standing } => {
                if let Some(standing) = standing.as_deref().filter(|_| number != 0) {
                    node.executor.hear_of_node(number, standing);
                }
                let before = self.begun.clone();
                for (group, begun) in
                    groups.iter().chain([(&String::new(), collectives)]).filter(|(_, begun)| **begun > 0)
                {
                    let most = self.begun.entry(group.clone()).or_default();
                    *most = (*most).max(*begun);
                }
                if self.begun != before {
                    let collectives = self.begun.get("").copied().unwrap_or(0);
                    let groups = self.begun.clone();
                    let _ = self.send_to_all(&NodeCommand::Begun { collectives, groups, asks: false }, node);
                }
            }
            NodeReport::Measured(measured) => self.mind_measured(number, measured, node),
            NodeReport::HangTold { event: Some(event) } if number != 0 => node.record((**event).clone()),
            _ => {}
        }
    }

    /// Which rank was slow is known when all nodes have told how long theirs have waited.
    /// What a node told first counts: the pages of ranks that were swept are there no longer.
    fn mind_measured(&mut self, number: usize, measured: &Measured, node: &mut Node) {
        let is_first = !self.measured.contains_key(&number);
        self.measured.entry(number).or_insert_with(|| measured.clone());
        let Some(own) = self.measured.get(&0).filter(|_| is_first && self.measured.len() == self.order.len()) else {
            return;
        };
        let of_attempt = self.measured.iter().filter(|(number, one)| **number != 0 && one.attempt == own.attempt);
        let all = of_attempt.fold(own.clone(), |all, (_, one)| all.and(one)).event();
        if let Some(all) = all.filter(|all| own.event().as_ref() != Some(all)) {
            node.record(all);
        }
    }

    /// A node wants to go. Where too few would be left, its wish is the end of the run, as in one that is not elastic.
    fn leave_asked(&mut self, number: usize, signal: i32, node: &mut Node) {
        if self.leaving.contains_key(&number) {
            return;
        }
        let stays = self.assembly.can_spare(1 + self.leaving.len());
        let seat = self.order.iter().position(|seated| *seated == number);
        let Some(index) = seat.filter(|_| stays) else {
            match stays {
                // It has come since the attempt began, or before the first one.
                true => {
                    self.leaving.insert(number, signal);
                    self.release_leaving();
                }
                false => self.feed(RunInput::StopAsked { signal }, node),
            }
            return;
        };
        self.leaving.insert(number, signal);
        let name = self.peers.name_of(number).unwrap_or_default().to_owned();
        let mut inputs = self.tell_all(RunEvent::NodeLeaves { name, signal }, node);
        inputs.push(RunInput::NodeLeaves { node: index, signal });
        for input in inputs {
            self.feed(input, node);
        }
    }

    fn take_news(&mut self, news: PeerNews, node: &mut Node) {
        match news {
            // One that comes when the attempt has just begun is let go without a word, and comes again.
            PeerNews::Greeted(..) | PeerNews::Unproven(..) if !self.peers.is_listening() => {}
            PeerNews::Greeted(pending, greeting) => self.greet(*pending, &greeting, node),
            PeerNews::Unproven(pending, greeting, refusal) => self.refuse(*pending, &greeting, refusal, node),
            PeerNews::Reported { number, reports, is_back } => {
                if let Some(name) = is_back {
                    node.record(RunEvent::NodeBack { name });
                }
                self.take_reports(number, reports, node);
            }
            PeerNews::Closed { number, silence, unanswered, is_forged } => {
                if !self.is_over {
                    let gathering = &node.bundle().gathering;
                    let lease = gathering.member_lease_ms().map(Duration::from_millis);
                    let loss = match peers::has_lapsed(unanswered, lease) {
                        _ if is_forged => Loss::LinkForged,
                        true => Loss::LeaseEnded,
                        false => Loss::SupervisorDied,
                    };
                    // That the link is closed is no word of the node's: it is given as long as one that is silent.
                    let patience = Duration::from_millis(gathering.node_lost_after_ms);
                    let may_run = silence.map(|silence| patience.saturating_sub(silence));
                    self.lose(number, loss, may_run, node);
                }
            }
        }
    }

    /// Takes a node in, or sends it away with the reason.
    fn greet(&mut self, pending: PendingPeer, greeting: &Greeting, node: &mut Node) {
        let (name, address) = (greeting.name.clone(), pending.address().to_owned());
        match self.assembly.welcome(greeting) {
            Ok(number) => {
                let coordinator = node.bundle().node_name.clone();
                let welcome =
                    JoinAnswer::Welcome { coordinator, lets_leave: true, answers_pings: true, hears_standings: true };
                if self.peers.welcome(pending, number, name.clone(), &welcome).is_err() {
                    self.assembly.leave(number);
                    return;
                }
                node.record(RunEvent::NodeJoined { name, address, missing: self.assembly.missing() });
                if let Some(assembled) = self.assembled() {
                    self.feed(assembled, node);
                }
            }
            Err(refusal) => self.refuse(pending, greeting, refusal, node),
        }
    }

    /// Sends a node away with the reason, in words that its release knows.
    fn refuse(&mut self, pending: PendingPeer, greeting: &Greeting, refusal: JoinRefusal, node: &mut Node) {
        if self.refusals.may_be_told(Instant::now()) {
            let (name, address) = (greeting.name.clone(), pending.address().to_owned());
            node.record(RunEvent::NodeRefused { name, address, text: refusal.text() });
        }
        pending.refuse(&JoinAnswer::Refused(refusal.as_known_to(greeting.version)));
    }

    fn mind_silence(&mut self, node: &mut Node) {
        let patience = Duration::from_millis(node.bundle().gathering.node_lost_after_ms);
        for silence in self.peers.mind_silence(SUSPECT_AFTER.min(patience / 2), patience) {
            match silence {
                Silence::Suspect { name, silent_ms } => node.record(RunEvent::NodeSuspect { name, silent_ms }),
                Silence::Lost(number) => self.lose(number, Loss::Silent, Some(Duration::ZERO), node),
            }
        }
    }

    /// Gives up a node, whose ranks may run for so long yet; none where it has said that they do not.
    fn lose(&mut self, number: usize, loss: Loss, may_run: Option<Duration>, node: &mut Node) {
        let Some(name) = self.peers.remove(number) else { return };
        self.assembly.leave(number);
        let text = loss::told(loss, may_run.is_none());
        node.record(RunEvent::NodeLost { name, text });
        if let Some(index) = self.order.iter().position(|seated| *seated == number) {
            let may_run = u64::try_from(may_run.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
            let may_run_until_ms = self.clock.ms().saturating_add(may_run);
            self.feed(RunInput::NodeLost { node: index, loss, may_run_until_ms }, node);
        }
    }
}
