//! The thread that serves a store at a port.

use std::collections::HashMap;
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::connection::{Connection, Filled};
use crate::request::{GREETING, MAGIC, Request};
use crate::store::Store;

/// A client has this long to show that it is one.
const GREETING_PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whose time is up.
const LOOK_EVERY: Duration = Duration::from_secs(2);
const AT_ONCE: usize = 512;
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
        let server = Server {
            listener,
            poller,
            options,
            store: Store::default(),
            clients: HashMap::new(),
            next: FIRST_CLIENT,
            chunk: Vec::new(),
            gone: Vec::new(),
        };
        let thread = std::thread::Builder::new().name("store".into()).spawn(move || server.run())?;
        Ok(Self { bell, thread: Some(thread) })
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        let rung = self.bell.write(1).is_ok();
        if let (true, Some(thread)) = (rung, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

struct Server {
    listener: TcpListener,
    poller: Epoll,
    options: Options,
    store: Store,
    clients: HashMap<u64, Connection>,
    next: u64,
    chunk: Vec<u8>,
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
                    BELL => return,
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

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    // Who is too many is sent away by the end of its connection.
                    if self.clients.len() >= self.options.most_clients {
                        continue;
                    }
                    let Ok(client) = Connection::new(stream) else { continue };
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
            Filled::Bytes => self.read(key),
            Filled::Nothing => {}
            Filled::Closed => self.gone.push(key),
        }
    }

    /// Takes every whole request of a client.
    fn read(&mut self, key: u64) {
        // Out of the map, so that its bytes can be read while others are answered.
        let Some(mut client) = self.clients.remove(&key) else { return };
        let mut is_fine = true;
        while is_fine {
            if !client.is_known {
                match introduction(client.unread()) {
                    Introduction::Unfinished => break,
                    Introduction::Client => client.is_known = true,
                    Introduction::Frame => {
                        client.send(&self.options.answer_to_frames);
                        is_fine = false;
                        break;
                    }
                    Introduction::Other => {
                        is_fine = false;
                        break;
                    }
                }
            }
            let Self { store, clients, gone, poller, .. } = self;
            let mut own: Vec<u8> = Vec::new();
            let taken = match Request::read(client.unread()) {
                Ok(None) => break,
                Ok(Some((request, taken))) => {
                    let mut answer = |to: u64, bytes: &[u8]| {
                        if to == key {
                            own.extend_from_slice(bytes);
                        } else if let Some(other) = clients.get_mut(&to) {
                            send(other, to, bytes, poller, gone);
                        }
                    };
                    store.take(key, &request, &mut answer).map(|()| taken).ok()
                }
                Err(_) => None,
            };
            match taken {
                Some(taken) => {
                    client.take(taken);
                    send(&mut client, key, &own, poller, gone);
                }
                None => is_fine = false,
            }
        }
        client.settle();
        self.clients.insert(key, client);
        if !is_fine {
            self.gone.push(key);
        }
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
    if bytes.is_empty() {
        return;
    }
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
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    fn server(options: Options) -> (StoreServer, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        (StoreServer::start(listener, options).unwrap(), port)
    }

    fn connect(port: u16) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn client(port: u16) -> TcpStream {
        let mut stream = connect(port);
        stream.write_all(&[&[0][..], &MAGIC.to_le_bytes()].concat()).unwrap();
        stream
    }

    fn text(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
    }

    fn heard<const N: usize>(stream: &mut TcpStream) -> [u8; N] {
        let mut bytes = [0; N];
        stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn clients_meet_and_one_that_waits_is_told() {
        let (_server, port) = server(Options::default());
        let (mut one, mut other) = (client(port), client(port));
        one.write_all(&[&[6][..], &1u64.to_le_bytes(), &text(b"/k")].concat()).unwrap();
        other.write_all(&[&[1][..], &text(b"/k"), &text(&vec![7; 1 << 20])].concat()).unwrap();
        assert_eq!(heard::<1>(&mut one), [0]);
        one.write_all(&[&[3][..], &text(b"/k")].concat()).unwrap();
        assert_eq!(u64::from_le_bytes(heard(&mut one)), 1 << 20);
    }

    #[test]
    fn what_comes_byte_by_byte_or_all_at_once_is_the_same() {
        let (_server, port) = server(Options::default());
        let words = [&[4][..], &text(b"/n"), &1i64.to_le_bytes()].concat();
        let mut slow = client(port);
        for byte in &words {
            slow.write_all(&[*byte]).unwrap();
        }
        assert_eq!(i64::from_le_bytes(heard(&mut slow)), 1);
        slow.write_all(&words.repeat(100)).unwrap();
        let last = (0..100).map(|_| i64::from_le_bytes(heard(&mut slow))).last();
        assert_eq!(last, Some(101));
    }

    #[test]
    fn strangers_are_sent_away_and_frames_are_answered() {
        let (_server, port) = server(Options { answer_to_frames: b"busy".to_vec(), ..Options::default() });
        let mut all = Vec::new();
        let mut stranger = connect(port);
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(stranger.read_to_end(&mut all).unwrap_or(0), 0);
        let mut node = connect(port);
        node.write_all(&[&2u32.to_le_bytes()[..], b"{}"].concat()).unwrap();
        assert_eq!(&heard::<4>(&mut node), b"busy");
        let mut wrong = client(port);
        wrong.write_all(&[200]).unwrap();
        assert!(matches!(wrong.read(&mut [0]), Ok(0) | Err(_)));
        let mut fine = client(port);
        fine.write_all(&[7]).unwrap();
        assert_eq!(i64::from_le_bytes(heard(&mut fine)), 0);
    }

    #[test]
    fn more_clients_than_allowed_are_sent_away_and_the_others_go_on() {
        let (_server, port) = server(Options { most_clients: 2, ..Options::default() });
        let mut first = client(port);
        first.write_all(&[7]).unwrap();
        heard::<8>(&mut first);
        let mut second = client(port);
        second.write_all(&[7]).unwrap();
        heard::<8>(&mut second);
        let mut third = client(port);
        assert!(matches!(third.read(&mut [0]), Ok(0) | Err(_)));
        drop(second);
        first.write_all(&[7]).unwrap();
        heard::<8>(&mut first);
    }

    #[test]
    fn the_port_is_free_when_the_server_is_gone() {
        let (server, port) = server(Options::default());
        let mut one = client(port);
        one.write_all(&[7]).unwrap();
        heard::<8>(&mut one);
        drop(server);
        assert!(matches!(one.read(&mut [0]), Ok(0) | Err(_)));
        TcpListener::bind(("127.0.0.1", port)).unwrap();
    }

    #[test]
    fn a_client_that_does_not_read_holds_up_no_other() {
        let (_server, port) = server(Options::default());
        let mut greedy = client(port);
        greedy.write_all(&[&[1][..], &text(b"/k"), &text(&vec![7; 4 << 20]), &[7]].concat()).unwrap();
        assert_eq!(i64::from_le_bytes(heard(&mut greedy)), 1);
        let get = [&[3][..], &text(b"/k")].concat();
        // Its connection ends once too much waits for it.
        greedy.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        for _ in 0..64 {
            if greedy.write_all(&get).is_err() {
                break;
            }
        }
        let mut other = client(port);
        other.write_all(&[7]).unwrap();
        assert_eq!(i64::from_le_bytes(heard(&mut other)), 1);
    }
}
