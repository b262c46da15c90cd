//! One client: what has come of it, and what it has not taken yet.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::Instant;

/// What a client that does not read may leave unread.
const MOST_UNREAD: usize = 64 * 1024 * 1024;
/// Read at once.
const CHUNK: usize = 64 * 1024;

/// A client's connection.
#[derive(Debug)]
pub struct Connection {
    pub stream: TcpStream,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// Whether it has shown that it is a client of a store.
    pub is_known: bool,
    pub address: IpAddr,
    /// What it has said in its first ping.
    pub process: Option<u32>,
    /// Whether the poller watches for room to write.
    pub watches_room: bool,
    pub since: Instant,
}

/// What one look at the stream brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    Bytes,
    Nothing,
    Closed,
}

impl Connection {
    pub fn new(stream: TcpStream, address: IpAddr) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            inbox: Vec::new(),
            outbox: Vec::new(),
            is_known: false,
            address: address.to_canonical(),
            process: None,
            watches_room: false,
            since: Instant::now(),
        })
    }

    /// Reads once.
    pub fn fill(&mut self, chunk: &mut Vec<u8>) -> Filled {
        chunk.resize(CHUNK, 0);
        match self.stream.read(chunk) {
            Ok(0) => Filled::Closed,
            Ok(count) => {
                self.inbox.extend_from_slice(&chunk[..count]);
                Filled::Bytes
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Filled::Nothing,
            Err(_) => Filled::Closed,
        }
    }

    /// What has come and is not done with; [`Self::keep_inbox`] gives it back.
    pub fn take_inbox(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.inbox)
    }

    /// Keeps what is not done with.
    pub fn keep_inbox(&mut self, mut inbox: Vec<u8>, done: usize) {
        inbox.drain(..done);
        if inbox.is_empty() {
            // A client that once sent a large value does not keep its room.
            inbox.shrink_to(CHUNK);
        }
        self.inbox = inbox;
    }

    /// Sends now what the client takes and keeps the rest; false when it is gone or takes nothing of too much.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        if !self.outbox.is_empty() {
            self.outbox.extend_from_slice(bytes);
            return self.outbox.len() <= MOST_UNREAD;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(0) => return false,
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        self.outbox.extend_from_slice(rest);
        true
    }

    /// Sends what is left; false when the client is gone.
    pub fn flush(&mut self) -> bool {
        let bytes = std::mem::take(&mut self.outbox);
        self.send(&bytes)
    }

    pub fn has_waiting(&self) -> bool {
        !self.outbox.is_empty()
    }
}
