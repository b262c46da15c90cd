//! The two connections of a rank, and the one way in which bytes move over them.
//!
//! Sending and receiving go on at the same time, driven by poll: if every rank first sent and then received, a message
//! larger than the socket buffers would stop the whole ring. Each message begins with what it belongs to, so that ranks
//! which do different things find out at once.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags};

use crate::acceptor::wait;
use crate::bytes::{add, bytes_of_mut};
use crate::communicator::DEFAULT_OPERATION_TIMEOUT;
use crate::error::{Operation, OperationError};
use crate::wire::Wire;

/// As long as a cache line, so that what follows it lies as well in the kernel's buffers as in ours: copies between places of
/// another alignment take up to a third longer.
const HEADER: usize = 64;

pub(crate) struct Ring {
    left: TcpStream,
    pub left_rank: usize,
    right: TcpStream,
    pub right_rank: usize,
    pub timeout: Duration,
    /// Counts operations, alike on all ranks.
    sequence: u32,
    /// Whether the right neighbour is on this machine.
    pub is_near: bool,
    /// That this process may use.
    pub cores: usize,
}

/// How much a rank lets its left neighbour send.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    Exactly(usize),
    AtMost(usize),
    /// In the order of pieces that follows from whether both are on one machine, which each finds out by itself.
    InOrder {
        bytes: usize,
        is_near: bool,
    },
}

struct Outgoing<'a> {
    header: [u8; HEADER],
    payload: &'a [u8],
    written: usize,
}

impl<'a> Outgoing<'a> {
    fn nothing() -> Self {
        Self { header: [0; HEADER], payload: &[], written: HEADER }
    }

    fn message(operation: Operation, sequence: u32, payload: &'a [u8]) -> Self {
        Self::beginning(operation, sequence, payload.len(), payload)
    }

    /// A message of `total` bytes, of which these are the first.
    fn beginning(operation: Operation, sequence: u32, total: usize, payload: &'a [u8]) -> Self {
        let mut header = [0; HEADER];
        header[0] = operation.code();
        header[4..8].copy_from_slice(&sequence.to_le_bytes());
        header[8..16].copy_from_slice(&(total as u64).to_le_bytes());
        Self { header, payload, written: 0 }
    }

    fn is_sent(&self) -> bool {
        self.written == HEADER + self.payload.len()
    }

    /// How much of the payload is on its way.
    fn payload_written(&self) -> usize {
        self.written.saturating_sub(HEADER)
    }

    /// Header and payload as they are still to be sent, so that a small message is one packet.
    fn rest(&self) -> [IoSlice<'_>; 2] {
        let of_header = self.written.min(HEADER);
        [IoSlice::new(&self.header[of_header..]), IoSlice::new(&self.payload[self.payload_written()..])]
    }
}

