//! The coordinator's side of a run: its decisions go to its own node and, over links, to all others.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use fermi_collective::KeyValueServer;
use fermi_domain::language::{Explained, Text};
use fermi_domain::launch::Serves;
use fermi_process::clock::Monotonic;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::hands::Hands;
use super::teller::Teller;
use crate::assembly::{Assembly, Greeting, LINK_VERSION, placements};
use crate::bundle::NodeBundle;
use crate::coordinator::{Action, Coordinator, Happening, Loss, Policy, Seat};
use crate::frame::Reading;
use crate::link::{self, Answer, Link};
use crate::port::Lease;
use crate::word::{Placement, Report, Word};
use fermi_domain::event::RunEvent;

/// A node that was silent so long is shown as suspect.
const SUSPECT_AFTER: Duration = Duration::from_secs(4);
/// Who knocks has this long to introduce itself.
const GREETING_PATIENCE: Duration = Duration::from_secs(5);
/// How often those who wait are told who is missing.
const REMIND_EVERY: Duration = Duration::from_secs(5);
/// At a restart an elastic run leaves the door open for those who are knocking, and not longer.
const RESTART_CALL: Duration = Duration::from_millis(1_000);

/// How often links are looked over for silence.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The listener's key among the watched; links have the others.
const DOOR: u64 = 0;
/// How many of those who wait are named.
const NAMED: usize = 8;
/// How many ready links are taken at once.
const AT_ONCE: usize = 256;

/// Somebody who knocked and has not introduced itself.
#[derive(Debug)]
struct Stranger {
    link: Link,
    since: Instant,
}

/// A node behind a link.
#[derive(Debug)]
struct Guest {
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
    is_elastic: bool,
    listener: Option<TcpListener>,
    /// What ranks meet at, where that is not rank 0 itself. Each attempt has its own.
    rendezvous: Option<KeyValueServer>,
    /// Watches the door and all links: the cost of a look does not grow with the number of nodes.
    watch: Epoll,
    next_key: u64,
    strangers: HashMap<u64, Stranger>,
    /// Guest numbers by the keys of their links.
    numbers: HashMap<u64, usize>,
    /// By their numbers in the assembly.
    guests: BTreeMap<usize, Guest>,
    looked: Instant,
    /// Guest numbers in the order of node ranks; the own node is number 0.
    order: Vec<usize>,
    places: Vec<Placement>,
    reminded: Instant,
    /// Until when an elastic run that has enough nodes waits for more.
    last_call: Option<Instant>,
    has_started: bool,
    over: bool,
}

impl Chief {
    pub fn new(bundle: &NodeBundle, lease: Lease) -> io::Result<Self> {
        let policy = Policy {
            restarts: bundle.restarts,
            ladder: bundle.ladder.clone(),
            start_timeout_ms: bundle.start_timeout_ms,
            join_timeout_ms: bundle.gathering.join_timeout_ms,
            elastic: bundle.gathering.is_elastic(),
            resume: bundle.resume,
            attempts_before: bundle.attempts_before,
        };
        let gathering = &bundle.gathering;
        let mut assembly =
            Assembly::new(gathering.least_nodes, gathering.nodes, gathering.run.clone(), gathering.secret.clone());
        // Our own greeting is right by construction, so there is always a guest number 0.
        let _ = assembly.welcome(&own_greeting(bundle));
        Ok(Self {
            coordinator: Coordinator::new(policy),
            clock: Monotonic::start(),
            lease,
            assembly,
            own_placement: bundle.own_placement(),
            is_elastic: bundle.gathering.is_elastic(),
            listener: None,
            rendezvous: None,
            watch: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            next_key: DOOR + 1,
            strangers: HashMap::new(),
            numbers: HashMap::new(),
            guests: BTreeMap::new(),
            looked: Instant::now(),
            order: Vec::new(),
            places: Vec::new(),
            reminded: Instant::now(),
            last_call: None,
            has_started: false,
            over: false,
        })
    }

    /// The port that is held for rank 0.
    pub fn port(&self) -> u16 {
        self.lease.port
    }

