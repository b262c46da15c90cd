//! The other nodes as the coordinator's node sees them: who comes, who has joined, what is sent to each and heard of it.
//!
//! One look costs the same however many nodes there are. Nothing here waits for a peer: what one does not take waits in
//! its link, and a link that cannot be written is cut.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use fermi_domain::event::RunEvent;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::pending_peers::{PendingPeer, PendingPeers};
use crate::frame::Reading;
use crate::frame_signature::ForgedFrame;
use crate::greeting::Greeting;
use crate::join_refusal::JoinRefusal;
use crate::link::{self, JoinAnswer, Link};
use crate::node_message::{NodeCommand, NodeReport};

/// How long nodes have to take the last messages when the run is over: on a line whose first packets were lost, a message is
/// sent again after three seconds and once more after six.
const LAST_MESSAGES: Duration = Duration::from_secs(10);
/// How long those have of whom nothing was heard lately: most of them are gone.
const LAST_MESSAGES_OF_SUSPECTS: Duration = Duration::from_secs(2);
/// The listener's key among the watched; links have the others.
const LISTENER: u64 = 0;
/// How many ready links are taken at once.
const AT_ONCE: usize = 256;

/// A node that has joined.
#[derive(Debug)]
struct Peer {
    key: u64,
    name: String,
    link: Link,
    is_suspect: bool,
    answers: Answers,
    /// Whether it has said that all that ran there was ended.
    has_ended: bool,
}

/// When a node was given answers to its pings, by which it renews its lease.
#[derive(Debug, Default)]
struct Answers {
    last: Option<Instant>,
    /// How long it had waited for that one.
    pause_before: Duration,
}

impl Answers {
    fn given(&mut self, now: Instant) {
        let pause = self.last.map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        *self = Self { last: Some(now), pause_before: pause };
    }

    /// For how long it has had none. Pings that lay unread while this process was held up were answered too late: what
    /// came before them counts.
    fn lacking(&self, now: Instant) -> Option<Duration> {
        self.last.map(|last| now.saturating_duration_since(last).max(self.pause_before))
    }
}

/// Whether a node that had no answer for so long has ended by its lease. One that is killed has asked a fraction of the
/// lease before; on the way there and back a little of it is lost.
pub fn has_lapsed(unanswered: Option<Duration>, lease: Option<Duration>) -> bool {
    matches!((unanswered, lease), (Some(unanswered), Some(lease)) if unanswered >= lease * 2 / 3)
}

/// What a look at the links brought. Nodes are known by their numbers in the assembly.
#[derive(Debug)]
pub enum PeerNews {
    /// It has introduced itself, and proved that it knows the secret where there is one.
    Greeted(Box<PendingPeer>, Greeting),
    /// It is not let in.
    Unproven(Box<PendingPeer>, Greeting, JoinRefusal),
    Reported {
        number: usize,
        reports: Vec<NodeReport>,
        /// Its name, when it was suspect before.
        is_back: Option<String>,
    },
    /// Its supervisor is gone, nothing can be sent to it any more, or something between the machines has closed the link.
    Closed {
        number: usize,
        /// For how long nothing was heard of it; none of one that has said that nothing is left there.
        silence: Option<Duration>,
        /// For how long it had no answer to its pings; none of a node that has not asked.
        unanswered: Option<Duration>,
        /// Whether it is given up for a message that one of the two has not sent so.
        is_forged: bool,
    },
}

/// How long nothing was heard of a node.
#[derive(Debug, PartialEq, Eq)]
pub enum Silence {
    Suspect { name: String, silent_ms: u64 },
    Lost(usize),
}

#[derive(Debug)]
pub struct Peers {
    listener: Option<TcpListener>,
    watch: Epoll,
    next_key: u64,
    pending: PendingPeers,
    numbers: HashMap<u64, usize>,
    joined: BTreeMap<usize, Peer>,
    /// Links of nodes that have left and have not taken everything.
    released: Vec<Link>,
}

impl Peers {
    /// For a run of so many nodes that know this secret.
    pub fn new(nodes: u32, own_name: String, secret: String) -> io::Result<Self> {
        Ok(Self {
            listener: None,
            watch: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            next_key: LISTENER + 1,
            pending: PendingPeers::new(nodes, own_name, secret),
            numbers: HashMap::new(),
            joined: BTreeMap::new(),
            released: Vec::new(),
        })
    }

