//! A connection between two supervisors of one run.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

use fermi_domain::language::Text;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::frame::{Inbox, Outbox, Reading};
use crate::greeting::{Greeting, LINK_VERSION, LINK_VERSION_WITHOUT_SECRET};
use crate::handshake::{self, Challenge, LinkRole, NodeProof, Proof, Session};
use crate::join_refusal::JoinRefusal;
use crate::listen;
use crate::strangers_words::legible;

/// Each side says at least this often that it lives.
pub const HEARTBEAT: Duration = Duration::from_secs(1);
/// All that is read of the other side before it has introduced itself and, where there is a secret, proved that it knows it.
pub const LARGEST_GREETING: usize = 4 * 1024;
/// So much of it is kept for the proof.
const ROOM_FOR_PROOF: usize = 256;
/// How long one try to connect may take: a host that is down does not answer at all. On a bad line the kernel asks again after
/// one, three and seven seconds; whoever gives up before has to begin anew each time.
const CONNECT_PATIENCE: Duration = Duration::from_secs(8);

/// How long the answer to a greeting may take. A coordinator answers at once, but on a bad line it is sent several times;
/// a node that leaves before it comes has joined for the coordinator, and its leaving is a loss.
const ANSWER_PATIENCE: Duration = Duration::from_secs(16);

/// The coordinator's answer to a greeting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum JoinAnswer {
    Welcome {
        coordinator: String,
        /// Whether a node may leave without ending the run; older coordinators do not say.
        #[serde(default)]
        lets_leave: bool,
        /// Whether the coordinator answers pings.
        #[serde(default)]
        answers_pings: bool,
        /// Whether the coordinator hears how ranks stand that do not move.
        #[serde(default)]
        hears_standings: bool,
    },
    Refused(JoinRefusal),
    /// The node shall prove that it knows the secret.
    Challenge(Challenge),
    /// It has; this is the coordinator's own proof. Every frame from here on is signed.
    Proven {
        proof: Proof,
    },
    /// The ranks of a run are at work here. A node may come again: at its next restart the run waits for those it lacks.
    UnderWay {
        run: String,
    },
}

/// One end of a link.
#[derive(Debug)]
pub struct Link {
    stream: TcpStream,
    inbox: Inbox,
    outbox: Outbox,
    is_broken: bool,
    heard: Instant,
    spoke: Instant,
    pub peer: String,
    /// Whether the coordinator at the other end lets a node leave.
    pub lets_leave: bool,
    /// Whether the coordinator on the other side answers pings.
    pub answers_pings: bool,
    /// Whether it hears how ranks stand that do not move.
    pub hears_standings: bool,
}

