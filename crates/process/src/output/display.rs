//! The user's terminal, or whatever our standard streams are: one writer, so that ranks never cut into each other's lines.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Deserialize, Serialize};

use super::lines::Ending;
use super::pump::StreamKind;

/// How a stream appears on the terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "show")]
pub enum Show {
    /// As it comes: progress bars live.
    Raw,
    /// Line by line behind a prefix.
    Prefixed {
        prefix: String,
    },
    /// Only lines that report an error, behind a prefix.
    ErrorsOnly {
        prefix: String,
    },
    Hidden,
}

/// Stands in a prefix for the rank, which on several nodes is known only when the nodes have come together.
pub const RANK_MACRO: &str = "${rank}";

impl Show {
    /// The same, with the rank filled in.
    #[must_use]
    pub fn for_rank(&self, rank: u32) -> Self {
        let fill = |prefix: &String| prefix.replace(RANK_MACRO, &rank.to_string());
        match self {
            Self::Prefixed { prefix } => Self::Prefixed { prefix: fill(prefix) },
            Self::ErrorsOnly { prefix } => Self::ErrorsOnly { prefix: fill(prefix) },
            Self::Raw => Self::Raw,
            Self::Hidden => Self::Hidden,
        }
    }
}

/// A progress bar behind a prefix is repeated at most this often.
const BAR_EVERY: Duration = Duration::from_secs(1);

/// Where the cursor stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    LineStart,
    InLine,
    /// In a line that the program rewrites in place.
    InBar,
}

/// When a stream last showed a state that will be overwritten.
#[derive(Debug, Default)]
pub struct BarClock(Option<Instant>);

/// The writer.
#[derive(Debug)]
pub struct Display {
    cursor: Cursor,
    is_terminal: bool,
    stdout_gone: bool,
    stderr_gone: bool,
    batch: Vec<u8>,
}

impl Display {
    pub fn new() -> Self {
        Self {
            cursor: Cursor::LineStart,
            is_terminal: std::io::IsTerminal::is_terminal(&io::stdout()),
            stdout_gone: false,
            stderr_gone: false,
            batch: Vec::new(),
        }
    }

    /// Passes bytes through.
    pub fn raw(&mut self, kind: StreamKind, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.cursor = match last {
                b'\n' => Cursor::LineStart,
                _ if memchr::memrchr(b'\r', bytes) > memchr::memrchr(b'\n', bytes) => Cursor::InBar,
                _ if self.cursor == Cursor::InBar && !bytes.contains(&b'\n') => Cursor::InBar,
                _ => Cursor::InLine,
            };
        }
        self.write(kind, bytes);
    }

    /// Adds one prefixed line to the batch that `flush` writes.
    pub fn line(&mut self, prefix: &str, piece: &[u8], ending: Ending, cut: usize, bar: &mut BarClock) {
        if ending == Ending::Overwritten {
            let due = bar.0.is_none_or(|shown| shown.elapsed() >= BAR_EVERY);
            if !due || piece.is_empty() {
                return;
            }
            bar.0 = Some(Instant::now());
        }
        self.make_room();
        self.batch.extend_from_slice(prefix.as_bytes());
        self.batch.extend_from_slice(piece);
        if cut > 0 {
            self.batch.extend_from_slice(format!(" … (+{cut} bytes)").as_bytes());
        }
        self.batch.push(b'\n');
    }

    pub fn flush(&mut self, kind: StreamKind) {
        let batch = std::mem::take(&mut self.batch);
        if !batch.is_empty() {
            self.write(kind, &batch);
        }
        self.batch = batch;
        self.batch.clear();
    }

    /// A line of another rank shall not continue one of rank 0: wipe its bar, or end its line.
    fn make_room(&mut self) {
        if self.is_terminal {
            match self.cursor {
                Cursor::LineStart => {}
                Cursor::InBar => self.batch.extend_from_slice(b"\r\x1b[K"),
                Cursor::InLine => self.batch.push(b'\n'),
            }
            self.cursor = Cursor::LineStart;
        }
    }

    fn write(&mut self, kind: StreamKind, bytes: &[u8]) {
        let (fd, gone) = match kind {
            StreamKind::Stdout => (1, &mut self.stdout_gone),
            StreamKind::Stderr => (2, &mut self.stderr_gone),
        };
        // A reader that went away (`| head`) takes nothing from the training or from its files.
        if !*gone && write_all(fd, bytes).is_err() {
            *gone = true;
        }
    }
}

/// Writes everything, also to a stream that someone made non-blocking.
fn write_all(fd: i32, mut bytes: &[u8]) -> Result<(), Errno> {
    // SAFETY: the standard streams stay open as long as the process.
    let stream = unsafe { BorrowedFd::borrow_raw(fd) };
    while !bytes.is_empty() {
        match nix::unistd::write(stream, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => {
                poll(&mut [PollFd::new(stream, PollFlags::POLLOUT)], PollTimeout::NONE)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