    /// Readable when there is something for [`Peers::look`].
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.0.as_fd()
    }

    /// Whether a peer is there, or may come.
    pub fn is_alone(&self) -> bool {
        self.joined.is_empty() && self.pending.is_empty() && self.listener.is_none()
    }

    pub fn is_listening(&self) -> bool {
        self.listener.is_some()
    }

    /// The names of those who have joined.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.joined.values().map(|peer| peer.name.as_str())
    }

    pub fn listen(&mut self, port: u16) -> io::Result<()> {
        if self.listener.is_none() {
            let listener = link::listen(port)?;
            self.watch.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
            self.listener = Some(listener);
        }
        Ok(())
    }

    /// From here the port is rank 0's. Those who have not introduced themselves come again.
    pub fn stop_listening(&mut self) {
        self.listener = None;
        self.pending.clear();
    }

    /// Takes a node in.
    pub fn welcome(
        &mut self,
        pending: PendingPeer,
        number: usize,
        name: String,
        answer: &JoinAnswer,
    ) -> io::Result<()> {
        let (key, mut link) = pending.into_link();
        link.trust();
        link.send(answer)?;
        self.numbers.insert(key, number);
        let peer = Peer { key, name, link, is_suspect: false, answers: Answers::default(), has_ended: false };
        self.joined.insert(number, peer);
        self.watch_writing(number);
        Ok(())
    }

    /// Forgets a node; the answer is its name.
    pub fn remove(&mut self, number: usize) -> Option<String> {
        let peer = self.joined.remove(&number)?;
        self.numbers.remove(&peer.key);
        Some(peer.name)
    }

    /// Where it comes from; none of a node that is not linked.
    pub fn address_of(&self, number: usize) -> Option<IpAddr> {
        let peer: SocketAddr = self.joined.get(&number)?.link.peer.parse().ok()?;
        Some(peer.ip().to_canonical())
    }

    pub fn name_of(&self, number: usize) -> Option<&str> {
        self.joined.get(&number).map(|peer| peer.name.as_str())
    }

    /// Lets a node go that has been told so. Its link stays until it has taken that, or until the end.
    pub fn release(&mut self, number: usize) {
        if let Some(mut peer) = self.joined.remove(&number) {
            self.numbers.remove(&peer.key);
            let _ = peer.link.flush();
            if peer.link.has_waiting() {
                self.released.push(peer.link);
            }
        }
    }

    /// Sends to a node without waiting for it. A link on which that fails is cut, and shows as closed in the next look.
    pub fn send(&mut self, number: usize, command: &NodeCommand) {
        if let Some(peer) = self.joined.get_mut(&number) {
            let _ = peer.link.send(command);
            self.watch_writing(number);
        }
    }

    /// Watches for room as long as something waits to be sent.
    fn watch_writing(&mut self, number: usize) {
        if let Some(peer) = self.joined.get(&number).filter(|peer| peer.link.has_waiting()) {
            let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT;
            // Without it the rest is sent with the next heartbeat.
            let _ = self.watch.modify(peer.link.as_fd(), &mut EpollEvent::new(flags, peer.key));
        }
    }

    /// What has come since the last look.
    pub fn look(&mut self) -> Vec<PeerNews> {
        let mut events = [EpollEvent::empty(); AT_ONCE];
        let count = self.watch.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
        let mut news = Vec::new();
        for event in &events[..count] {
            let key = event.data();
            if key == LISTENER {
                self.accept();
            } else if let Some(pending) = self.pending.take(key) {
                news.extend(self.pending.read(pending));
            } else if let Some(number) = self.numbers.get(&key).copied() {
                if event.events().contains(EpollFlags::EPOLLOUT) {
                    self.flush(number);
                }
                self.read(number, &mut news);
            }
        }
        news
    }

    /// Accepts connections, and no more at once than leave time for all else.
    fn accept(&mut self) {
        for _ in 0..AT_ONCE {
            let Some(Ok((stream, _))) = self.listener.as_ref().map(TcpListener::accept) else { return };
            let key = self.next_key;
            self.next_key += 1;
            let Ok(link) = Link::to_pending(stream) else { continue };
            if self.watch.add(link.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, key)).is_ok() {
                self.pending.insert(key, link);
            }
        }
    }

    fn read(&mut self, number: usize, news: &mut Vec<PeerNews>) {
        let Some(peer) = self.joined.get_mut(&number) else { return };
        let received = peer.link.receive();
        let is_forged = received.as_ref().is_err_and(ForgedFrame::is_cause_of);
        if is_forged {
            // What goes to the node is whole as before, so that its user hears why it is sent away.
            let told = RunEvent::Waiting { text: link::forged() };
            let _ = peer.link.send(&NodeCommand::Tell(Some(Box::new(told))));
        }
        let (reports, reading) = received.unwrap_or((Vec::new(), Reading::Closed));
        let unanswered = peer.answers.lacking(Instant::now());
        for report in &reports {
            if let NodeReport::Ping { sent_ms } = report {
                // A link that cannot be written is cut, which shows when it is read.
                let _ = peer.link.send(&NodeCommand::Pong { sent_ms: *sent_ms });
            }
        }
        if reports.iter().any(|report| matches!(report, NodeReport::Ping { .. })) {
            peer.answers.given(Instant::now());
        }
        let is_forged = is_forged || reports.contains(&NodeReport::LinkForged);
        peer.has_ended |= reports.contains(&NodeReport::NothingLeft);
        let silence = (!peer.has_ended).then(|| peer.link.silence());
        let is_heard = reading == Reading::Some;
        let is_back = (is_heard && std::mem::take(&mut peer.is_suspect)).then(|| peer.name.clone());
        news.push(PeerNews::Reported { number, reports, is_back });
        if reading == Reading::Closed || is_forged {
            news.push(PeerNews::Closed { number, silence, unanswered, is_forged });
        }
    }

    fn flush(&mut self, number: usize) {
        let Some(peer) = self.joined.get_mut(&number) else { return };
        // A link on which it fails is cut, and read as closed.
        let _ = peer.link.flush();
        if !peer.link.has_waiting() {
            let _ = self.watch.modify(peer.link.as_fd(), &mut EpollEvent::new(EpollFlags::EPOLLIN, peer.key));
        }
    }

    /// Waits a moment for those who have not got everything.
    pub fn finish(&mut self) {
        let since = Instant::now();
        let lacks = |peer: &mut Peer| {
            let _ = peer.link.flush();
            let patience = if peer.is_suspect { LAST_MESSAGES_OF_SUSPECTS } else { LAST_MESSAGES };
            peer.link.is_on_its_way() && since.elapsed() < patience
        };
        // All of them, so that nobody's words stay unread.
        while self.joined.values_mut().map(lacks).fold(false, |some, one| some | one) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Sends heartbeats and looks for silence, which is not death: first a node is suspect, and only after the run's
    /// patience it is lost.
    pub fn mind_silence(&mut self, suspect_after: Duration, patience: Duration) -> Vec<Silence> {
        self.pending.let_go();
        self.released.retain_mut(|link| link.flush().is_ok() && link.has_waiting());
        let mut silent = Vec::new();
        for (number, peer) in &mut self.joined {
            if peer.link.owes_heartbeat() {
                let _ = peer.link.send(&NodeCommand::Alive);
            }
            let silence = peer.link.silence();
            if silence.max(peer.link.stuck_for()) >= patience {
                silent.push(Silence::Lost(*number));
            } else if silence >= suspect_after && !peer.is_suspect {
                peer.is_suspect = true;
                let silent_ms = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
                silent.push(Silence::Suspect { name: peer.name.clone(), silent_ms });
            }
        }
        silent
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;

    use nix::sys::socket::{self, Backlog};

    use super::*;
    use crate::frame;

    fn listening() -> (Peers, u16) {
        let mut peers = Peers::new(2, "gn6".into(), String::new()).unwrap();
        peers.listener = Some(TcpListener::bind("127.0.0.1:0").unwrap());
        let listener = peers.listener.as_ref().unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        peers.watch.add(listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER)).unwrap();
        (peers, port)
    }

    fn connect(port: u16) -> TcpStream {
        TcpStream::connect(("127.0.0.1", port)).unwrap()
    }

    /// Looks until there is news of which something can be made.
    fn news<T>(peers: &mut Peers, make: impl Fn(PeerNews) -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(made) = peers.look().into_iter().find_map(&make) {
                return made;
            }
            assert!(Instant::now() < deadline, "no news");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// A node that has joined as number 1, from its side.
    fn joined(peers: &mut Peers, port: u16) -> TcpStream {
        let mut node = connect(port);
        frame::write(&mut node, &Greeting::sample()).unwrap();
        let (pending, greeting) = news(peers, |news| match news {
            PeerNews::Greeted(pending, greeting) => Some((pending, greeting)),
            _ => None,
        });
        peers
            .welcome(
                *pending,
                1,
                greeting.name,
                &JoinAnswer::Welcome {
                    coordinator: "gn6".into(),
                    lets_leave: true,
                    answers_pings: true,
                    hears_standings: true,
                },
            )
            .unwrap();
        node
    }

    #[test]
    fn strangers_that_say_nothing_keep_no_node_out() {
        let (mut peers, port) = listening();
        let _idle: Vec<TcpStream> = (0..200)
            .map(|_| {
                let stream = connect(port);
                peers.look();
                stream
            })
            .collect();
        let _node = joined(&mut peers, port);
        assert_eq!(peers.names().collect::<Vec<_>>(), ["gn7"]);
    }

    #[test]
    fn a_flood_of_connections_leaves_time_for_all_else() {
        let (mut peers, port) = listening();
        // All of them wait to be accepted.
        socket::listen(peers.listener.as_ref().unwrap(), Backlog::new(2_048).unwrap()).unwrap();
        let _flood: Vec<TcpStream> = (0..AT_ONCE + 10).map(|_| connect(port)).collect();
        let before = peers.next_key;
        peers.look();
        assert_eq!(peers.next_key - before, AT_ONCE as u64);
        peers.look();
        assert_eq!(peers.next_key - before, AT_ONCE as u64 + 10);
    }

    #[test]
    fn a_link_that_closes_when_the_lease_must_have_ended_is_told_from_one_that_just_closes() {
        let (began, ms) = (Instant::now(), Duration::from_millis);
        let lease = Some(ms(3_000));
        let mut answers = Answers::default();
        assert!(!has_lapsed(answers.lacking(began), lease), "a node of an older release does not ask");
        answers.given(began);
        answers.given(began + ms(800));
        assert!(!has_lapsed(answers.lacking(began + ms(1_600)), lease), "it was killed");
        assert!(!has_lapsed(answers.lacking(began + ms(9_000)), None), "a run of a fixed size has no lease");
        assert!(has_lapsed(answers.lacking(began + ms(3_790)), lease));
        // This process was held up, and the pings that lay there were answered too late.
        answers.given(began + ms(3_900));
        assert!(has_lapsed(answers.lacking(began + ms(3_901)), lease));
    }

    #[test]
    fn a_node_that_does_not_read_holds_up_nobody_and_is_cut_off_without_half_a_message() {
        let (mut peers, port) = listening();
        let mut node = joined(&mut peers, port);
        let text = fermi_domain::language::Text::new("很长".repeat(20_000), "long".repeat(20_000));
        let event = fermi_domain::event::RunEvent::Waiting { text };
        let command = NodeCommand::Tell(Some(Box::new(event)));
        let started = Instant::now();
        while !peers.joined[&1].link.is_broken() {
            peers.send(1, &command);
            assert!(started.elapsed() < Duration::from_secs(20), "what waits for it is not bounded");
        }
        news(&mut peers, |news| matches!(news, PeerNews::Closed { number: 1, .. }).then_some(()));
        assert_eq!(peers.remove(1).as_deref(), Some("gn7"));
        // Whole messages, and then at most one that is cut off by the end.
        let mut bytes = Vec::new();
        let _ = node.read_to_end(&mut bytes);
        let mut inbox = frame::Inbox::default();
        let mut rest = bytes.as_slice();
        let mut whole = 0;
        while inbox.fill(&mut rest).unwrap() == Reading::Some {
            if whole == 0 && inbox.take::<JoinAnswer>().unwrap().is_some() {
                whole += 1;
            }
            while whole > 0 && inbox.take::<NodeCommand>().unwrap().is_some_and(|got| got == command) {
                whole += 1;
            }
        }
        assert!(whole > 1, "{whole}");
    }
}
