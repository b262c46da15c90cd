//! What wakes an agent that has nothing to do: its end, the death of a child, the next heartbeat. Nothing is looked at by
//! the clock alone, so that an idle machine stays idle.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

use crate::options::StopFlag;

/// Rings when a child of this process has ended.
static CHILD_ENDED: OnceLock<EventFd> = OnceLock::new();

extern "C" fn ring(_: libc::c_int) {
    let before = Errno::last_raw();
    if let Some(bell) = CHILD_ENDED.get() {
        let _ = bell.write(1);
    }
    Errno::set_raw(before);
}

/// Calls `wake` from a thread of its own whenever a child may have ended, and once when the flag is raised.
pub fn start(stop: StopFlag, wake: impl Fn() + Send + 'static) -> io::Result<()> {
    let bell = match CHILD_ENDED.get() {
        Some(bell) => bell,
        None => {
            let made = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
            CHILD_ENDED.get_or_init(|| made)
        }
    };
    let flags = SaFlags::SA_RESTART | SaFlags::SA_NOCLDSTOP;
    let action = SigAction::new(SigHandler::Handler(ring), flags, SigSet::empty());
    // SAFETY: the handler writes to a descriptor that stays open and restores errno; both are async-signal-safe.
    unsafe { sigaction(Signal::SIGCHLD, &action) }?;
    thread::Builder::new().name("wake".into()).stack_size(128 * 1024).spawn(move || {
        // One thread must take the signal, whatever mask this process was started with.
        let mut child = SigSet::empty();
        child.add(Signal::SIGCHLD);
        let _ = child.thread_unblock();
        loop {
            // Read before the call: a flag that is raised during it is followed by one more call.
            let is_over = stop.is_raised();
            // Children that ended before the signal was listened to are found by the first call.
            wake();
            if is_over {
                return;
            }
            let mut fds = [PollFd::new(bell.as_fd(), PollFlags::POLLIN), PollFd::new(stop.as_fd(), PollFlags::POLLIN)];
            // An interrupted wait is a wait that ended early.
            let _ = poll(&mut fds, PollTimeout::NONE);
            let _ = bell.read();
        }
    })?;
    Ok(())
}

/// When heartbeats are due: set by the loop that hears from the server, waited for by the thread that measures.
#[derive(Debug, Default)]
pub struct Pulse {
    beat: Mutex<Beat>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beat {
    /// There is no server to send heartbeats to.
    #[default]
    Away,
    Every(Duration),
    /// The agent ends.
    Over,
}

impl Pulse {
    pub fn set(&self, beat: Beat) {
        *self.beat.lock().unwrap_or_else(PoisonError::into_inner) = beat;
        self.changed.notify_all();
    }

    /// Waits until a heartbeat is due, the first one at once; false when there will be none any more.
    pub fn wait(&self, last: Option<Instant>) -> bool {
        let mut beat = self.beat.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            beat = match *beat {
                Beat::Over => return false,
                Beat::Away => self.changed.wait(beat).unwrap_or_else(PoisonError::into_inner),
                Beat::Every(period) => {
                    let left = last.map_or(Duration::ZERO, |last| period.saturating_sub(last.elapsed()));
                    if left.is_zero() {
                        return true;
                    }
                    self.changed.wait_timeout(beat, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn heartbeats_begin_at_once_and_the_end_is_not_waited_for() {
        let pulse = Arc::new(Pulse::default());
        let (beats, told) = channel();
        let waiting = pulse.clone();
        let thread = thread::spawn(move || {
            let mut last = None;
            while waiting.wait(last) {
                last = Some(Instant::now());
                beats.send(()).unwrap();
            }
        });
        assert!(told.recv_timeout(Duration::from_millis(50)).is_err(), "nobody is there to hear it");
        pulse.set(Beat::Every(Duration::from_millis(20)));
        for _ in 0..3 {
            told.recv_timeout(Duration::from_secs(5)).unwrap();
        }
        pulse.set(Beat::Every(Duration::from_secs(3600)));
        pulse.set(Beat::Over);
        thread.join().unwrap();
    }

    #[test]
    fn the_end_of_a_child_and_the_flag_wake() {
        let stop = StopFlag::new().unwrap();
        let (woken, told) = channel();
        start(stop.clone(), move || {
            let _ = woken.send(());
        })
        .unwrap();
        let wait = || told.recv_timeout(Duration::from_secs(5));
        wait().unwrap();
        std::process::Command::new("true").status().unwrap();
        wait().unwrap();
        stop.raise();
        // The thread ends, and with it the channel.
        while wait().is_ok() {}
        assert!(told.try_recv().is_err());
    }

    #[test]
    fn a_flag_that_is_raised_during_a_call_is_followed_by_another() {
        let stop = StopFlag::new().unwrap();
        let (woken, told) = channel();
        let raised = stop.clone();
        start(stop, move || {
            let _ = woken.send(raised.is_raised());
            raised.raise();
        })
        .unwrap();
        let calls: Vec<bool> = std::iter::from_fn(|| told.recv_timeout(Duration::from_secs(5)).ok()).collect();
        assert_eq!(calls.first(), Some(&false));
        assert_eq!(calls.last(), Some(&true), "{calls:?}");
    }
}
