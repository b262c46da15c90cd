//! Connections to the port of a run before they are nodes: how many there may be, how long, and what is read of them.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::peers::PeerNews;
use crate::frame::Reading;
use crate::greeting::Greeting;
use crate::handshake::{self, LinkRole, NodeProof, Reception, Session};
use crate::join_refusal::JoinRefusal;
use crate::link::{JoinAnswer, Link};
use crate::strangers_words::legible;

/// A [`PendingPeer`] has this long to introduce and prove itself, on a bad line too.
const GREETING_PATIENCE: Duration = Duration::from_secs(10);
/// So many may be about to introduce themselves beside the nodes that are expected.
const MOST_PENDING_PEERS: usize = 64;
/// A connection that has not introduced itself, or not proved that it knows the secret.
#[derive(Debug)]
pub struct PendingPeer {
    key: u64,
    link: Link,
    network: Option<IpAddr>,
    since: Instant,
    /// What it has introduced itself as, and what its proof is held against.
    challenged: Option<(Greeting, Session)>,
}

impl PendingPeer {
    pub fn address(&self) -> &str {
        &self.link.peer
    }

    /// Its key among the watched, and the link, for one that is let in.
    pub fn into_link(self) -> (u64, Link) {
        (self.key, self.link)
    }

    /// Sends the connection away with the reason.
    pub fn refuse(mut self, answer: &JoinAnswer) {
        // Who does not hear it has gone already.
        let _ = self.link.send(answer);
    }
}

/// All of them.
#[derive(Debug)]
pub struct PendingPeers {
    /// The name of this node, and what the others must know to be let in; empty where everybody is.
    own_name: String,
    secret: String,
    /// The oldest first.
    waiting: BTreeMap<u64, PendingPeer>,
    most: usize,
}

