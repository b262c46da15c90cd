//! Counts the signals that ask a long-running command to end: the first one politely, the second one now.

use std::io;
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

static HEARD: AtomicU32 = AtomicU32::new(0);
static LAST: AtomicI32 = AtomicI32::new(0);
/// Readable once a signal was heard.
static BELL: OnceLock<EventFd> = OnceLock::new();

extern "C" fn hear(signal: libc::c_int) {
    LAST.store(signal, Ordering::SeqCst);
    HEARD.fetch_add(1, Ordering::SeqCst);
    if let Some(bell) = BELL.get() {
        let before = Errno::last_raw();
        let _ = bell.write(1);
        Errno::set_raw(before);
    }
}

/// From now on SIGINT, SIGTERM and SIGHUP are counted instead of ending this process.
pub fn listen() {
    let action = SigAction::new(SigHandler::Handler(hear), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler touches atomics and writes to a descriptor that stays open.
        let _ = unsafe { sigaction(signal, &action) };
    }
}

/// How often an end was asked for.
pub fn heard() -> u32 {
    HEARD.load(Ordering::SeqCst)
}

/// The signal that asked last.
pub fn last() -> i32 {
    LAST.load(Ordering::SeqCst)
}

/// Waits until a signal is heard.
pub fn wait() -> io::Result<()> {
    let bell = match BELL.get() {
        Some(bell) => bell,
        None => {
            let made = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
            BELL.get_or_init(|| made)
        }
    };
    // A signal that came before there was a bell has been counted all the same.
    while heard() == 0 {
        let mut fds = [PollFd::new(bell.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