impl Ring {
    pub fn new(left: TcpStream, left_rank: usize, right: TcpStream, right_rank: usize) -> io::Result<Self> {
        left.set_nonblocking(true)?;
        right.set_nonblocking(true)?;
        let is_near = right.local_addr()?.ip() == right.peer_addr()?.ip();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self { left, left_rank, right, right_rank, timeout: DEFAULT_OPERATION_TIMEOUT, sequence: 0, is_near, cores })
    }

    /// Every operation begins with this, on every rank.
    pub fn begin(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Sends to the right while receiving from the left.
    pub fn exchange(
        &mut self,
        operation: Operation,
        outgoing: &[u8],
        incoming: &mut Vec<u8>,
        expected: Expected,
    ) -> Result<(), OperationError> {
        let message = Outgoing::message(operation, self.sequence, outgoing);
        self.finish(|ring| ring.take(operation, message, incoming, expected))
    }

    pub fn send(&mut self, operation: Operation, outgoing: &[u8]) -> Result<(), OperationError> {
        let mut message = Outgoing::message(operation, self.sequence, outgoing);
        self.finish(|ring| ring.pump(operation, &mut message, &mut [], Until::Sent))
    }

    pub fn receive_into(&mut self, operation: Operation, incoming: &mut [u8]) -> Result<(), OperationError> {
        let mut nothing = Outgoing::nothing();
        self.finish(|ring| {
            ring.take_header(operation, &mut nothing, Expected::Exactly(incoming.len()))?;
            ring.pump(operation, &mut nothing, incoming, Until::Received)
        })
    }

    /// Sends to the right while receiving just as many bytes as fit from the left.
    pub fn exchange_into(
        &mut self,
        operation: Operation,
        outgoing: &[u8],
        incoming: &mut [u8],
    ) -> Result<(), OperationError> {
        let mut message = Outgoing::message(operation, self.sequence, outgoing);
        self.finish(|ring| {
            ring.take_header(operation, &mut message, Expected::Exactly(incoming.len()))?;
            ring.pump(operation, &mut message, incoming, Until::Received)?;
            ring.pump(operation, &mut message, &mut [], Until::Sent)
        })
    }

    /// Sends to the right while what comes from the left is added to `sums`, piece by piece as it comes, so that the
    /// pieces stay in the cache.
    pub fn exchange_adding(
        &mut self,
        operation: Operation,
        outgoing: &[u8],
        sums: &mut [f32],
        piece: &mut [f32],
    ) -> Result<(), OperationError> {
        let mut message = Outgoing::message(operation, self.sequence, outgoing);
        self.finish(|ring| {
            ring.take_header(operation, &mut message, Expected::Exactly(size_of_val(sums)))?;
            for sums in sums.chunks_mut(piece.len()) {
                let piece = &mut piece[..sums.len()];
                ring.pump(operation, &mut message, bytes_of_mut(piece), Until::Received)?;
                add(sums, piece);
            }
            ring.pump(operation, &mut message, &mut [], Until::Sent)
        })
    }

    /// Sends and receives what `talk` has, in whichever order the sockets allow; `total` bytes each way.
    pub fn talk(&mut self, operation: Operation, total: usize, talk: &mut impl Talk) -> Result<(), OperationError> {
        let sequence = self.sequence;
        self.finish(|ring| {
            let mut message = Outgoing::beginning(operation, sequence, total, talk.to_send());
            ring.open(operation, total, &mut message)?;
            let begun = message.payload_written();
            talk.sent(begun);
            ring.go_on(operation, talk)
        })
    }

    /// Headers alone, before two threads move `total` bytes each way over a [`Wire`].
    pub fn exchange_headers(&mut self, operation: Operation, total: usize) -> Result<(), OperationError> {
        let mut message = Outgoing::beginning(operation, self.sequence, total, &[]);
        self.finish(|ring| ring.open(operation, total, &mut message))
    }

    fn open(&mut self, operation: Operation, total: usize, message: &mut Outgoing<'_>) -> Result<(), OperationError> {
        message.header[1] = u8::from(self.is_near);
        let expected = Expected::InOrder { bytes: total, is_near: self.is_near };
        self.take_header(operation, message, expected)?;
        self.pump(operation, message, &mut [], Until::HeaderSent)
    }

    /// The same connections, for two threads.
    pub fn wire(&self, operation: Operation) -> io::Result<Wire> {
        let streams = [self.left.try_clone()?, self.right.try_clone()?];
        Ok(Wire::new(streams, [self.left_rank, self.right_rank], operation, self.timeout))
    }

    fn go_on(&mut self, operation: Operation, talk: &mut impl Talk) -> Result<(), OperationError> {
        let lost = |rank| move |source| OperationError::Lost { rank, operation, source };
        let mut last_progress = Instant::now();
        while !talk.is_over() {
            let sent = put(&self.right, talk.to_send()).map_err(lost(self.right_rank))?;
            talk.sent(sent);
            let received = pull(&self.left, talk.room()).map_err(lost(self.left_rank))?;
            talk.received(received);
            if sent + received > 0 {
                last_progress = Instant::now();
                continue;
            }
            let (is_receiving, is_sending) = (!talk.room().is_empty(), !talk.to_send().is_empty());
            self.rest(operation, last_progress, is_receiving, is_sending)?;
        }
        Ok(())
    }

    /// After a failure nobody can know how much of a message arrived. Hanging up makes the neighbours fail now instead
    /// of at their time-outs, and every later call on this rank fail too.
    fn finish(&mut self, work: impl FnOnce(&mut Self) -> Result<(), OperationError>) -> Result<(), OperationError> {
        let outcome = work(self);
        if outcome.is_err() {
            let _ = self.left.shutdown(Shutdown::Both);
            let _ = self.right.shutdown(Shutdown::Both);
        }
        outcome
    }

    fn take(
        &mut self,
        operation: Operation,
        mut outgoing: Outgoing<'_>,
        incoming: &mut Vec<u8>,
        expected: Expected,
    ) -> Result<(), OperationError> {
        let length = self.take_header(operation, &mut outgoing, expected)?;
        incoming.resize(length, 0);
        self.pump(operation, &mut outgoing, incoming, Until::Received)?;
        self.pump(operation, &mut outgoing, &mut [], Until::Sent)
    }

    /// The length of what comes from the left.
    fn take_header(
        &mut self,
        operation: Operation,
        outgoing: &mut Outgoing<'_>,
        expected: Expected,
    ) -> Result<usize, OperationError> {
        let mut header = [0; HEADER];
        self.pump(operation, outgoing, &mut header, Until::Received)?;
        self.check(operation, &header, expected)
    }

    fn check(&self, operation: Operation, header: &[u8; HEADER], expected: Expected) -> Result<usize, OperationError> {
        let [code, near, _, _, s0, s1, s2, s3, l0, l1, l2, l3, l4, l5, l6, l7, ..] = *header;
        let sequence = u32::from_le_bytes([s0, s1, s2, s3]);
        let length = u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7]);
        let fits = match expected {
            Expected::Exactly(bytes) => length == bytes as u64,
            Expected::AtMost(bytes) => length <= bytes as u64,
            Expected::InOrder { bytes, is_near } => length == bytes as u64 && near == u8::from(is_near),
        };
        if fits && code == operation.code() && sequence == self.sequence {
            return Ok(length as usize);
        }
        let theirs = Operation::from_code(code).map_or("an unknown message".to_owned(), |theirs| theirs.to_string());
        let size = match expected {
            Expected::Exactly(bytes) => format!("{bytes} bytes"),
            Expected::AtMost(bytes) => format!("at most {bytes} bytes"),
            Expected::InOrder { bytes, is_near: true } => format!("{bytes} bytes to a rank on this machine"),
            Expected::InOrder { bytes, is_near: false } => format!("{bytes} bytes to a rank on another machine"),
        };
        Err(OperationError::OutOfStep {
            rank: self.left_rank,
            theirs: format!("{theirs} number {sequence} with {length} bytes"),
            ours: format!("{operation} number {} with {size}", self.sequence),
        })
    }

    /// Moves bytes both ways until the goal is reached; the time-out runs only while nothing moves.
    fn pump(
        &mut self,
        operation: Operation,
        outgoing: &mut Outgoing<'_>,
        incoming: &mut [u8],
        until: Until,
    ) -> Result<(), OperationError> {
        let mut filled = 0;
        let mut last_progress = Instant::now();
        loop {
            let is_reached = match until {
                Until::Received => filled == incoming.len(),
                Until::Sent => outgoing.is_sent(),
                Until::HeaderSent => outgoing.written >= HEADER,
            };
            if is_reached {
                return Ok(());
            }
            let lost = |rank| move |source| OperationError::Lost { rank, operation, source };
            let sent = push(&mut self.right, outgoing).map_err(lost(self.right_rank))?;
            let received = pull(&self.left, &mut incoming[filled..]).map_err(lost(self.left_rank))?;
            filled += received;
            if sent + received > 0 {
                last_progress = Instant::now();
                continue;
            }
            self.rest(operation, last_progress, filled < incoming.len(), !outgoing.is_sent())?;
        }
    }

    /// Sleeps until something can move, or finds that nothing has for too long.
    fn rest(
        &self,
        operation: Operation,
        last_progress: Instant,
        is_receiving: bool,
        is_sending: bool,
    ) -> Result<(), OperationError> {
        let deadline = last_progress + self.timeout;
        if Instant::now() >= deadline {
            let rank = if is_receiving { self.left_rank } else { self.right_rank };
            return Err(OperationError::Silent { rank, operation, waited_s: self.timeout.as_secs_f64() });
        }
        let mut sockets = Vec::with_capacity(2);
        if is_receiving {
            sockets.push(PollFd::new(self.left.as_fd(), PollFlags::POLLIN));
        }
        if is_sending {
            sockets.push(PollFd::new(self.right.as_fd(), PollFlags::POLLOUT));
        }
        let lost = |source| OperationError::Lost { rank: self.left_rank, operation, source };
        wait(&mut sockets, deadline).map_err(lost)
    }
}