impl PendingPeers {
    /// For a run of so many nodes.
    pub fn new(nodes: u32, own_name: String, secret: String) -> Self {
        let most = MOST_PENDING_PEERS + nodes as usize;
        Self { own_name, secret, waiting: BTreeMap::new(), most }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// When they are too many, the one goes that has waited longest of those from where the most come: who floods the port pushes
    /// out nobody else.
    pub fn insert(&mut self, key: u64, link: Link) {
        let (network, since) = (link.network(), Instant::now());
        self.waiting.insert(key, PendingPeer { key, link, network, since, challenged: None });
        if self.waiting.len() > self.most
            && let Some(key) = self.most_dispensable()
        {
            self.waiting.remove(&key);
        }
    }

    pub fn take(&mut self, key: u64) -> Option<PendingPeer> {
        self.waiting.remove(&key)
    }

    /// Lets those go that have not said in time who they are, however slowly they say it.
    pub fn let_go(&mut self) {
        self.waiting.retain(|_, pending| pending.since.elapsed() < GREETING_PATIENCE);
    }

    fn most_dispensable(&self) -> Option<u64> {
        let mut of_each: HashMap<Option<IpAddr>, (usize, u64)> = HashMap::new();
        for (key, pending) in &self.waiting {
            of_each.entry(pending.network).or_insert((0, *key)).0 += 1;
        }
        // Of two from where as many come the one that has waited longer.
        of_each
            .into_values()
            .max_by_key(|(count, oldest)| (*count, std::cmp::Reverse(*oldest)))
            .map(|(_, oldest)| oldest)
    }

    /// Reads of one that was taken out; it comes back unless there is news of it or it is gone.
    pub fn read(&mut self, mut pending: PendingPeer) -> Option<PeerNews> {
        let (words, reading) = pending.link.receive_words().unwrap_or((None, Reading::Closed));
        match (words, pending.challenged.take()) {
            (Some(words), None) => self.receive(pending, &words),
            (Some(words), Some((greeting, session))) => Self::judge(pending, greeting, &session, &words),
            (None, challenged) => {
                if reading != Reading::Closed {
                    self.waiting.insert(pending.key, PendingPeer { challenged, ..pending });
                }
                None
            }
        }
    }

    /// What is made of a greeting. One that cannot be read is no node's, nor is one whose link cannot be written.
    fn receive(&mut self, mut pending: PendingPeer, words: &[u8]) -> Option<PeerNews> {
        let greeting: Greeting = serde_json::from_slice(words).ok()?;
        let greeting = Greeting { name: legible(&greeting.name), ..greeting };
        match handshake::reception(&greeting, &self.secret) {
            Reception::Believe => Some(PeerNews::Greeted(Box::new(pending), greeting)),
            Reception::Refuse(refusal) => Some(PeerNews::Unproven(Box::new(pending), greeting, refusal)),
            Reception::Challenge => {
                let session = pending.link.challenge(&self.own_name, &self.secret, words).ok()?;
                pending.challenged = Some((greeting, session));
                self.waiting.insert(pending.key, pending);
                None
            }
        }
    }

    /// Whether a node that was challenged knows the secret.
    fn judge(mut pending: PendingPeer, greeting: Greeting, session: &Session, words: &[u8]) -> Option<PeerNews> {
        let shown: NodeProof = serde_json::from_slice(words).ok()?;
        if !session.is_proven(LinkRole::Node, &shown.proof) {
            return Some(PeerNews::Unproven(Box::new(pending), greeting, JoinRefusal::WrongSecret));
        }
        pending.link.prove(session).ok()?;
        Some(PeerNews::Greeted(Box::new(pending), greeting))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrIn};

    use super::*;
    use crate::frame;

    fn greeting(name: &str) -> Vec<u8> {
        let mut greeted = Vec::new();
        let greeting = Greeting { name: name.into(), ..Greeting::sample() };
        frame::write(&mut greeted, &greeting).unwrap();
        greeted
    }

    fn of_two_nodes() -> PendingPeers {
        PendingPeers::new(2, "gn6".into(), String::new())
    }

    /// Somebody who connects from one of this machine's addresses, with the other end of it.
    fn stranger(own: Ipv4Addr) -> (TcpStream, Link) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let made = socket::socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
        let address = |ip, port| SockaddrIn::from(SocketAddrV4::new(ip, port));
        socket::bind(made.as_raw_fd(), &address(own, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        socket::connect(made.as_raw_fd(), &address(Ipv4Addr::LOCALHOST, port)).unwrap();
        (made.into(), Link::to_pending(listener.accept().unwrap().0).unwrap())
    }

    /// Reads until something came of it.
    fn read(pending: &mut PendingPeers, key: u64) -> Option<PeerNews> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while let Some(peer) = pending.take(key) {
            assert!(Instant::now() < deadline, "it is still there");
            if let Some(news) = pending.read(peer) {
                return Some(news);
            }
        }
        None
    }

    fn name_of(news: Option<PeerNews>) -> Option<String> {
        match news {
            Some(PeerNews::Greeted(_, greeting)) => Some(greeting.name),
            _ => None,
        }
    }

    #[test]
    fn a_greeting_that_claims_to_be_huge_ends_the_connection() {
        let mut pending = of_two_nodes();
        let (mut stranger, link) = stranger(Ipv4Addr::LOCALHOST);
        pending.insert(1, link);
        stranger.write_all(&(1u32 << 20).to_le_bytes()).unwrap();
        assert!(read(&mut pending, 1).is_none() && pending.is_empty());
        assert_eq!(stranger.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn who_floods_the_port_pushes_out_its_own_and_nobody_from_elsewhere() {
        let mut pending = of_two_nodes();
        let (mut node, link) = stranger(Ipv4Addr::new(127, 0, 0, 2));
        pending.insert(0, link);
        let mut flood = Vec::new();
        for key in 1..300 {
            let (stream, link) = stranger(Ipv4Addr::new(127, 0, 0, 3));
            flood.push(stream);
            pending.insert(key, link);
            assert!(pending.waiting.len() <= MOST_PENDING_PEERS + 2, "{}", pending.waiting.len());
        }
        node.write_all(&greeting("gn7")).unwrap();
        assert_eq!(name_of(read(&mut pending, 0)).as_deref(), Some("gn7"));
        assert!(pending.take(1).is_none() && pending.take(299).is_some(), "the oldest went first");
    }

    #[test]
    fn who_says_nothing_or_a_byte_at_a_time_is_let_go_when_its_time_is_over() {
        let mut pending = of_two_nodes();
        let ((_silent, first), (mut slow, second)) = (stranger(Ipv4Addr::LOCALHOST), stranger(Ipv4Addr::LOCALHOST));
        pending.insert(0, first);
        pending.insert(1, second);
        slow.write_all(&greeting("gn7")[..1]).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        // A byte that has come is a sign of life, and no reason to wait longer.
        let is_heard = |pending: &PendingPeers| {
            let waited = pending.waiting[&1].since.elapsed();
            pending.waiting[&1].link.silence() < waited
        };
        while !is_heard(&pending) {
            let peer = pending.take(1).unwrap();
            assert!(pending.read(peer).is_none() && Instant::now() < deadline);
        }
        pending.let_go();
        assert_eq!(pending.waiting.len(), 2);
        for peer in pending.waiting.values_mut() {
            peer.since = peer.since.checked_sub(GREETING_PATIENCE).unwrap();
        }
        pending.let_go();
        assert!(pending.is_empty());
    }

    #[test]
    fn a_name_that_a_terminal_would_obey_is_not_told_as_it_is() {
        let mut pending = of_two_nodes();
        let (mut node, link) = stranger(Ipv4Addr::LOCALHOST);
        pending.insert(0, link);
        node.write_all(&greeting("gn7\u{1b}[2J\nfermi: all is well")).unwrap();
        let name = name_of(read(&mut pending, 0));
        assert_eq!(name.as_deref(), Some("gn7\u{fffd}[2J\u{fffd}fermi: all is well"));
    }
}
