//! Both directions at once, each from a thread of its own: where cores are idle, bytes go into one socket while others come out
//! of the other.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags};

use crate::acceptor::wait;
use crate::error::{Operation, OperationError};
use crate::ring::{pull, put};

/// The two connections of a rank, for one operation and two threads.
pub(crate) struct Wire {
    pub left: TcpStream,
    pub left_rank: usize,
    pub right: TcpStream,
    pub right_rank: usize,
    pub operation: Operation,
    pub timeout: Duration,
    begun: Instant,
    /// Milliseconds after the beginning at which something moved, in either direction.
    moved: AtomicU64,
    /// What failed first; the other thread's failure follows from it.
    failure: Mutex<Option<OperationError>>,
}

/// Why a thread goes no further; [`Wire::outcome`] says what has failed.
#[derive(Debug)]
pub(crate) struct Ended;

impl Wire {
    pub fn new(
        [left, right]: [TcpStream; 2],
        [left_rank, right_rank]: [usize; 2],
        operation: Operation,
        timeout: Duration,
    ) -> Self {
        let (begun, moved, failure) = (Instant::now(), AtomicU64::new(0), Mutex::new(None));
        Self { left, left_rank, right, right_rank, operation, timeout, begun, moved, failure }
    }

    pub fn send(&self, mut bytes: &[u8]) -> Result<(), Ended> {
        while !bytes.is_empty() {
            let sent = put(&self.right, bytes);
            bytes = &bytes[self.went(sent, &self.right, self.right_rank, PollFlags::POLLOUT)?..];
        }
        Ok(())
    }

    pub fn receive(&self, room: &mut [u8]) -> Result<(), Ended> {
        let mut filled = 0;
        while filled < room.len() {
            let received = pull(&self.left, &mut room[filled..]);
            filled += self.went(received, &self.left, self.left_rank, PollFlags::POLLIN)?;
        }
        Ok(())
    }

    /// How many bytes moved; where none did, waits until some can, or until nothing has moved either way for too long.
    fn went(
        &self,
        outcome: io::Result<usize>,
        stream: &TcpStream,
        rank: usize,
        flags: PollFlags,
    ) -> Result<usize, Ended> {
        let lost = |source| OperationError::Lost { rank, operation: self.operation, source };
        let count = outcome.map_err(|source| self.fail(lost(source)))?;
        if count > 0 {
            self.has_moved();
            return Ok(count);
        }
        let deadline = self.deadline();
        if Instant::now() >= deadline {
            let waited_s = self.timeout.as_secs_f64();
            return Err(self.fail(OperationError::Silent { rank, operation: self.operation, waited_s }));
        }
        wait(&mut [PollFd::new(stream.as_fd(), flags)], deadline).map_err(|source| self.fail(lost(source)))?;
        Ok(0)
    }

    /// Something moved just now; the headers too, for which the other rank may have been waited for almost as long as it is at all.
    pub fn has_moved(&self) {
        let since = self.begun.elapsed().as_millis();
        self.moved.fetch_max(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// When nothing has moved either way for too long.
    fn deadline(&self) -> Instant {
        self.begun + Duration::from_millis(self.moved.load(Ordering::Relaxed)) + self.timeout
    }

    /// Hangs up, so that the other thread waits no longer either.
    pub fn fail(&self, error: OperationError) -> Ended {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        let _ = self.left.shutdown(Shutdown::Both);
        let _ = self.right.shutdown(Shutdown::Both);
        Ended
    }

    pub fn outcome(self) -> Result<(), OperationError> {
        match self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn how_long_the_headers_were_waited_for_is_no_time_of_what_follows() {
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(door.local_addr().unwrap()).unwrap();
        let streams = [stream.try_clone().unwrap(), stream];
        let mut wire = Wire::new(streams, [1, 1], Operation::AllReduce, Duration::from_secs(30));
        wire.begun = wire.begun.checked_sub(Duration::from_secs(29)).unwrap();
        assert!(wire.deadline() < Instant::now() + Duration::from_secs(2));
        wire.has_moved();
        assert!(wire.deadline() > Instant::now() + Duration::from_secs(20));
    }
}
