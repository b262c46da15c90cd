//! The thread that serves a store at a port.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::board::{self, WaitBoard, WaitingClient};
use crate::connection::{Connection, Filled};
use crate::request::{GREETING, MAGIC, Request};
use crate::store::Store;

/// A client has this long to show that it is one.
const GREETING_PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whose time is up.
const LOOK_EVERY: Duration = Duration::from_secs(2);
const AT_ONCE: usize = 512;
/// Room for an answer that is kept for the next one.
const LARGEST_KEPT: usize = 64 * 1024;
/// So much of answers to one client is gathered before it is sent.
const MOST_AT_ONCE: usize = 64 * 1024;
/// The keys of the poller that are no clients'.
const BELL: u64 = 0;
const LISTENER: u64 = 1;
const FIRST_CLIENT: u64 = 2;

/// How a server deals with those who are no clients.
#[derive(Clone, Debug)]
pub struct Options {
    /// Clients at once; more are sent away.
    pub most_clients: usize,
    /// What is said to a connection whose first bytes are a length and the beginning of a JSON object, before it is closed.
    pub answer_to_frames: Vec<u8>,
}

impl Default for Options {
    fn default() -> Self {
        Self { most_clients: 65_536, answer_to_frames: Vec::new() }
    }
}

/// A store that is served; it ends with this value, and all that it kept with it.
#[derive(Debug)]
pub struct StoreServer {
    bell: Arc<EventFd>,
    board: Arc<WaitBoard>,
    is_ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StoreServer {
    /// Serves an empty store on a socket that listens already, so that the port is the caller's own from the start.
    pub fn start(listener: TcpListener, options: Options) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let poller = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        poller.add(bell.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, BELL))?;
        poller.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
        let board = Arc::new(WaitBoard::default());
        let is_ending = Arc::new(AtomicBool::new(false));
        let server = Server {
            bell: bell.clone(),
            board: board.clone(),
            is_ending: is_ending.clone(),
            listener,
            poller,
            options,
            store: Store::default(),
            clients: HashMap::default(),
            next: FIRST_CLIENT,
            chunk: Vec::new(),
            own: Vec::new(),
            gone: Vec::new(),
        };
        let thread = std::thread::Builder::new().name("store".into()).spawn(move || server.run())?;
        Ok(Self { bell, board, is_ending, thread: Some(thread) })
    }

    /// The clients that wait for a key, as they were when this was asked the last time.
    pub fn waiting(&self) -> Vec<WaitingClient> {
        let seen = self.board.ask();
        // An overflow of its count would mean that the bell rings.
        let _ = self.bell.write(1);
        seen
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Release);
        let rung = self.bell.write(1).is_ok();
        if let (true, Some(thread)) = (rung, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

/// Clients are numbered by us: nobody chooses numbers that would meet in one place of the table.
type OwnNumbers = BuildHasherDefault<OwnNumber>;

#[derive(Debug, Default)]
struct OwnNumber(u64);

impl Hasher for OwnNumber {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    /// The table takes its places from the low bits and its marks from the highest.
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

struct Server {
    bell: Arc<EventFd>,
    board: Arc<WaitBoard>,
    is_ending: Arc<AtomicBool>,
    listener: TcpListener,
    poller: Epoll,
    options: Options,
    store: Store,
    clients: HashMap<u64, Connection, OwnNumbers>,
    next: u64,
    chunk: Vec<u8>,
    /// What the client whose requests are read is answered.
    own: Vec<u8>,
    /// Clients that could not be answered in this turn.
    gone: Vec<u64>,
}

impl Server {
    fn run(mut self) {
        let mut events = vec![EpollEvent::empty(); AT_ONCE];
        let patience = EpollTimeout::try_from(LOOK_EVERY).unwrap_or(EpollTimeout::NONE);
        let mut looked = Instant::now();
        loop {
            let count = match self.poller.wait(&mut events, patience) {
                Ok(count) => count,
                Err(nix::errno::Errno::EINTR) => 0,
                Err(_) => return,
            };
            for event in &events[..count] {
                match event.data() {
                    BELL if self.is_ending.load(Ordering::Acquire) => return,
                    BELL => self.show_waiting(),
                    LISTENER => self.accept(),
                    client => self.serve(client, event.events()),
                }
            }
            self.let_go();
            if looked.elapsed() >= LOOK_EVERY {
                looked = Instant::now();
                self.clients.retain(|_, client| client.is_known || client.since.elapsed() < GREETING_PATIENCE);
            }
        }
    }

    fn show_waiting(&self) {
        let _ = self.bell.read();
        self.board.answer(|| {
            let waiting = self.store.waiting().filter_map(|(client, key)| {
                let Connection { address, process, .. } = *self.clients.get(&client)?;
                Some(WaitingClient { address, process, key: board::shown(key) })
            });
            waiting.collect()
        });
    }

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, peer)) => {
                    // Who is too many is sent away by the end of its connection.
                    if self.clients.len() >= self.options.most_clients {
                        continue;
                    }
                    let Ok(client) = Connection::new(stream, peer.ip()) else { continue };
                    let key = self.next;
                    self.next += 1;
                    if self.poller.add(&client.stream, EpollEvent::new(EpollFlags::EPOLLIN, key)).is_ok() {
                        self.clients.insert(key, client);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // Out of descriptors, mostly: a moment later there are some again.
                    std::thread::sleep(Duration::from_millis(5));
                    return;
                }
            }
        }
    }

    fn serve(&mut self, key: u64, flags: EpollFlags) {
        if flags.contains(EpollFlags::EPOLLOUT) {
            self.flush(key);
        }
        if !flags.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR) {
            return;
        }
        let Some(client) = self.clients.get_mut(&key) else { return };
        match client.fill(&mut self.chunk) {
            Filled::Nothing => {}
            Filled::Closed => self.gone.push(key),
            Filled::Bytes => {
                // Out of the connection, so that they can be read while others are answered.
                let (inbox, is_known) = (client.take_inbox(), client.is_known);
                let taken = self.read(key, &inbox, is_known);
                if let Some(client) = self.clients.get_mut(&key) {
                    client.keep_inbox(inbox, taken.unwrap_or_default());
                }
                if taken.is_none() {
                    self.gone.push(key);
                }
            }
        }
    }

    /// Takes every whole request of a client; how many bytes they were, or none where it is no client.
    fn read(&mut self, key: u64, inbox: &[u8], is_known: bool) -> Option<usize> {
        if !is_known {
            let client = self.clients.get_mut(&key)?;
            match introduction(inbox) {
                Introduction::Unfinished => return Some(0),
                Introduction::Client => client.is_known = true,
                Introduction::Frame => {
                    client.send(&self.options.answer_to_frames);
                    return None;
                }
                Introduction::Other => return None,
            }
        }
        let Self { store, clients, gone, poller, own, .. } = self;
        let (mut done, mut is_client) = (0, true);
        own.clear();
        loop {
            let (request, taken) = match Request::read(&inbox[done..]) {
                Ok(Some(whole)) => whole,
                Ok(None) => break,
                Err(_) => {
                    is_client = false;
                    break;
                }
            };
            let mut answer = |to: u64, bytes: &[u8]| {
                if to == key {
                    own.extend_from_slice(bytes);
                } else if let Some(other) = clients.get_mut(&to) {
                    send(other, to, bytes, poller, gone);
                }
            };
            if store.take(key, &request, &mut answer).is_err() {
                is_client = false;
                break;
            }
            done += taken;
            if let Request::Ping { nonce } = request {
                clients.get_mut(&key)?.process.get_or_insert(nonce);
            }
            // What came at once is answered at once: a write costs more than all else.
            if own.len() >= MOST_AT_ONCE {
                send(clients.get_mut(&key)?, key, own, poller, gone);
                own.clear();
            }
        }
        if !own.is_empty() {
            send(clients.get_mut(&key)?, key, own, poller, gone);
            // An answer that was once large does not keep its room.
            own.shrink_to(LARGEST_KEPT);
        }
        is_client.then_some(done)
    }

    fn flush(&mut self, key: u64) {
        let Some(client) = self.clients.get_mut(&key) else { return };
        if !client.flush() {
            self.gone.push(key);
        } else if !client.has_waiting() && client.watches_room {
            client.watches_room = false;
            let _ = self.poller.modify(&client.stream, &mut EpollEvent::new(EpollFlags::EPOLLIN, key));
        }
    }

    /// Forgets those who are gone.
    fn let_go(&mut self) {
        for key in std::mem::take(&mut self.gone) {
            self.store.forget(key);
            // Closing takes it off the poller.
            self.clients.remove(&key);
        }
    }
}

