//! Counts the signals that ask a long-running command to end: the first one politely, the second one now.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

static HEARD: AtomicU32 = AtomicU32::new(0);
static LAST: AtomicI32 = AtomicI32::new(0);

extern "C" fn hear(signal: libc::c_int) {
    LAST.store(signal, Ordering::SeqCst);
    HEARD.fetch_add(1, Ordering::SeqCst);
}

/// From now on SIGINT, SIGTERM and SIGHUP are counted instead of ending this process.
pub fn listen() {
    let action = SigAction::new(SigHandler::Handler(hear), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler touches two atomics only.
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
