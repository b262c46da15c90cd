//! The coordinator's side of a run: its decisions go to its own node and, over links, to all others.

use std::collections::VecDeque;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use fermi_domain::language::Text;
use fermi_process::clock::Monotonic;

use super::hands::Hands;
use super::teller::Teller;
use crate::assembly::{Assembly, Greeting, LINK_VERSION, placements};
use crate::bundle::NodeBundle;
use crate::coordinator::{Action, Coordinator, Happening, Loss, Policy, Seat};
use crate::event::RunEvent;
use crate::frame::Reading;
use crate::link::{self, Answer, Link};
use crate::port::Lease;
use crate::word::{Placement, Report, Word};

/// A node that was silent so long is shown as suspect.
const SUSPECT_AFTER: Duration = Duration::from_secs(4);
/// Who knocks has this long to introduce itself.
const GREETING_PATIENCE: Duration = Duration::from_secs(5);
/// How often those who wait are told who is missing.
const REMIND_EVERY: Duration = Duration::from_secs(5);

/// A node behind a link.
#[derive(Debug)]
struct Guest {
    /// Its number in the assembly.
    number: usize,
    name: String,
    link: Link,
    suspect: bool,
}

#[derive(Debug)]
pub struct Chief {
    coordinator: Coordinator,
    clock: Monotonic,
    lease: Lease,
    assembly: Assembly,
    own_placement: Placement,
    listener: Option<TcpListener>,
    strangers: Vec<(Link, Instant)>,
    guests: Vec<Guest>,
    /// Guest numbers in the order of node ranks; the own node is number 0.
    order: Vec<usize>,
    places: Vec<Placement>,
    reminded: Instant,
    over: bool,
}

impl Chief {
    pub fn new(bundle: &NodeBundle, lease: Lease) -> Self {
        let policy = Policy {
            restarts: bundle.restarts,
            ladder: bundle.ladder.clone(),
            start_timeout_ms: bundle.start_timeout_ms,
            join_timeout_ms: bundle.gathering.join_timeout_ms,
            resume: bundle.resume,
        };
        let gathering = &bundle.gathering;
        let mut assembly = Assembly::new(gathering.nodes, gathering.run.clone(), gathering.secret.clone());
        // Our own greeting is right by construction, so there is always a guest number 0.
        let _ = assembly.welcome(&own_greeting(bundle));
        Self {
            coordinator: Coordinator::new(policy),
            clock: Monotonic::start(),
            lease,
            assembly,
            own_placement: bundle.own_placement(),
            listener: None,
            strangers: Vec::new(),
            guests: Vec::new(),
            order: Vec::new(),
            places: Vec::new(),
            reminded: Instant::now(),
            over: false,
        }
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// When something is due even if nothing happens.
    pub fn wake_in(&self) -> Option<Duration> {
        let due = self.coordinator.wake_at().map(|at| Duration::from_millis(at.saturating_sub(self.clock.ms())));
        let has_company = !self.guests.is_empty() || !self.strangers.is_empty() || self.listener.is_some();
        let beat = has_company.then_some(link::HEARTBEAT / 2);
        due.into_iter().chain(beat).min()
    }

    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let listener = self.listener.as_ref().map(AsFd::as_fd);
        let strangers = self.strangers.iter().map(|(link, _)| link.as_fd());
        let guests = self.guests.iter().map(|guest| guest.link.as_fd());
        listener.into_iter().chain(strangers).chain(guests)
    }

    pub fn begin(&mut self, hands: &mut Hands, teller: &mut Teller) {
        self.hear(Happening::Begin, hands, teller);
    }

    /// Passes on what this node's user or launcher wants.
    pub fn stop_asked(&mut self, signal: i32, hands: &mut Hands, teller: &mut Teller) {
        self.hear(Happening::StopAsked { signal }, hands, teller);
    }

    pub fn kill_asked(&mut self, hands: &mut Hands, teller: &mut Teller) {
        self.hear(Happening::KillAsked, hands, teller);
    }

