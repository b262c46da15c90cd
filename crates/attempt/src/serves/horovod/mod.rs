//! The HTTP key-value store at which Horovod's ranks meet in gloo mode.
//!
//! Ranks put their addresses under `/<scope>/<key>`, ask for those of the others until they are there (404 until then),
//! and delete a key to say that they are done with a scope. Scopes keep the world, each host and each row of equal local
//! ranks apart. One request per connection; what an unknown peer sends is answered with a status and forgotten.

mod request;
mod store;

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use request::{Head, Method};
use store::Store;

/// A rank that asks for longer than this in one request is none.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections that are served at once; more are told to come back, which ranks do by themselves.
const AT_ONCE: usize = 512;
const LONGEST_HEAD: usize = 16 * 1024;

/// A running store; it ends with this value.
#[derive(Debug)]
pub struct KeyValueServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    store: Mutex<Store>,
    ended: AtomicBool,
    busy: AtomicUsize,
}

impl KeyValueServer {
    /// Serves on a socket that listens already, so that the port is the caller's own from the start.
    pub fn start(listener: TcpListener) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("key-value".into()).spawn(move || accept(&listener, &of_thread))?;
        Ok(Self { address, shared, thread: Some(thread) })
    }
}

impl Drop for KeyValueServer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        // The thread waits in accept; a connection wakes it. A wildcard address is reached by loopback.
        let mut listener = self.address;
        if listener.ip().is_unspecified() {
            listener.set_ip(match listener {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        let connected = TcpStream::connect_timeout(&listener, Duration::from_secs(1)).is_ok();
        if let (true, Some(thread)) = (connected, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let connection = listener.accept();
        if shared.ended.load(Ordering::Acquire) {
            return;
        }
        let Ok((mut stream, _)) = connection else {
            // Out of descriptors, mostly: a moment later there are some again.
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        if shared.busy.fetch_add(1, Ordering::AcqRel) >= AT_ONCE {
            let _ = answer(&mut stream, 503, b"");
            shared.busy.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let of_thread = Arc::clone(shared);
        let served = std::thread::Builder::new().spawn(move || {
            let _ = serve(stream, &of_thread.store);
            of_thread.busy.fetch_sub(1, Ordering::AcqRel);
        });
        if served.is_err() {
            shared.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn serve(mut stream: TcpStream, store: &Mutex<Store>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (head, begun) = match read_head(&mut stream)? {
        Ok(read) => read,
        Err(status) => return answer(&mut stream, status, b""),
    };
    let mut body = begun;
    if head.length > store::LARGEST_VALUE || body.len() > head.length {
        return answer(&mut stream, 413, b"");
    }
    let missing = head.length - body.len();
    (&mut stream).take(missing as u64).read_to_end(&mut body)?;
    if body.len() < head.length {
        return answer(&mut stream, 400, b"");
    }
    let (status, value) = {
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        match head.method {
            Method::Get => store.get(&head.scope, &head.key).map_or((404, Vec::new()), |value| (200, value.to_vec())),
            Method::Put if store.put(&head.scope, &head.key, body) => (200, Vec::new()),
            Method::Put => (507, Vec::new()),
            // A rank is done with a scope; its value stays, since others may not have read it yet.
            Method::Delete => (200, Vec::new()),
        }
    };
    answer(&mut stream, status, &value)
}

/// Reads up to the empty line; what came behind it is the beginning of the body.
fn read_head(stream: &mut TcpStream) -> io::Result<Result<(Head, Vec<u8>), u16>> {
    let mut bytes = Vec::with_capacity(512);
    let mut chunk = [0; 1024];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let body = bytes.split_off(end + 4);
            return Ok(Head::read(&bytes).map(|head| (head, body)));
        }
        if bytes.len() > LONGEST_HEAD {
            return Ok(Err(431));
        }
        match stream.read(&mut chunk)? {
            0 => return Ok(Err(400)),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

fn answer(stream: &mut TcpStream, status: u16, body: &[u8]) -> io::Result<()> {
    let reason = match status {
        200 => "OK",
        404 => "Not Found",
        _ => "Refused",
    };
    let mut bytes = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    stream.write_all(&bytes)?;
    stream.shutdown(Shutdown::Write)
}

#[cfg(test)]
mod tests;