impl Link {
    /// A link to a peer that is not known yet and shall introduce itself.
    pub fn to_pending(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Self::new(stream)
    }

    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let peer = stream.peer_addr().map(shown).unwrap_or_default();
        let (heard, spoke) = (Instant::now(), Instant::now());
        Ok(Self {
            stream,
            inbox: Inbox::for_stranger(LARGEST_GREETING),
            outbox: Outbox::default(),
            is_broken: false,
            heard,
            spoke,
            peer,
            lets_leave: false,
            answers_pings: false,
            hears_standings: false,
        })
    }

    /// From where the other side comes, as one that has a whole network at hand cannot choose it: of an address of version 6 the
    /// first half.
    pub fn network(&self) -> Option<IpAddr> {
        Some(match self.stream.peer_addr().ok()?.ip().to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            short => short,
        })
    }

    /// The other side has introduced itself.
    pub fn trust(&mut self) {
        self.inbox.allow_all();
    }

    /// Asks a node that has greeted with these bytes to prove that it knows the secret.
    pub fn challenge(&mut self, coordinator: &str, secret: &str, greeting: &[u8]) -> io::Result<Session> {
        let challenge = Challenge { coordinator: coordinator.to_owned(), nonce: handshake::nonce()? };
        let answer = JoinAnswer::Challenge(challenge);
        let session = Session::new(secret, greeting, &serde_json::to_vec(&answer)?)?;
        self.send(&answer)?;
        Ok(session)
    }

    /// Proves the coordinator's side to a node that has proved its own.
    pub fn prove(&mut self, session: &Session) -> io::Result<()> {
        self.send(&JoinAnswer::Proven { proof: session.prove(LinkRole::Coordinator) })?;
        self.sign(session, LinkRole::Coordinator)
    }

    /// Every frame from here on is signed and checked.
    fn sign(&mut self, session: &Session, own: LinkRole) -> io::Result<()> {
        self.outbox.sign(session.signature(own.sends())?);
        self.inbox.check(session.signature(own.sends().opposite())?);
        Ok(())
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Sends a message without waiting for the other side. A link on which that fails is of no more use: it is cut, which
    /// both sides notice when they read.
    pub fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        self.spoke = Instant::now();
        if self.is_broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let sent = self.outbox.send(&mut self.stream, message);
        self.cut_unless(sent)
    }

    /// Whether something waits to be sent with [`Link::flush`] when the other side takes it.
    pub fn has_waiting(&self) -> bool {
        !self.outbox.is_empty() && !self.is_broken
    }

    pub fn flush(&mut self) -> io::Result<()> {
        let sent = if self.is_broken { Ok(()) } else { self.outbox.flush(&mut self.stream) };
        self.cut_unless(sent)
    }

    /// Whether the other machine has not said yet that it has all that was sent. What it says meanwhile is read and dropped:
    /// a link that is closed over unread bytes takes back what is still on its way.
    pub fn is_on_its_way(&mut self) -> bool {
        if self.is_broken {
            return false;
        }
        let mut dropped = [0; 4096];
        while matches!((&self.stream).read(&mut dropped), Ok(length) if length > 0) {}
        let mut unconfirmed: libc::c_int = 0;
        // SAFETY: the descriptor is open as long as the stream lives, and the answer fits one number.
        let asked = unsafe { libc::ioctl(self.stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut unconfirmed) };
        self.has_waiting() || (asked == 0 && unconfirmed > 0)
    }

    fn cut_unless(&mut self, sent: io::Result<()>) -> io::Result<()> {
        if sent.is_err() {
            self.is_broken = true;
            // It may be cut already.
            let _ = self.stream.shutdown(Shutdown::Both);
        }
        sent
    }

    /// Reads once; call it when there is something to read. What a peer that is newer than we are says on top of what we
    /// know is passed over.
    pub fn receive<T: DeserializeOwned>(&mut self) -> io::Result<(Vec<T>, Reading)> {
        let reading = self.fill()?;
        Ok((self.left_over()?, reading))
    }

    /// The same for a peer that is not known yet, of which nothing is passed over: its next words as it has sent them.
    pub fn receive_words(&mut self) -> io::Result<(Option<Vec<u8>>, Reading)> {
        let reading = self.fill()?;
        Ok((self.inbox.take_body()?, reading))
    }

    fn fill(&mut self) -> io::Result<Reading> {
        let reading = self.inbox.fill(&mut self.stream)?;
        if reading == Reading::Some {
            self.heard = Instant::now();
        }
        Ok(reading)
    }

    /// What has come already: a message that arrived together with the one before shows on no descriptor.
    pub fn left_over<T: DeserializeOwned>(&mut self) -> io::Result<Vec<T>> {
        let mut messages = Vec::new();
        while let Some(message) = self.inbox.take_known()? {
            messages.push(message);
        }
        Ok(messages)
    }

    /// How long nothing has been heard.
    pub fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// How long the other side has taken nothing of what waits for it.
    pub fn stuck_for(&self) -> Duration {
        self.outbox.stuck_for()
    }

    /// Whether the link was cut because nothing more could be sent.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Whether it is time to say that we live.
    pub fn owes_heartbeat(&self) -> bool {
        self.spoke.elapsed() >= HEARTBEAT
    }
}

