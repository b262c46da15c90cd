//! Signs of life: a FIFO into which every rank writes one line as the first thing it does.
//!
//! The moment of arrival is thus independent of how a launcher treats output, and costs a rank an open and a write.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// The variable by which ranks learn where to write.
pub const VARIABLE: &str = "FERMI_BENCH_SIGNS";

/// `<rank> <pid>`, and when we saw it.
#[derive(Clone, Copy, Debug)]
pub struct Sign {
    pub rank: u32,
    pub pid: i32,
    pub at: Instant,
}

#[derive(Debug)]
pub struct Signs {
    path: PathBuf,
    fifo: File,
    rest: Vec<u8>,
}

impl Signs {
    pub fn open(path: PathBuf) -> io::Result<Self> {
        mkfifo(&path, Mode::from_bits_truncate(0o600))?;
        // Open for both, so that it never ends between two ranks.
        let fifo = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&path)?;
        Ok(Self { path, fifo, rest: Vec::new() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fifo.as_fd()
    }

    /// What has come since the last look.
    pub fn read(&mut self) -> Vec<Sign> {
        let mut chunk = [0; 4096];
        let mut seen = Vec::new();
        while let Ok(n @ 1..) = self.fifo.read(&mut chunk) {
            let at = Instant::now();
            self.rest.extend_from_slice(&chunk[..n]);
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                let mut numbers = line.split_ascii_whitespace().map(str::parse::<i32>);
                if let (Some(Ok(rank)), Some(Ok(pid))) = (numbers.next(), numbers.next()) {
                    seen.push(Sign { rank: rank.unsigned_abs(), pid, at });
                }
            }
        }
        seen
    }

    /// Waits for so many signs.
    pub fn wait(&mut self, count: usize, patience: Duration) -> io::Result<Vec<Sign>> {
        let until = Instant::now() + patience;
        let mut seen = Vec::new();
        while seen.len() < count {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let ranks: BTreeSet<u32> = seen.iter().map(|sign: &Sign| sign.rank).collect();
                let text = format!("{} of {count} signs came in {patience:?}, from ranks {ranks:?}", seen.len());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            wait_readable(&[self.as_fd()], left);
            seen.extend(self.read());
        }
        Ok(seen)
    }
}

/// Sleeps until one of these has something to read, at most so long.
pub fn wait_readable(fds: &[BorrowedFd<'_>], patience: Duration) {
    let mut fds: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
    let timeout = PollTimeout::try_from(patience.as_millis() + 1).unwrap_or(PollTimeout::MAX);
    // An interrupted wait is a wait that ended early.
    let _ = poll(&mut fds, timeout);
}

/// Milliseconds between two moments.
pub fn ms_between(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64() * 1e3
}
