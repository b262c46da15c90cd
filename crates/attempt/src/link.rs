//! A connection between two supervisors of one run.

use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::assembly::{Greeting, Refusal};
use crate::frame::{self, Inbox, Reading};

/// Each side says at least this often that it lives.
pub const HEARTBEAT: Duration = Duration::from_secs(1);
/// A message is small; a peer that does not take it in this time is as good as silent.
const WRITE_PATIENCE: Duration = Duration::from_secs(2);
/// How long one try to connect may take: a host that is down does not answer at all.
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);

/// The coordinator's answer to a greeting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    Welcome { coordinator: String },
    Refused(Refusal),
}

/// One end of a link.
#[derive(Debug)]
pub struct Link {
    stream: TcpStream,
    inbox: Inbox,
    heard: Instant,
    spoke: Instant,
    pub peer: String,
}

impl Link {
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(WRITE_PATIENCE))?;
        let peer = stream.peer_addr().map(|address| address.to_string()).unwrap_or_default();
        Ok(Self { stream, inbox: Inbox::default(), heard: Instant::now(), spoke: Instant::now(), peer })
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    pub fn say(&mut self, message: &impl Serialize) -> io::Result<()> {
        self.spoke = Instant::now();
        frame::write(&mut self.stream, message)
    }

    /// Reads once; call it when there is something to read.
    pub fn hear<T: DeserializeOwned>(&mut self) -> io::Result<(Vec<T>, Reading)> {
        let reading = self.inbox.fill(&mut self.stream)?;
        self.heard = Instant::now();
        Ok((self.left_over()?, reading))
    }

    /// What has come already: a message that arrived together with the one before shows on no descriptor.
    pub fn left_over<T: DeserializeOwned>(&mut self) -> io::Result<Vec<T>> {
        let mut messages = Vec::new();
        while let Some(message) = self.inbox.take()? {
            messages.push(message);
        }
        Ok(messages)
    }

    /// How long nothing has been heard.
    pub fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// Whether it is time to say that we live.
    pub fn owes_heartbeat(&self) -> bool {
        self.spoke.elapsed() >= HEARTBEAT
    }
}

/// Opens the port at which nodes come together. Accepted links keep it in use, but not listening, so that rank 0 can
/// listen on the very same port once this listener is closed: one port serves both.
pub fn listen(port: u16) -> io::Result<TcpListener> {
    // std sets SO_REUSEADDR, which the lease's socket on this port has as well.
    let listener = TcpListener::bind(("0.0.0.0", port))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// One try to reach the coordinator and be taken in.
pub fn join(address: &str, port: u16, greeting: &Greeting) -> Result<Link, JoinError> {
    let candidates = (address, port)
        .to_socket_addrs()
        .map_err(|source| JoinError::Unresolved { name: address.to_owned(), source })?;
    let mut last = None;
    for candidate in candidates {
        match TcpStream::connect_timeout(&candidate, CONNECT_PATIENCE) {
            Ok(stream) => return introduce(stream, greeting),
            Err(error) => last = Some((candidate.to_string(), error)),
        }
    }
    let (tried, source) = last.unwrap_or_else(|| (address.to_owned(), io::ErrorKind::NotFound.into()));
    Err(JoinError::Unreachable { tried, source })
}

fn introduce(stream: TcpStream, greeting: &Greeting) -> Result<Link, JoinError> {
    let tried = stream.peer_addr().map(|address| address.to_string()).unwrap_or_default();
    let not_ours = |source: io::Error| JoinError::NotACoordinator { tried: tried.clone(), source };
    let mut link = Link::new(stream).map_err(not_ours)?;
    link.stream.set_read_timeout(Some(CONNECT_PATIENCE)).map_err(not_ours)?;
    link.say(greeting).map_err(not_ours)?;
    loop {
        let silent = || not_ours(io::ErrorKind::TimedOut.into());
        match link.inbox.take().map_err(not_ours)? {
            Some(Answer::Welcome { .. }) => {
                link.stream.set_read_timeout(None).map_err(not_ours)?;
                return Ok(link);
            }
            Some(Answer::Refused(refusal)) => return Err(JoinError::Refused(refusal)),
            None => {
                let before = Instant::now();
                let reading = link.inbox.fill(&mut link.stream).map_err(not_ours)?;
                if reading == Reading::Closed || before.elapsed() >= CONNECT_PATIENCE {
                    return Err(silent());
                }
            }
        }
    }
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
    Refused(Refusal),
}
