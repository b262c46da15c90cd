//! Who is connected, and who gives way when there are too many: strangers before people, people before agents.
//!
//! A stranger is a connection over which nothing was asked yet that the guard let through. It has little time and little room,
//! so that a thousand half-sent requests keep nobody else out. Files stay free for the server's own use.

mod crowd;
mod listener;
mod stream;
mod watch;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use fermi_domain::access::network_of;
use futures_util::future::poll_fn;
use futures_util::task::AtomicWaker;
use nix::sys::resource::{Resource, getrlimit};
use tokio::sync::Notify;

pub use crowd::{Bounds, Proof};
pub use listener::BoundedListener;
pub use stream::BoundedStream;
pub use watch::ConnectionsWatch;

use crowd::Crowd;

/// How long a stranger may take for each step: to send a request, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Connections that were told to end and are not gone yet, before new ones are taken.
const ENDING: usize = 32;

/// All connections of a server.
#[derive(Clone, Debug)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    began: Instant,
    bounds: Bounds,
    crowd: Mutex<Crowd<Arc<Line>>>,
    /// Told when a connection is gone.
    room: Notify,
}

impl Default for Connections {
    /// As many as this process may have open files for.
    fn default() -> Self {
        let files = getrlimit(Resource::RLIMIT_NOFILE).map_or(1_024, |(most, _)| most);
        Self::within(Bounds::of(files))
    }
}

impl Connections {
    pub fn within(bounds: Bounds) -> Self {
        let (crowd, room) = (Mutex::default(), Notify::new());
        Self(Arc::new(Shared { began: Instant::now(), bounds, crowd, room }))
    }

    fn crowd(&self) -> MutexGuard<'_, Crowd<Arc<Line>>> {
        self.0.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.0.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Until another connection can be taken.
    pub async fn room(&self) {
        loop {
            let gone = self.0.room.notified();
            if self.crowd().len() < self.0.bounds.connections + ENDING {
                return;
            }
            gone.await;
        }
    }

    /// A stranger comes; where there are too many, somebody gives way.
    pub fn enter(&self, peer: IpAddr) -> Ticket {
        let line = Arc::new(Line::default());
        let mut crowd = self.crowd();
        let number = crowd.enter(network_of(peer), self.now_ms(), line.clone());
        let ended = crowd.give_way(&self.0.bounds);
        drop(crowd);
        ended.iter().for_each(|line| line.end());
        Ticket(Arc::new(TicketOf { connections: self.clone(), number, line }))
    }

    /// Ends strangers that have taken so long for what they do.
    pub fn end_strangers(&self, patience: Duration) {
        let before = self.now_ms().checked_sub(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX));
        let Some(before) = before else { return };
        let ended = self.crowd().end_strangers(before);
        ended.iter().for_each(|line| line.end());
    }
}

/// What its stream and the crowd both see of a connection.
#[derive(Debug, Default)]
struct Line {
    is_ended: AtomicBool,
    /// It may send more than a request's head.
    is_heard_out: AtomicBool,
    /// Bytes since a stranger's last step.
    read: AtomicU64,
    reader: AtomicWaker,
    writer: AtomicWaker,
}

impl Line {
    fn end(&self) {
        self.is_ended.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        self.reader.wake();
        self.writer.wake();
    }
}

/// One connection, as the layers above it know it; gone with the last copy.
#[derive(Clone, Debug)]
pub struct Ticket(Arc<TicketOf>);

#[derive(Debug)]
struct TicketOf {
    connections: Connections,
    number: u64,
    line: Arc<Line>,
}

impl Ticket {
    /// Something was asked by one who may.
    pub fn prove(&self, proof: Proof) {
        let shared = &self.0.connections;
        let mut crowd = shared.crowd();
        // The same again changes nothing, and is what most requests are.
        if !crowd.prove(self.0.number, proof) {
            return;
        }
        let ended = crowd.give_way(&shared.0.bounds);
        drop(crowd);
        ended.iter().for_each(|line| line.end());
        self.hear_out();
    }

    /// It has a token, and may say as much as one message holds before it is admitted.
    pub fn hear_out(&self) {
        self.0.line.is_heard_out.store(true, Ordering::SeqCst);
        self.0.line.wake();
    }

    /// A request has come whole, as far as its head goes; until what is returned is dropped, it is being answered.
    pub fn request(&self) -> RequestTurn {
        self.step(1);
        RequestTurn(self.clone())
    }

    fn step(&self, requests: i32) {
        self.0.line.read.store(0, Ordering::SeqCst);
        let now_ms = self.0.connections.now_ms();
        self.0.connections.crowd().step(self.0.number, now_ms, requests);
        self.0.line.reader.wake();
    }

    /// Until it has to give way.
    pub async fn ended(&self) {
        poll_fn(|context| {
            self.0.line.reader.register(context.waker());
            if self.0.line.is_ended.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

impl Drop for TicketOf {
    fn drop(&mut self) {
        self.connections.crowd().leave(self.number);
        self.connections.0.room.notify_waiters();
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub struct RequestTurn(Ticket);

impl Drop for RequestTurn {
    fn drop(&mut self) {
        self.0.step(-1);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    fn few() -> Connections {
        Connections::within(Bounds { connections: 4, people: 3, strangers: 2 })
    }

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[tokio::test]
    async fn who_gives_way_is_hung_up_on_and_who_has_shown_a_token_is_not() {
        let connections = few();
        let (mut theirs, ours) = duplex(64);
        let mut proven = BoundedStream::new(ours, connections.enter(HERE));
        proven.ticket().prove(Proof::Person);
        let (_silent, ours) = duplex(64);
        let mut first = BoundedStream::new(ours, connections.enter(HERE));
        let others = [connections.enter(HERE), connections.enter(HERE)];
        assert!(first.read_u8().await.is_err(), "the oldest stranger has given way");
        assert!(others.iter().all(|other| other.ended().now_or_never().is_none()));
        theirs.write_all(b"x").await.unwrap();
        assert_eq!(proven.read_u8().await.unwrap(), b'x');
        drop((first, others));
        assert_eq!(connections.crowd().len(), 1);
    }

    #[tokio::test]
    async fn a_stranger_is_read_no_further_than_a_request_needs() {
        let connections = few();
        let (mut theirs, ours) = duplex(1 << 20);
        theirs.write_all(&vec![0; 512 << 10]).await.unwrap();
        let mut stream = BoundedStream::new(ours, connections.enter(HERE));
        let mut taken = vec![0; 1 << 20];
        let mut total = 0;
        while let Some(read) = stream.read(&mut taken[..16 << 10]).now_or_never() {
            total += read.unwrap();
        }
        assert!((64 << 10..=80 << 10).contains(&total), "{total}");
        let ticket = stream.ticket().clone();
        let turn = ticket.request();
        assert!(stream.read(&mut taken[..16]).now_or_never().is_some(), "the next step has room of its own");
        drop(turn);
        ticket.prove(Proof::Person);
        stream.read_exact(&mut taken[..256 << 10]).await.unwrap();
    }

    #[tokio::test]
    async fn no_more_are_taken_while_those_that_gave_way_are_not_gone() {
        let connections = few();
        let mut held: Vec<Ticket> = (0..4 + ENDING).map(|_| connections.enter(HERE)).collect();
        assert!(connections.room().now_or_never().is_none());
        let waiting = tokio::spawn({
            let connections = connections.clone();
            async move { connections.room().await }
        });
        tokio::task::yield_now().await;
        held.pop();
        waiting.await.unwrap();
    }
}
