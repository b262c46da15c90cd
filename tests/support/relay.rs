//! A relay between a program and its server that can stall, as a network does: both ends stay connected and nothing passes;
//! or that answers itself, as a proxy does whose server is away.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// It relays for as long as the test's process lives.
pub struct Relay {
    port: u16,
    is_stalled: Arc<AtomicBool>,
    /// The status of its own answers; 0 where it passes all on.
    status: Arc<AtomicU16>,
    /// A part of the paths that it answers with 502, whatever the others are.
    withheld: Arc<Mutex<Option<&'static str>>>,
}

impl Relay {
    /// Listens on every address of the loopback; whoever comes is connected to this port of the same address.
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let relay = Self {
            port: listener.local_addr().unwrap().port(),
            is_stalled: Arc::default(),
            status: Arc::default(),
            withheld: Arc::default(),
        };
        let (is_stalled, status, withheld) = (relay.is_stalled.clone(), relay.status.clone(), relay.withheld.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if status.load(Ordering::SeqCst) != 0 {
                    answer(client, status.load(Ordering::SeqCst));
                    continue;
                }
                let Ok(server) = TcpStream::connect((client.local_addr().unwrap().ip(), port)) else { continue };
                let pass_on = |from, to, withheld| pass(from, to, is_stalled.clone(), status.clone(), withheld);
                pass_on(client.try_clone().unwrap(), server.try_clone().unwrap(), Some(withheld.clone()));
                pass_on(server, client, None);
            }
        });
        relay
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends what is connected as soon as it says something, and answers all requests with this status; 0 passes them on.
    pub fn answer(&self, status: u16) {
        self.status.store(status, Ordering::SeqCst);
    }

    /// Answers requests with 502 whose path has this in it; none passes all on.
    pub fn withhold(&self, path: Option<&'static str>) {
        *self.withheld.lock().unwrap() = path;
    }

    pub fn stall(&self, is_stalled: bool) {
        self.is_stalled.store(is_stalled, Ordering::SeqCst);
    }
}

/// What a proxy says that knows nothing of the server behind it.
fn answer(mut client: TcpStream, status: u16) {
    std::thread::spawn(move || {
        let _ = client.set_read_timeout(Some(Duration::from_secs(1)));
        let _ = client.read(&mut [0; 16 * 1024]);
        let page = "<html>nothing here</html>";
        let head = format!("HTTP/1.1 {status} No\r\ncontent-type: text/html\r\nconnection: close");
        let _ = write!(client, "{head}\r\ncontent-length: {}\r\n\r\n{page}", page.len());
    });
}

fn pass(
    mut from: TcpStream,
    mut to: TcpStream,
    is_stalled: Arc<AtomicBool>,
    status: Arc<AtomicU16>,
    withheld: Option<Arc<Mutex<Option<&'static str>>>>,
) {
    let is_withheld = move |piece: &[u8]| {
        let path = withheld.as_ref().and_then(|withheld| *withheld.lock().unwrap());
        let head = piece.split(|byte| *byte == b'\n').next().unwrap_or_default();
        path.is_some_and(|path| String::from_utf8_lossy(head).contains(path))
    };
    std::thread::spawn(move || {
        let mut piece = [0; 16 * 1024];
        loop {
            while is_stalled.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            match from.read(&mut piece) {
                Ok(_) if status.load(Ordering::SeqCst) != 0 => {
                    let _ = from.shutdown(Shutdown::Both);
                    break;
                }
                Ok(count @ 1..) if is_withheld(&piece[..count]) => {
                    let _ = to.shutdown(Shutdown::Both);
                    return answer(from, 502);
                }
                Ok(count @ 1..) if to.write_all(&piece[..count]).is_ok() => {}
                _ => break,
            }
        }
        let _ = to.shutdown(Shutdown::Write);
        let _ = from.shutdown(Shutdown::Read);
    });
}
