//! A terminal for rank 0, so that its progress bar knows it is watched.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::{OpenptyResult, openpty};

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WindowSize {
    pub rows: u16,
    pub columns: u16,
}

impl WindowSize {
    fn raw(self) -> libc::winsize {
        libc::winsize { ws_row: self.rows, ws_col: self.columns, ws_xpixel: 0, ws_ypixel: 0 }
    }

    /// The size of the terminal behind a descriptor, if it is one.
    pub fn of(fd: i32) -> Option<Self> {
        let mut size = Self { rows: 0, columns: 0 }.raw();
        // SAFETY: the kernel fills in the structure we own.
        let done = unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &mut size) };
        (done == 0 && size.ws_col > 0).then_some(Self { rows: size.ws_row, columns: size.ws_col })
    }
}

/// Both ends of a pseudo-terminal.
#[derive(Debug)]
pub struct Pty {
    pub master: OwnedFd,
    pub slave: OwnedFd,
}

impl Pty {
    /// Opens one that passes bytes through unchanged: no `\n` becomes `\r\n`, so that the log file holds just what was
    /// written.
    pub fn open(size: WindowSize) -> io::Result<Self> {
        let OpenptyResult { master, slave } = openpty(&size.raw(), None)?;
        let pty = Self { master, slave };
        for fd in [&pty.master, &pty.slave] {
            fcntl(fd, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        }
        let mut modes = nix::sys::termios::tcgetattr(&pty.slave)?;
        modes.output_flags.remove(nix::sys::termios::OutputFlags::OPOST);
        nix::sys::termios::tcsetattr(&pty.slave, nix::sys::termios::SetArg::TCSANOW, &modes)?;
        Ok(pty)
    }
}

/// Tells the programs behind a pseudo-terminal that the window has changed.
pub fn resize(master: &OwnedFd, size: WindowSize) {
    // SAFETY: the structure is read by the kernel during the call only. A terminal that is gone needs no size.
    unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCSWINSZ, &size.raw()) };
}