/// Sends to a client, and has the poller say when it takes what is left.
fn send(client: &mut Connection, key: u64, bytes: &[u8], poller: &Epoll, gone: &mut Vec<u64>) {
    if !client.send(bytes) {
        gone.push(key);
    } else if client.has_waiting() && !client.watches_room {
        client.watches_room = true;
        let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT;
        let _ = poller.modify(&client.stream, &mut EpollEvent::new(flags, key));
    }
}

/// What the first bytes of a connection say of it.
#[derive(Debug, PartialEq, Eq)]
enum Introduction {
    Unfinished,
    Client,
    /// A length and the beginning of a JSON object.
    Frame,
    Other,
}

/// The largest frame with which a connection may introduce itself.
const LARGEST_FRAME: u32 = 64 * 1024;

fn introduction(bytes: &[u8]) -> Introduction {
    let Some(first) = bytes.first_chunk::<GREETING>() else { return Introduction::Unfinished };
    let [command, a, b, c, d] = *first;
    if command == 0 && u32::from_le_bytes([a, b, c, d]) == MAGIC {
        Introduction::Client
    } else if u32::from_le_bytes([command, a, b, c]) <= LARGEST_FRAME && d == b'{' {
        Introduction::Frame
    } else {
        Introduction::Other
    }
}

#[cfg(test)]
mod tests;
