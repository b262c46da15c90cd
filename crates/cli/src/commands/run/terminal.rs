//! The user's terminal: whose it is, and how keys reach rank 0.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::OpenOptionsExt;

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{getpgrp, tcgetpgrp};

fn stdin() -> BorrowedFd<'static> {
    // SAFETY: standard input stays open as long as the process.
    unsafe { BorrowedFd::borrow_raw(0) }
}

/// Whether the terminal's keys are meant for us; a job in the background must not read them.
pub fn is_in_foreground() -> bool {
    tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
}

/// The terminal once more, to be read without waiting: Ctrl-C takes away what was typed before it, also between a look and
/// the read, and who waits in a read hears no signal. None where it cannot be opened again, as when it is another user's.
pub fn without_waiting() -> Option<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    File::options().read(true).custom_flags(flags).open("/proc/self/fd/0").ok()
}

/// Keys arrive one by one and unechoed (rank 0's own terminal echoes them), while Ctrl-C still is a signal. Undone when
/// dropped.
#[derive(Debug)]
pub struct KeyByKey {
    before: Termios,
}

impl KeyByKey {
    pub fn enter() -> io::Result<Self> {
        let before = tcgetattr(stdin())?;
        let keys = Self { before };
        keys.apply();
        Ok(keys)
    }

    /// Sets the mode again, after the job was stopped and continued. Does not wait for output that the terminal has not
    /// taken: it may be stopped (Ctrl-S).
    pub fn apply(&self) {
        let mut modes = self.before.clone();
        modes.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO);
        // A terminal that went away needs no mode.
        let _ = tcsetattr(stdin(), SetArg::TCSANOW, &modes);
    }

    pub fn undo(&self) {
        let _ = tcsetattr(stdin(), SetArg::TCSANOW, &self.before);
    }
}

impl Drop for KeyByKey {
    fn drop(&mut self) {
        self.undo();
    }
}
