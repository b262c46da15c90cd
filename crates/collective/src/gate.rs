//! A listener that hears many callers at once, so that a stranger who says nothing keeps nobody else waiting.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::hello::{Answer, FrameError, Hello, parse, send};

/// A rank says its hello in the same breath in which it connects; who takes longer has something else in mind.
const PATIENCE: Duration = Duration::from_secs(5);
/// An answer is small and fits into the socket's buffer, unless the caller does not read at all.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// With this many silent callers the oldest is dropped, so that a flood cannot use up the file descriptors.
const MOST_VISITORS: usize = 512;

pub(crate) struct Gate {
    listener: TcpListener,
    visitors: Vec<Visitor>,
}

struct Visitor {
    stream: TcpStream,
    address: SocketAddr,
    received: Vec<u8>,
    deadline: Instant,
}

/// Someone who has said all they had to say at the gate.
pub(crate) struct Caller {
    pub stream: TcpStream,
    pub address: SocketAddr,
    pub hello: Result<Hello, FrameError>,
}

impl Gate {
    pub fn new(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { listener, visitors: Vec::new() })
    }

    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// The next caller, or nobody by the deadline.
    pub fn next(&mut self, deadline: Instant) -> io::Result<Option<Caller>> {
        loop {
            self.accept_all()?;
            if let Some(caller) = self.hear_visitors()? {
                return Ok(Some(caller));
            }
            if self.visitors.len() == MOST_VISITORS {
                self.visitors.remove(0);
                continue;
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            let first = self.visitors.iter().map(|visitor| visitor.deadline).min().unwrap_or(deadline);
            let sockets: Vec<_> = std::iter::once(self.listener.as_fd())
                .chain(self.visitors.iter().map(|visitor| visitor.stream.as_fd()))
                .collect();
            let mut watched: Vec<_> = sockets.iter().map(|socket| PollFd::new(*socket, PollFlags::POLLIN)).collect();
            wait(&mut watched, first.min(deadline))?;
        }
    }

    fn accept_all(&mut self) -> io::Result<()> {
        while self.visitors.len() < MOST_VISITORS {
            match self.listener.accept() {
                Ok((stream, address)) => {
                    stream.set_nonblocking(true)?;
                    let deadline = Instant::now() + PATIENCE;
                    self.visitors.push(Visitor { stream, address, received: Vec::new(), deadline });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // The caller hung up between its connect and our accept.
                Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) => {
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn hear_visitors(&mut self) -> io::Result<Option<Caller>> {
        for index in 0..self.visitors.len() {
            if let Some(hello) = self.visitors[index].hear() {
                let Visitor { stream, address, .. } = self.visitors.remove(index);
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
                let address = SocketAddr::new(address.ip().to_canonical(), address.port());
                return Ok(Some(Caller { stream, address, hello }));
            }
        }
        Ok(None)
    }
}

impl Visitor {
    fn hear(&mut self) -> Option<Result<Hello, FrameError>> {
        let mut piece = [0; 4096];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return Some(Err(FrameError::HungUp(io::ErrorKind::UnexpectedEof.into()))),
                Ok(count) => self.received.extend(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Some(Err(FrameError::HungUp(error))),
            }
            // Without this look after every piece a stranger could fill the memory.
            if let Some(outcome) = parse(&self.received).transpose() {
                return Some(outcome);
            }
        }
        (Instant::now() >= self.deadline).then(|| Err(FrameError::Silent(PATIENCE.as_secs_f64())))
    }
}

impl Caller {
    /// Best effort: the caller may be gone, or not be a rank at all.
    pub fn refuse(mut self, reason: &str) {
        let _ = send(&mut self.stream, &Answer::Refused { reason: reason.to_owned() });
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
