//! One stream of one rank: read, kept in its files, and shown.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use super::display::{BarClock, Display, RawState, Show};
use super::lift::{Lift, Worth};
use super::lines::{LONGEST, LONGEST_LIFTED, Lines};
use super::log_file::LogFile;
use super::tail::Tail;

const TAIL_BYTES: usize = 48 * 1024;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamKind {
    Stdout,
    Stderr,
}

/// Lines with one of these words are written to a second file as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Filtered {
    pub path: PathBuf,
    pub words: Vec<String>,
}

/// A stream as its owner hands it over.
#[derive(Debug)]
pub struct StreamSource {
    pub rank: u32,
    pub kind: StreamKind,
    pub fd: OwnedFd,
    /// Where it is kept, if anywhere. The pump opens it, so that no rank's start waits for the disk.
    pub log: Option<PathBuf>,
    pub show: Show,
    pub filtered: Option<Filtered>,
}

/// One stream with all that is kept of it.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) source: StreamSource,
    pub(super) log: LogFile,
    pub(super) tail: Tail,
    lines: Lines,
    lift: Lift,
    bar: BarClock,
    raw: RawState,
    filter: Option<(File, Vec<String>)>,
    pub(super) ended: bool,
    /// Whether it is not read for now, because the terminal's reader is behind.
    pub(super) is_held: bool,
}

impl Stream {
    pub(super) fn new(source: StreamSource) -> Self {
        let filter = source.filtered.as_ref().and_then(|filtered| {
            let file = File::options().create(true).append(true).open(&filtered.path).ok()?;
            Some((file, filtered.words.clone()))
        });
        // On a disk that takes no file the stream is still read and shown.
        let log = source
            .log
            .clone()
            .map_or_else(LogFile::none, |path| LogFile::create(path.clone()).unwrap_or_else(|_| LogFile::lost(path)));
        let longest = match source.show {
            Show::ErrorsOnly { .. } => LONGEST_LIFTED,
            Show::Raw | Show::Prefixed { .. } | Show::Hidden => LONGEST,
        };
        Self {
            source,
            log,
            tail: Tail::new(TAIL_BYTES),
            lines: Lines::up_to(longest),
            lift: Lift::default(),
            bar: BarClock::default(),
            raw: RawState::default(),
            filter,
            ended: false,
            is_held: false,
        }
    }

    fn take(&mut self, bytes: &[u8], display: &mut Display) {
        self.log.append(bytes);
        self.tail.push(bytes);
        if self.source.show == Show::Raw {
            display.raw(self.source.kind, bytes, &mut self.raw);
        }
        if self.needs_lines() {
            self.take_lines(Some(bytes), display);
        }
    }

    fn needs_lines(&self) -> bool {
        self.filter.is_some() || matches!(self.source.show, Show::Prefixed { .. } | Show::ErrorsOnly { .. })
    }

    /// Feeds the bytes, or ends the stream when there are none.
    fn take_lines(&mut self, bytes: Option<&[u8]>, display: &mut Display) {
        let Self { source, log, lines, lift, bar, filter, .. } = self;
        let each = |piece: &[u8], ending, cut| {
            if let Some((file, words)) = filter {
                keep_if_it_matches(file, words, piece);
            }
            match &source.show {
                Show::Prefixed { prefix } => display.line(prefix, piece, ending, cut, bar),
                Show::ErrorsOnly { prefix } => match lift.judge(piece) {
                    Worth::Nothing => {}
                    Worth::Show => display.line(prefix, piece, ending, cut, bar),
                    Worth::ShowAsLast => {
                        display.line(prefix, piece, ending, cut, bar);
                        let more = format!("… {}", log.path().display());
                        display.line(prefix, more.as_bytes(), ending, 0, bar);
                    }
                },
                Show::Raw | Show::Hidden => {}
            }
        };
        match bytes {
            Some(bytes) => lines.feed(bytes, each),
            None => lines.end(each),
        }
        let onto = match self.source.show {
            Show::ErrorsOnly { .. } => StreamKind::Stderr,
            _ => self.source.kind,
        };
        display.flush(onto);
    }

    /// Whether it waits for the terminal's reader, up to a point: a stream of which single lines are lifted out does not.
    pub(super) fn waits_for(&self, display: &Display) -> bool {
        let is_shown = matches!(self.source.show, Show::Raw | Show::Prefixed { .. });
        is_shown && display.held_until(self.source.kind).is_some()
    }

    /// Reads once; false when there was nothing to read for now.
    pub(super) fn read(&mut self, buffer: &mut [u8], display: &mut Display) -> bool {
        match nix::unistd::read(&self.source.fd, buffer) {
            Ok(n) if n > 0 => {
                self.take(&buffer[..n], display);
                true
            }
            Err(Errno::EINTR) => true,
            Err(Errno::EAGAIN) => false,
            // A terminal whose last user is gone answers EIO.
            Ok(_) | Err(_) => {
                self.end(display);
                false
            }
        }
    }

    /// Nothing more is read of it; a last line without an end is one.
    pub(super) fn end(&mut self, display: &mut Display) {
        self.ended = true;
        if self.needs_lines() {
            self.take_lines(None, display);
        }
    }
}

fn keep_if_it_matches(file: &mut File, words: &[String], piece: &[u8]) {
    if words.iter().any(|word| memchr::memmem::find(piece, word.as_bytes()).is_some()) {
        let mut line = piece.to_vec();
        line.push(b'\n');
        // The stream's own log has the line as well.
        let _ = file.write_all(&line);
    }
}