    /// One look at everything outside: links, knocks, ranks, time.
    pub fn turn(&mut self, readable: &[bool], hands: &mut Hands, teller: &mut Teller) {
        self.read_links(readable, hands, teller);
        let reports = hands.look(teller);
        self.take(0, reports, hands, teller);
        self.mind_silence(hands, teller);
        self.remind(teller);
        if !self.over {
            self.hear(Happening::TimePassed, hands, teller);
        }
    }

    /// Tells the coordinator and does what it wants, until it wants nothing more.
    fn hear(&mut self, happening: Happening, hands: &mut Hands, teller: &mut Teller) {
        let mut queue = VecDeque::from([happening]);
        while let Some(happening) = queue.pop_front() {
            for action in self.coordinator.on(happening, self.clock.ms()) {
                queue.extend(self.carry_out(action, hands, teller));
            }
        }
    }

    fn carry_out(&mut self, action: Action, hands: &mut Hands, teller: &mut Teller) -> Vec<Happening> {
        match action {
            Action::Assemble => return self.assemble(teller),
            Action::StartRanks { attempt, resume } => return self.start(attempt, resume, hands, teller),
            Action::SignalRanks { signal } => return self.say_to_all(&Word::Signal { signal }, hands, teller),
            Action::KillRanks => return self.say_to_all(&Word::Kill, hands, teller),
            Action::CheckJoined => return self.say_to_all(&Word::CheckJoined, hands, teller),
            Action::Sweep => return self.say_to_all(&Word::Sweep, hands, teller),
            Action::Tell(event) => return self.tell_all(event, hands, teller),
            Action::Finish => {
                self.over = true;
                return self.say_to_all(&Word::Over, hands, teller);
            }
        }
    }

    /// Opens the door, unless nobody is missing.
    fn assemble(&mut self, teller: &mut Teller) -> Vec<Happening> {
        if self.assembly.missing() > 0 && self.listener.is_none() {
            match link::listen(self.lease.port) {
                Ok(listener) => self.listener = Some(listener),
                Err(error) => teller.tell(RunEvent::Waiting {
                    text: Text::new(
                        format!("无法监听端口 {}：{error}", self.lease.port),
                        format!("cannot listen on port {}: {error}", self.lease.port),
                    ),
                }),
            }
        }
        self.reminded = Instant::now();
        self.seats_when_complete().into_iter().collect()
    }

    fn seats_when_complete(&mut self) -> Option<Happening> {
        let seats = self.assembly.seats()?;
        // From here the port is rank 0's.
        self.listener = None;
        self.strangers.clear();
        self.order = seats.iter().map(|(number, _)| *number).collect();
        let mut seats: Vec<Seat> = seats.into_iter().map(|(_, seat)| seat).collect();
        self.places = placements(&seats);
        if let [only] = seats.as_mut_slice() {
            // Alone, the node's own count is right: it may be one rank of a world that others start.
            let ranks = only.ranks.end - only.ranks.start;
            only.ranks = self.own_placement.first_rank..self.own_placement.first_rank + ranks;
            self.places = vec![self.own_placement.clone()];
        }
        Some(Happening::Assembled { seats })
    }

    fn start(&mut self, attempt: u32, resume: bool, hands: &mut Hands, teller: &mut Teller) -> Vec<Happening> {
        let master_port = self.lease.port;
        let master_addr = hands.bundle.master_addr.clone();
        let started = RunEvent::AttemptStarted { attempt, master_addr, master_port, resume };
        let mut news = self.tell_all(started, hands, teller);
        for node in 0..self.order.len() {
            let placement = self.places[node].clone();
            let word = Word::Start(hands.bundle.start(attempt, resume, master_port, placement));
            news.extend(self.say(node, word, hands, teller));
        }
        news
    }

