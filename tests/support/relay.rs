//! A relay between ssh and its server that can stall, as a network does: both ends stay connected and nothing passes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// It relays for as long as the test's process lives.
pub struct Relay {
    port: u16,
    is_stalled: Arc<AtomicBool>,
}

impl Relay {
    /// Listens on every address of the loopback; whoever comes is connected to this port of the same address.
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let relay = Self { port: listener.local_addr().unwrap().port(), is_stalled: Arc::default() };
        let is_stalled = relay.is_stalled.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect((client.local_addr().unwrap().ip(), port)) else { continue };
                pass(client.try_clone().unwrap(), server.try_clone().unwrap(), is_stalled.clone());
                pass(server, client, is_stalled.clone());
            }
        });
        relay
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn stall(&self, is_stalled: bool) {
        self.is_stalled.store(is_stalled, Ordering::SeqCst);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, is_stalled: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut piece = [0; 16 * 1024];
        loop {
            while is_stalled.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            match from.read(&mut piece) {
                Ok(count @ 1..) if to.write_all(&piece[..count]).is_ok() => {}
                _ => break,
            }
        }
        let _ = to.shutdown(Shutdown::Write);
        let _ = from.shutdown(Shutdown::Read);
    });
}
