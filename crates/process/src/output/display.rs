//! The user's terminal, or whatever our standard streams are: one writer, so that ranks never cut into each other's lines.

use std::io;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::backlog::Dropped;
use super::lines::Ending;
use super::stream::StreamKind;
use super::terminal_writer::TerminalWriter;

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

/// So much more of a line that its reader has begun to get is written where lines have to be dropped.
const REST_OF_A_LINE: usize = 16 * 1024;
/// So much room is kept from batch to batch.
const KEPT: usize = 256 * 1024;

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

/// How far a stream that is passed through has got: where its reader was left when lines had to be dropped.
#[derive(Debug, Default)]
pub struct RawState {
    /// Whether the reader has the beginning of a line and not its end, and how much of it.
    in_line: Option<usize>,
    /// Whether the rest of a line that was dropped is still to come.
    skips_line: bool,
}

/// Shows what ranks write, each stream its own way.
#[derive(Debug)]
pub struct Display {
    cursor: Cursor,
    is_terminal: bool,
    /// For stdout and for stderr; the same one where both lead to one place.
    writers: [TerminalWriter; 2],
    batch: Vec<u8>,
}

impl Display {
    pub fn new(writers: [TerminalWriter; 2]) -> Self {
        Self {
            cursor: Cursor::LineStart,
            is_terminal: std::io::IsTerminal::is_terminal(&io::stdout()),
            writers,
            batch: Vec::new(),
        }
    }

    fn writer(&self, kind: StreamKind) -> &TerminalWriter {
        match kind {
            StreamKind::Stdout => &self.writers[0],
            StreamKind::Stderr => &self.writers[1],
        }
    }

    /// Until when streams that are shown here shall not be read.
    pub fn held_until(&self, kind: StreamKind) -> Option<Instant> {
        self.writer(kind).held_until()
    }

    /// What was dropped and is due to be told.
    pub fn take_gaps(&self) -> impl Iterator<Item = Dropped> {
        self.writers.iter().filter_map(TerminalWriter::take_gap)
    }

    /// Passes bytes through. Where lines have to be dropped these are whole ones: the line that the reader has begun to
    /// get is ended, and the first one after the gap is shown from its beginning.
    pub fn raw(&mut self, kind: StreamKind, mut bytes: &[u8], state: &mut RawState) {
        if self.writer(kind).is_dropping() {
            if let Some(begun) = state.in_line {
                let end = line_end(bytes);
                let length = end.unwrap_or(bytes.len());
                self.writer(kind).end_line(kind, &bytes[..length]);
                self.move_cursor(&bytes[..length]);
                state.in_line = Some(begun + length).filter(|begun| end.is_none() && *begun < REST_OF_A_LINE);
                // A line that does not end is cut off.
                state.skips_line = end.is_none() && state.in_line.is_none();
                bytes = &bytes[length..];
            }
            if !bytes.is_empty() {
                self.writer(kind).count_dropped(bytes);
                state.skips_line = !ends_line(bytes);
            }
            return;
        }
        if state.skips_line {
            let length = line_end(bytes).unwrap_or(bytes.len());
            self.writer(kind).count_dropped(&bytes[..length]);
            state.skips_line = !ends_line(&bytes[..length]);
            bytes = &bytes[length..];
        }
        if bytes.is_empty() {
            return;
        }
        if self.writer(kind).write(kind, bytes) {
            self.move_cursor(bytes);
            state.in_line = (!ends_line(bytes)).then_some(0);
        } else {
            state.skips_line = !ends_line(bytes);
            state.in_line = None;
        }
    }

    fn move_cursor(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.cursor = match last {
                b'\n' => Cursor::LineStart,
                _ if memchr::memrchr(b'\r', bytes) > memchr::memrchr(b'\n', bytes) => Cursor::InBar,
                _ if self.cursor == Cursor::InBar && !bytes.contains(&b'\n') => Cursor::InBar,
                _ => Cursor::InLine,
            };
        }
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
        if !self.batch.is_empty() {
            self.writer(kind).write(kind, &self.batch);
            self.batch.clear();
            self.batch.shrink_to(KEPT);
        }
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
}

/// How long the first line is, with its ending. A state that will be overwritten is as good as a line.
fn line_end(bytes: &[u8]) -> Option<usize> {
    memchr::memchr2(b'\n', b'\r', bytes).map(|at| at + 1)
}

fn ends_line(bytes: &[u8]) -> bool {
    matches!(bytes.last(), Some(b'\n' | b'\r'))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    const OUT: StreamKind = StreamKind::Stdout;

    #[test]
    fn of_a_stream_that_is_passed_through_whole_lines_are_dropped() {
        let (writer, mut reader) = TerminalWriter::to_pipe();
        let mut display = Display::new([writer.clone(), writer.clone()]);
        let mut state = RawState::default();
        display.raw(OUT, b"begun ", &mut state);
        // Another stream fills the queue until nothing more is taken.
        while writer.write(OUT, &[b'.'; 4096]) {}
        display.raw(OUT, b"and ended\ndropped\ndropped ", &mut state);
        display.raw(OUT, b"as well\ndropped in ", &mut state);
        let seen = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while !bytes.ends_with(b"shown\n") {
                let mut piece = [0; 65536];
                let count = reader.read(&mut piece).unwrap();
                bytes.extend_from_slice(&piece[..count]);
            }
            bytes.retain(|byte| *byte != b'.');
            String::from_utf8(bytes).unwrap()
        });
        let deadline = Instant::now() + Duration::from_secs(20);
        while writer.stuck_for().is_some() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        display.raw(OUT, b"part\nshown\n", &mut state);
        assert_eq!(seen.join().unwrap(), "begun and ended\nshown\n");
        assert_eq!(writer.give_up().lines, 3);
    }
}
