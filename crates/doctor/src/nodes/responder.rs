//! What every node has for the others to measure with: it echoes, takes bytes and gives bytes.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

pub const MAGIC: [u8; 4] = *b"FRP1";
pub const REQUEST: usize = 12;
pub const PING: u8 = 1;
pub const SINK: u8 = 2;
pub const SOURCE: u8 = 3;
/// A piece of a transfer.
pub const PIECE: usize = 256 << 10;
/// A peer that is silent longer is gone.
const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(5);
const MOST_AT_ONCE: usize = 256;

/// Listens on both families where the machine has both.
pub fn listen(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind(("::", port)).or_else(|error| match error.kind() {
        io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(error),
        _ => TcpListener::bind(("0.0.0.0", port)),
    })
}

/// Answers as long as the process lives; returns its port.
pub fn start() -> io::Result<u16> {
    let listener = listen(0)?;
    let port = listener.local_addr()?.port();
    let running = Arc::new(AtomicUsize::new(0));
    thread::Builder::new().name("responder".into()).spawn(move || {
        for stream in listener.incoming().flatten() {
            if running.fetch_add(1, Ordering::Relaxed) >= MOST_AT_ONCE {
                running.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let done = running.clone();
            let serve = move || {
                let _ = answer(stream);
                done.fetch_sub(1, Ordering::Relaxed);
            };
            // One caller less, where the machine has no thread to spare; the others are still answered.
            if thread::Builder::new().name("answer".into()).spawn(serve).is_err() {
                running.fetch_sub(1, Ordering::Relaxed);
            }
        }
    })?;
    Ok(port)
}

/// Lets callers in and hangs up: that they get in is all they want to know.
pub fn hang_up_on(listener: TcpListener) {
    let _ = thread::Builder::new().name("door".into()).spawn(move || listener.incoming().for_each(drop));
}

pub fn wall_us() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = [0; REQUEST];
    stream.read_exact(&mut request)?;
    if request[..4] != MAGIC {
        return Ok(());
    }
    let millis = u32::from_le_bytes([request[8], request[9], request[10], request[11]]);
    let length = Duration::from_millis(u64::from(millis)).min(LONGEST);
    match request[4] {
        PING => echo(&mut stream),
        SINK => take(&mut stream, length),
        SOURCE => give(&mut stream, length),
        _ => Ok(()),
    }
}

fn echo(stream: &mut TcpStream) -> io::Result<()> {
    let mut question = [0; 8];
    loop {
        stream.read_exact(&mut question)?;
        stream.write_all(&wall_us().to_le_bytes())?;
    }
}

/// Counts what comes from the first byte on and says how much that was in how long.
fn take(stream: &mut TcpStream, length: Duration) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    // The first bytes start the clock and do not count.
    let _ = stream.read(&mut piece)?;
    let start = Instant::now();
    let mut bytes = 0;
    while start.elapsed() < length {
        stream.set_read_timeout(Some((length - start.elapsed().min(length)).max(Duration::from_millis(1))))?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => bytes += count as u64,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => break,
            Err(error) => return Err(error),
        }
    }
    let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    let mut said = [0; 16];
    said[..8].copy_from_slice(&bytes.to_le_bytes());
    said[8..].copy_from_slice(&micros.to_le_bytes());
    stream.write_all(&said)
}

/// Gives until the caller has enough and hangs up.
fn give(stream: &mut TcpStream, length: Duration) -> io::Result<()> {
    let piece = vec![0x5a; PIECE];
    let start = Instant::now();
    while start.elapsed() < length + PATIENCE {
        stream.write_all(&piece)?;
    }
    Ok(())
}
