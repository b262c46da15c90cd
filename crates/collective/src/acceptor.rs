//! A listener that reads the hellos of many peers at once, so that a silent connection does not hold up the others.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::hello::{FrameError, Hello, HelloReply, parse, send};

/// A rank sends its hello right after it connects; a connection that takes longer is not a rank's.
const PATIENCE: Duration = Duration::from_secs(5);
/// An answer is small and fits into the socket's buffer, unless the peer does not read at all.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);
/// With this many silent peers the oldest is dropped, so that a flood cannot use up the file descriptors.
const MOST_PENDING: usize = 512;

/// Accepts connections and reads their hellos.
pub(crate) struct Acceptor {
    listener: TcpListener,
    pending: Vec<PendingPeer>,
}

/// A connection whose hello has not arrived yet.
struct PendingPeer {
    stream: TcpStream,
    address: SocketAddr,
    received: Vec<u8>,
    deadline: Instant,
}

/// A connection whose hello has arrived, or turned out to be none.
pub(crate) struct Peer {
    pub stream: TcpStream,
    pub address: SocketAddr,
    pub hello: Result<Hello, FrameError>,
}

impl Acceptor {
    pub fn new(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { listener, pending: Vec::new() })
    }

    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// The next peer, or none by the deadline.
    pub fn next(&mut self, deadline: Instant) -> io::Result<Option<Peer>> {
        loop {
            self.accept_all()?;
            if let Some(peer) = self.receive_pending()? {
                return Ok(Some(peer));
            }
            if self.pending.len() == MOST_PENDING {
                self.pending.remove(0);
                continue;
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            let first = self.pending.iter().map(|peer| peer.deadline).min().unwrap_or(deadline);
            let sockets: Vec<_> = std::iter::once(self.listener.as_fd())
                .chain(self.pending.iter().map(|peer| peer.stream.as_fd()))
                .collect();
            let mut watched: Vec<_> = sockets.iter().map(|socket| PollFd::new(*socket, PollFlags::POLLIN)).collect();
            wait(&mut watched, first.min(deadline))?;
        }
    }

    fn accept_all(&mut self) -> io::Result<()> {
        while self.pending.len() < MOST_PENDING {
            match self.listener.accept() {
                Ok((stream, address)) => {
                    stream.set_nonblocking(true)?;
                    let deadline = Instant::now() + PATIENCE;
                    self.pending.push(PendingPeer { stream, address, received: Vec::new(), deadline });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // The peer hung up between its connect and our accept.
                Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) => {
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive_pending(&mut self) -> io::Result<Option<Peer>> {
        for index in 0..self.pending.len() {
            if let Some(hello) = self.pending[index].receive() {
                let PendingPeer { stream, address, .. } = self.pending.remove(index);
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
                let address = SocketAddr::new(address.ip().to_canonical(), address.port());
                return Ok(Some(Peer { stream, address, hello }));
            }
        }
        Ok(None)
    }
}

impl PendingPeer {
    fn receive(&mut self) -> Option<Result<Hello, FrameError>> {
        let mut piece = [0; 4096];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return Some(Err(FrameError::HungUp(io::ErrorKind::UnexpectedEof.into()))),
                Ok(count) => self.received.extend(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Some(Err(FrameError::HungUp(error))),
            }
            // Checked after every piece, so that a connection cannot fill the memory.
            if let Some(outcome) = parse(&self.received).transpose() {
                return Some(outcome);
            }
        }
        (Instant::now() >= self.deadline).then(|| Err(FrameError::Silent(PATIENCE.as_secs_f64())))
    }
}

impl Peer {
    /// Best effort: the peer may be gone, or not be a rank at all.
    pub fn refuse(mut self, reason: &str) {
        let _ = send(&mut self.stream, &HelloReply::Refused { reason: reason.to_owned() });
    }
}

/// Sleeps until one of the sockets has news or the deadline has come.
pub(crate) fn wait(sockets: &mut [PollFd<'_>], deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now()).as_millis() + 1;
    let timeout = PollTimeout::from(u16::try_from(left).unwrap_or(u16::MAX));
    match poll(sockets, timeout) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
