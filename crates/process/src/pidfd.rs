//! A handle on a process that can be waited for with poll and can never mean another process that got the same number.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A process, held by file descriptor.
#[derive(Debug)]
pub struct PidFd {
    fd: OwnedFd,
    pid: i32,
}

impl PidFd {
    /// Opens the process that has this number now.
    pub fn open(pid: i32) -> io::Result<Self> {
        // SAFETY: pidfd_open takes a number and flags and returns a new descriptor or an error.
        let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        let raw = i32::try_from(raw).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        // SAFETY: the kernel has just given us this descriptor; nothing else owns it.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) }, pid })
    }

    /// A child that came with its descriptor.
    pub(crate) fn of_child(fd: OwnedFd, pid: i32) -> Self {
        Self { fd, pid }
    }

    /// Another handle on the same process.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { fd: self.fd.try_clone()?, pid: self.pid })
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends a signal to this very process; one that is gone already is no error.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        // SAFETY: plain numbers and a null siginfo, which the call allows.
        let done = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.fd.as_raw_fd(),
                signal,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            )
        };
        match (done, io::Error::last_os_error()) {
            (0, _) => Ok(()),
            (_, error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            (_, error) => Err(error),
        }
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
