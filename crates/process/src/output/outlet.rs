//! One of our standard streams, written to without ever waiting for its reader.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};
use nix::sys::stat::{SFlag, fstat};

/// A pipe that has room at all has room for so much.
const CERTAIN_ROOM: usize = 4096;

/// Where the bytes go.
///
/// The stream is shared with the shell and all that it started, so the stream itself must not become non-blocking.
#[derive(Debug)]
pub(super) enum Outlet {
    /// A file of a disk, `/dev/null`: there is no reader at another end.
    File(BorrowedFd<'static>),
    /// A pipe or a terminal, opened once more for us alone and non-blocking.
    Own(File),
    Socket(BorrowedFd<'static>),
    /// A terminal that is not ours to open (after `su`): a write may wait, and belongs on a thread.
    MayWait(BorrowedFd<'static>),
}

impl Outlet {
    /// The standard stream of this number.
    pub fn standard(number: i32) -> Self {
        // SAFETY: the standard streams stay open as long as the process.
        let stream = unsafe { BorrowedFd::borrow_raw(number) };
        let kind = fstat(stream).map_or(SFlag::S_IFREG, |stat| SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT);
        match kind {
            SFlag::S_IFSOCK => Self::Socket(stream),
            SFlag::S_IFIFO => Self::reopened(stream),
            SFlag::S_IFCHR if nix::unistd::isatty(stream).unwrap_or(false) => Self::reopened(stream),
            _ => Self::File(stream),
        }
    }

    fn reopened(stream: BorrowedFd<'static>) -> Self {
        // A keeper leads a session without a terminal and must not take this one.
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let path = format!("/proc/self/fd/{}", stream.as_raw_fd());
        match OpenOptions::new().write(true).custom_flags(flags).open(path) {
            Ok(file) => Self::Own(file),
            Err(_) => Self::MayWait(stream),
        }
    }

    /// Whether [`Outlet::write`] answers at once.
    pub fn never_waits(&self) -> bool {
        !matches!(self, Self::MayWait(_))
    }

    /// Writes as much as is taken now; `EAGAIN` when that is nothing.
    pub fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        loop {
            let written = match self {
                Self::File(stream) => nix::unistd::write(stream, bytes),
                Self::Own(file) => nix::unistd::write(file, bytes),
                Self::Socket(stream) => {
                    send(stream.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL)
                }
                Self::MayWait(stream) => nix::unistd::write(stream, &bytes[..bytes.len().min(CERTAIN_ROOM)]),
            };
            match written {
                Err(Errno::EINTR) => {}
                written => return written,
            }
        }
    }

    /// Waits until there is room, however long that takes.
    pub fn wait_for_room(&self) {
        let stream = match self {
            Self::File(stream) | Self::Socket(stream) | Self::MayWait(stream) => *stream,
            Self::Own(file) => file.as_fd(),
        };
        // An interrupted wait is a wait that ended early.
        let _ = poll(&mut [PollFd::new(stream, PollFlags::POLLOUT)], PollTimeout::NONE);
    }
}

/// Whether both standard streams lead to one place, as they do at a terminal or behind `2>&1`.
pub(super) fn lead_to_one_place() -> bool {
    let place = |number: i32| {
        // SAFETY: the standard streams stay open as long as the process.
        let stat = fstat(unsafe { BorrowedFd::borrow_raw(number) }).ok()?;
        Some((stat.st_dev, stat.st_ino))
    };
    place(1) == place(2)
}