/// Two streams, one each way, that depend on each other.
pub(crate) trait Talk {
    /// What can be sent now; empty where something has to be received first, or all is sent.
    fn to_send(&self) -> &[u8];
    fn sent(&mut self, bytes: usize);
    /// Where the next bytes go; empty where none are expected any more.
    fn room(&mut self) -> &mut [u8];
    fn received(&mut self, bytes: usize);
    fn is_over(&self) -> bool;
}

#[derive(Clone, Copy)]
enum Until {
    Received,
    Sent,
    HeaderSent,
}

fn push(stream: &mut TcpStream, outgoing: &mut Outgoing<'_>) -> io::Result<usize> {
    if outgoing.is_sent() {
        return Ok(0);
    }
    let count = now_or_later(stream.write_vectored(&outgoing.rest()))?;
    outgoing.written += count;
    Ok(count)
}

pub(crate) fn put(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() { Ok(0) } else { now_or_later(stream.write(bytes)) }
}

pub(crate) fn pull(mut stream: &TcpStream, into: &mut [u8]) -> io::Result<usize> {
    if into.is_empty() {
        return Ok(0);
    }
    match stream.read(into) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        outcome => now_or_later(outcome),
    }
}

fn now_or_later(outcome: io::Result<usize>) -> io::Result<usize> {
    match outcome {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
        outcome => outcome,
    }
}