    fn say_to_all(&mut self, word: &Word, hands: &mut Hands, teller: &mut Teller) -> Vec<Happening> {
        (0..self.order.len()).flat_map(|node| self.say(node, word.clone(), hands, teller)).collect()
    }

    fn tell_all(&mut self, event: RunEvent, hands: &mut Hands, teller: &mut Teller) -> Vec<Happening> {
        if self.order.is_empty() {
            // Before the nodes have seats there is nobody else to tell.
            teller.tell(event);
            return Vec::new();
        }
        self.say_to_all(&Word::Tell(Box::new(event)), hands, teller)
    }

    /// Says a word to a node: at once to our own, over its link to another. A link that breaks is noticed when read.
    fn say(&mut self, node: usize, word: Word, hands: &mut Hands, teller: &mut Teller) -> Vec<Happening> {
        match self.order.get(node) {
            Some(0) => {
                let reports = hands.obey(word, teller);
                reports.into_iter().filter_map(|report| happening(node, report)).collect()
            }
            Some(number) => {
                if let Some(guest) = self.guests.iter_mut().find(|guest| guest.number == *number) {
                    let _ = guest.link.say(&word);
                }
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    fn take(&mut self, number: usize, reports: Vec<Report>, hands: &mut Hands, teller: &mut Teller) {
        let Some(node) = self.order.iter().position(|seated| *seated == number) else { return };
        for report in reports {
            if let Some(happening) = happening(node, report) {
                self.hear(happening, hands, teller);
            }
        }
    }

    fn read_links(&mut self, readable: &[bool], hands: &mut Hands, teller: &mut Teller) {
        let mut readable = readable.iter().copied();
        if self.listener.is_some() && readable.next() == Some(true) {
            self.let_in();
        }
        let strangers = std::mem::take(&mut self.strangers);
        for (link, since) in strangers {
            if readable.next() == Some(true) {
                self.greet(link, since, hands, teller);
            } else if since.elapsed() < GREETING_PATIENCE {
                self.strangers.push((link, since));
            }
        }
        let ready: Vec<usize> =
            self.guests.iter().filter(|_| readable.next() == Some(true)).map(|guest| guest.number).collect();
        for number in ready {
            self.read_guest(number, hands, teller);
        }
    }

    fn let_in(&mut self) {
        while let Some(Ok((stream, _))) = self.listener.as_ref().map(TcpListener::accept) {
            if let Ok(link) = Link::new(stream) {
                self.strangers.push((link, Instant::now()));
            }
        }
    }

    /// Hears who somebody is, and takes it in or sends it away with the reason.
    fn greet(&mut self, mut link: Link, since: Instant, hands: &mut Hands, teller: &mut Teller) {
        let (greetings, reading) = link.hear::<Greeting>().unwrap_or((Vec::new(), Reading::Closed));
        let Some(greeting) = greetings.into_iter().next() else {
            if reading == Reading::Open {
                self.strangers.push((link, since));
            }
            return;
        };
        let (name, address) = (greeting.name.clone(), link.peer.clone());
        match self.assembly.welcome(&greeting) {
            Ok(number) => {
                let coordinator = hands.bundle.node_name.clone();
                if link.say(&Answer::Welcome { coordinator }).is_err() {
                    self.assembly.leave(number);
                    return;
                }
                self.guests.push(Guest { number, name: name.clone(), link, suspect: false });
                teller.tell(RunEvent::NodeJoined { name, address, missing: self.assembly.missing() });
                if let Some(assembled) = self.seats_when_complete() {
                    self.hear(assembled, hands, teller);
                }
            }
            Err(refusal) => {
                teller.tell(RunEvent::NodeRefused { name, address, text: refusal.text() });
                let _ = link.say(&Answer::Refused(refusal));
            }
        }
    }

    fn read_guest(&mut self, number: usize, hands: &mut Hands, teller: &mut Teller) {
        let Some(guest) = self.guests.iter_mut().find(|guest| guest.number == number) else { return };
        let (reports, reading) = guest.link.hear::<Report>().unwrap_or((Vec::new(), Reading::Closed));
        if std::mem::take(&mut guest.suspect) {
            let name = guest.name.clone();
            teller.tell(RunEvent::NodeBack { name });
        }
        self.take(number, reports, hands, teller);
        if reading == Reading::Closed && !self.over {
            self.lose(number, Loss::SupervisorDied, hands, teller);
        }
    }

    /// Silence is not death: first a node is suspect, and only after the run's patience it is lost.
    fn mind_silence(&mut self, hands: &mut Hands, teller: &mut Teller) {
        let patience = Duration::from_millis(hands.bundle.gathering.node_lost_after_ms);
        let mut lost = Vec::new();
        for guest in &mut self.guests {
            if guest.link.owes_heartbeat() {
                let _ = guest.link.say(&Word::Alive);
            }
            let silence = guest.link.silence();
            if silence >= patience {
                lost.push(guest.number);
            } else if silence >= SUSPECT_AFTER.min(patience / 2) && !guest.suspect {
                guest.suspect = true;
                let silent_ms = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
                teller.tell(RunEvent::NodeSuspect { name: guest.name.clone(), silent_ms });
            }
        }
        for number in lost {
            self.lose(number, Loss::Silent, hands, teller);
        }
    }

    fn lose(&mut self, number: usize, loss: Loss, hands: &mut Hands, teller: &mut Teller) {
        let Some(at) = self.guests.iter().position(|guest| guest.number == number) else { return };
        let guest = self.guests.remove(at);
        self.assembly.leave(number);
        let text = match loss {
            Loss::SupervisorDied => {
                Text::new("连接已断开：其 supervisor 已退出", "the connection is closed: its supervisor is gone")
            }
            Loss::Silent => Text::new("长时间没有任何消息", "nothing was heard of it for too long"),
        };
        teller.tell(RunEvent::NodeLost { name: guest.name, text });
        if let Some(node) = self.order.iter().position(|seated| *seated == number) {
            self.hear(Happening::NodeLost { node, loss }, hands, teller);
        }
    }

    fn remind(&mut self, teller: &mut Teller) {
        if self.listener.is_none() || self.reminded.elapsed() < REMIND_EVERY {
            return;
        }
        self.reminded = Instant::now();
        let missing = self.assembly.missing();
        let here: Vec<&str> = self.guests.iter().map(|guest| guest.name.as_str()).collect();
        let (port, here) = (self.lease.port, here.join(", "));
        teller.tell(RunEvent::Waiting {
            text: Text::new(
                format!("正在等待另外 {missing} 个节点连接到端口 {port}（已到：本节点 {here}）"),
                format!("waiting for {missing} more nodes on port {port} (here: this one {here})"),
            ),
        });
    }
}

/// How this node introduces itself.
pub fn own_greeting(bundle: &NodeBundle) -> Greeting {
    Greeting {
        version: LINK_VERSION,
        fermi: env!("CARGO_PKG_VERSION").to_owned(),
        run: bundle.gathering.run.clone(),
        secret: bundle.gathering.secret.clone(),
        name: bundle.node_name.clone(),
        node_rank: bundle.gathering.node_rank,
        ranks: u32::try_from(bundle.ranks.len()).unwrap_or(u32::MAX),
    }
}

/// What a node's report means to the coordinator.
fn happening(node: usize, report: Report) -> Option<Happening> {
    Some(match report {
        Report::RankEnded { rank, exit, failure, made_progress, .. } => {
            Happening::RankEnded { rank, exit, failure, made_progress }
        }
        Report::NotJoined { missing } => Happening::NotJoined { node, missing },
        Report::Swept => Happening::Swept { node },
        Report::StopAsked { signal } => Happening::StopAsked { signal },
        Report::KillAsked => Happening::KillAsked,
        Report::RankStarted { .. } | Report::Alive => return None,
    })
}