/// Opens the port at which nodes come together. Accepted links keep it in use, but not listening, so that rank 0 can
/// listen on the very same port once this listener is closed: one port serves both.
pub fn listen(port: u16) -> io::Result<TcpListener> {
    let listener = listen::on_all_addresses(port)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// An address as people know it: one of IPv4 that came to a socket for both families has its usual form.
fn shown(address: SocketAddr) -> String {
    SocketAddr::new(address.ip().to_canonical(), address.port()).to_string()
}

/// One try to reach the coordinator and be taken in. Where there is a secret, both sides prove that they know it.
pub fn join(address: &str, port: u16, greeting: &Greeting, secret: &str) -> Result<Link, JoinError> {
    let candidates = (address, port)
        .to_socket_addrs()
        .map_err(|source| JoinError::Unresolved { name: address.to_owned(), source })?;
    let mut last = None;
    for candidate in candidates {
        match TcpStream::connect_timeout(&candidate, CONNECT_PATIENCE) {
            Ok(stream) => return introduce(stream, greeting, secret),
            Err(error) => last = Some((candidate.to_string(), error)),
        }
    }
    let (tried, source) = last.unwrap_or_else(|| (address.to_owned(), io::ErrorKind::NotFound.into()));
    Err(JoinError::Unreachable { tried, source })
}

fn introduce(stream: TcpStream, greeting: &Greeting, secret: &str) -> Result<Link, JoinError> {
    let tried = stream.peer_addr().map(shown).unwrap_or_default();
    let not_ours = |source: io::Error| JoinError::NotACoordinator { tried: tried.clone(), source };
    let unproven = || JoinError::Unproven { tried: tried.clone() };
    let has_secret = !secret.is_empty();
    let greeting = Greeting {
        version: if has_secret { LINK_VERSION } else { LINK_VERSION_WITHOUT_SECRET },
        nonce: has_secret.then(handshake::nonce).transpose().map_err(not_ours)?,
        ..greeting.clone()
    };
    let greeted = serde_json::to_vec(&greeting).map_err(|error| not_ours(error.into()))?;
    let most = LARGEST_GREETING - ROOM_FOR_PROOF;
    if greeted.len() > most {
        return Err(JoinError::GreetingTooLong { length: greeted.len(), most });
    }
    let mut link = Link::new(stream).map_err(not_ours)?;
    link.stream.set_read_timeout(Some(ANSWER_PATIENCE)).map_err(not_ours)?;
    link.stream.set_write_timeout(Some(CONNECT_PATIENCE)).map_err(not_ours)?;
    link.send(&greeting).map_err(not_ours)?;
    let mut session = None;
    let mut is_proven = !has_secret;
    loop {
        let answered = next_answer(&mut link).map_err(not_ours)?;
        match serde_json::from_slice(&answered).map_err(|error| not_ours(error.into()))? {
            JoinAnswer::Welcome { lets_leave, answers_pings, hears_standings, .. } if is_proven => {
                link.trust();
                link.stream.set_nonblocking(true).map_err(not_ours)?;
                link.lets_leave = lets_leave;
                link.answers_pings = answers_pings;
                link.hears_standings = hears_standings;
                return Ok(link);
            }
            JoinAnswer::Challenge(_) if !is_proven && session.is_none() => {
                let begun = Session::new(secret, &greeted, &answered).map_err(not_ours)?;
                link.send(&NodeProof { proof: begun.prove(LinkRole::Node) }).map_err(not_ours)?;
                session = Some(begun);
            }
            JoinAnswer::Proven { proof } if !is_proven => {
                let session = session.as_ref().filter(|session| session.is_proven(LinkRole::Coordinator, &proof));
                link.sign(session.ok_or_else(unproven)?, LinkRole::Node).map_err(not_ours)?;
                is_proven = true;
            }
            JoinAnswer::Refused(refusal) => return Err(JoinError::Refused(refusal.legible())),
            JoinAnswer::UnderWay { run } => return Err(JoinError::UnderWay { run: legible(&run) }),
            // It welcomes or asks out of turn: whatever it is, it does not know the secret.
            JoinAnswer::Welcome { .. } | JoinAnswer::Challenge(_) | JoinAnswer::Proven { .. } => return Err(unproven()),
        }
    }
}

/// Waits for the coordinator's next answer, and no longer for one that comes byte by byte.
fn next_answer(link: &mut Link) -> io::Result<Vec<u8>> {
    let since = Instant::now();
    loop {
        if let Some(answer) = link.inbox.take_body()? {
            return Ok(answer);
        }
        if link.inbox.fill(&mut link.stream)? == Reading::Closed || since.elapsed() >= ANSWER_PATIENCE {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// What both sides tell when a message does not fit its signature.
pub fn forged() -> Text {
    Text::new(
        "连接已关闭：该节点与主节点之间有消息在途中被更改、重放、丢弃或反射，签名不符；请检查两台机器之间有什么（代理、他人的设备）",
        "the link is closed: a message between this node and the first one was changed, repeated, left out or sent back on its way, and does not fit its signature; check what is between the two machines (a proxy, somebody else)",
    )
}

/// Why a node is not linked yet.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error("the name {name} does not resolve")]
    Unresolved { name: String, source: io::Error },
    #[error("{tried} cannot be reached")]
    Unreachable { tried: String, source: io::Error },
    #[error("{tried} is no waiting coordinator")]
    NotACoordinator { tried: String, source: io::Error },
    #[error("refused")]
    Refused(JoinRefusal),
    #[error("{tried} has not proved that it knows the secret")]
    Unproven { tried: String },
    #[error("the greeting has {length} bytes, and {most} are allowed")]
    GreetingTooLong { length: usize, most: usize },
    #[error("the run '{run}' is under way there")]
    UnderWay { run: String },
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_bytes_are_a_sign_of_life() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut link = Link::to_pending(listener.accept().unwrap().0).unwrap();
        let long_ago = Instant::now().checked_sub(Duration::from_secs(60)).unwrap();
        link.heard = long_ago;
        assert!(matches!(link.receive::<JoinAnswer>(), Ok((messages, Reading::Nothing)) if messages.is_empty()));
        assert_eq!(link.heard, long_ago);
        peer.write_all(&[0]).unwrap();
        let started = Instant::now();
        while link.receive::<JoinAnswer>().unwrap().1 == Reading::Nothing {
            assert!(started.elapsed() < Duration::from_secs(5));
        }
        assert!(link.heard > long_ago);
    }
}