    pub fn is_over(&self) -> bool {
        self.over
    }

    /// When something is due even if nothing happens.
    pub fn wake_in(&self) -> Option<Duration> {
        let due = self.coordinator.wake_at().map(|at| Duration::from_millis(at.saturating_sub(self.clock.ms())));
        let has_company = !self.guests.is_empty() || !self.strangers.is_empty() || self.listener.is_some();
        let beat = has_company.then_some(LOOK_EVERY);
        due.into_iter().chain(beat).min()
    }

    /// Readable when a node knocks or says something.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.0.as_fd()
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
    pub fn turn(&mut self, readable: bool, hands: &mut Hands, teller: &mut Teller) {
        if readable {
            self.read_links(hands, teller);
        }
        let reports = hands.look(teller);
        self.take(0, reports, hands, teller);
        if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            self.mind_silence(hands, teller);
            self.remind(teller);
        }
        if let Some(assembled) = self.seats_when_complete() {
            self.hear(assembled, hands, teller);
        }
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
        let word = match action {
            Action::Assemble => return self.assemble(hands, teller),
            Action::StartRanks { attempt, resume } => return self.start(attempt, resume, hands, teller),
            Action::Tell(event) => return self.tell_all(event, hands, teller),
            Action::SignalRanks { signal } => Word::Signal { signal },
            Action::KillRanks => Word::Kill,
            Action::CheckJoined => Word::CheckJoined,
            Action::Sweep => Word::Sweep,
            Action::Finish => {
                self.over = true;
                Word::Over
            }
        };
        self.say_to_all(&word, hands, teller)
    }

    /// Opens the door, unless nobody is missing.
    fn assemble(&mut self, hands: &Hands, teller: &mut Teller) -> Vec<Happening> {
        // The port is the door's now.
        self.rendezvous = None;
        if !self.assembly.is_full() && self.listener.is_none() {
            match link::listen(self.lease.port) {
                Ok(listener) => {
                    let event = EpollEvent::new(EpollFlags::EPOLLIN, DOOR);
                    // Nobody would be let in, and the time-out says so.
                    let _ = self.watch.add(&listener, event);
                    self.listener = Some(listener);
                }
                Err(error) => teller.tell(RunEvent::Waiting { text: deaf(self.lease.port, &error) }),
            }
        }
        let first_call = Duration::from_millis(hands.bundle.gathering.last_call_ms);
        let call = if self.has_started { RESTART_CALL } else { first_call };
        self.last_call = Some(Instant::now() + call);
        self.reminded = Instant::now();
        self.seats_when_complete().into_iter().collect()
    }

    /// Whether everybody is there, or enough and the last call is over.
    fn seats_when_complete(&mut self) -> Option<Happening> {
        let last_call = self.last_call?;
        let called = self.assembly.is_enough() && Instant::now() >= last_call;
        if !self.assembly.is_full() && !called {
            return None;
        }
        // From here the port is rank 0's.
        self.listener = None;
        self.last_call = None;
        self.strangers.clear();
        self.has_started = true;
        let seats = self.assembly.seats();
        self.order = seats.iter().map(|(number, _)| *number).collect();
        let mut seats: Vec<Seat> = seats.into_iter().map(|(_, seat)| seat).collect();
        self.places = placements(&seats);
        if let ([only], false) = (seats.as_mut_slice(), self.is_elastic) {
            // Alone, the node's own count is right: it may be one rank of a world that others start.
            let ranks = only.ranks.end - only.ranks.start;
            only.ranks = self.own_placement.first_rank..self.own_placement.first_rank + ranks;
            self.places = vec![self.own_placement.clone()];
        }
        Some(Happening::Assembled { seats })
    }

    fn start(&mut self, attempt: u32, resume: bool, hands: &mut Hands, teller: &mut Teller) -> Vec<Happening> {
        let master_port = self.lease.port;
        self.serve(hands, teller);
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

    /// Opens what this node serves to the ranks of the attempt. Without it they say themselves that nobody answers.
    fn serve(&mut self, hands: &Hands, teller: &mut Teller) {
        // What ranks of the attempt before have put there would lead the next ones astray.
        self.rendezvous = None;
        match hands.bundle.serves {
            Serves::Nothing => {}
            Serves::HorovodRendezvous => {
                // Blocking, unlike the door: it has a thread of its own.
                let listener = TcpListener::bind(("0.0.0.0", self.lease.port));
                match listener.and_then(KeyValueServer::start) {
                    Ok(server) => self.rendezvous = Some(server),
                    Err(error) => teller.tell(RunEvent::Waiting { text: deaf(self.lease.port, &error) }),
                }
            }
        }
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
                if let Some(guest) = self.guests.get_mut(number) {
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

    fn read_links(&mut self, hands: &mut Hands, teller: &mut Teller) {
        let mut events = [EpollEvent::empty(); AT_ONCE];
        let count = self.watch.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
        for event in &events[..count] {
            let key = event.data();
            if key == DOOR {
                self.let_in();
            } else if let Some(stranger) = self.strangers.remove(&key) {
                self.greet(key, stranger, hands, teller);
            } else if let Some(number) = self.numbers.get(&key).copied() {
                self.read_guest(number, hands, teller);
            }
        }
    }

    fn let_in(&mut self) {
        while let Some(Ok((stream, _))) = self.listener.as_ref().map(TcpListener::accept) {
            let key = self.next_key;
            self.next_key += 1;
            let Ok(link) = Link::new(stream) else { continue };
            if self.watch.add(link.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, key)).is_ok() {
                self.strangers.insert(key, Stranger { link, since: Instant::now() });
            }
        }
    }

    /// Hears who somebody is, and takes it in or sends it away with the reason.
    fn greet(&mut self, key: u64, mut stranger: Stranger, hands: &mut Hands, teller: &mut Teller) {
        let (greetings, reading) = stranger.link.hear::<Greeting>().unwrap_or((Vec::new(), Reading::Closed));
        let Some(greeting) = greetings.into_iter().next() else {
            if reading == Reading::Open {
                self.strangers.insert(key, stranger);
            }
            return;
        };
        let mut link = stranger.link;
        let (name, address) = (greeting.name.clone(), link.peer.clone());
        match self.assembly.welcome(&greeting) {
            Ok(number) => {
                let coordinator = hands.bundle.node_name.clone();
                if link.say(&Answer::Welcome { coordinator }).is_err() {
                    self.assembly.leave(number);
                    return;
                }
                self.numbers.insert(key, number);
                self.guests.insert(number, Guest { name: name.clone(), link, suspect: false });
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
        let Some(guest) = self.guests.get_mut(&number) else { return };
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
        self.strangers.retain(|_, stranger| stranger.since.elapsed() < GREETING_PATIENCE);
        let mut lost = Vec::new();
        for (number, guest) in &mut self.guests {
            if guest.link.owes_heartbeat() {
                let _ = guest.link.say(&Word::Alive);
            }
            let silence = guest.link.silence();
            if silence >= patience {
                lost.push(*number);
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
        let Some(guest) = self.guests.remove(&number) else { return };
        self.numbers.retain(|_, known| *known != number);
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
        let plural = if missing == 1 { "node" } else { "nodes" };
        let here: Vec<&str> = self.guests.values().map(|guest| guest.name.as_str()).take(NAMED).collect();
        let more = if self.guests.len() > NAMED { " …" } else { "" };
        let (zh, en) = match here.join(", ") {
            nobody if nobody.is_empty() => (String::new(), String::new()),
            names => (format!("；已到：{names}{more}"), format!("; here are {names}{more}")),
        };
        let port = self.lease.port;
        teller.tell(RunEvent::Waiting {
            text: Text::new(
                format!("正在等待另外 {missing} 个节点连接到端口 {port}{zh}"),
                format!("waiting for {missing} more {plural} on port {port}{en}"),
            ),
        });
    }
}

/// Nobody can be heard at the port.
fn deaf(port: u16, error: &io::Error) -> Text {
    Text::new(format!("无法监听端口 {port}：{error}"), format!("cannot listen on port {port}: {error}"))
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
