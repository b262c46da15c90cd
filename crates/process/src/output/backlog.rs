//! What a reader has not taken yet, and what becomes of it when the reader is slow: a bounded queue of lines.
//!
//! Plain values, `now` is an argument. The policy: a reader that takes half of the queue within [`PATIENCE`] gets every
//! line, and writers are held back meanwhile, as by any pipe. From one that does not, whole lines are dropped and
//! counted until half of the queue is taken; and no writer is held back for it again before it has caught up.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use super::stream::StreamKind;

/// Beyond this writers are held back.
const ENOUGH: usize = 2 << 20;
/// Beyond this nothing is taken from any writer: the last words of ranks that have ended, for example.
const MOST: usize = 4 << 20;
/// How long a reader has to take half of the queue.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pieces are put together up to this size.
const PIECE: usize = 64 * 1024;

/// What was not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    pub lines: u64,
    pub bytes: u64,
    /// Why they could not be written; none where the reader did not take them in time.
    pub error: Option<Errno>,
}

impl Dropped {
    /// A line counts where it ends: what is dropped comes in pieces that may end anywhere. A progress bar ends each of its
    /// states with `\r`; `\r\n` is one end.
    fn of(bytes: &[u8]) -> Self {
        let ends = memchr::memchr2_iter(b'\n', b'\r', bytes);
        let lines = ends.filter(|end| bytes[*end] == b'\n' || bytes.get(end + 1) != Some(&b'\n')).count();
        Self { lines: lines as u64, bytes: bytes.len() as u64, error: None }
    }

    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

impl std::ops::AddAssign for Dropped {
    fn add_assign(&mut self, other: Self) {
        self.lines += other.lines;
        self.bytes += other.bytes;
        self.error = self.error.or(other.error);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Passing,
    /// Writers wait, since then.
    Holding(Instant),
    Dropping,
}

#[derive(Debug)]
struct Piece {
    kind: StreamKind,
    bytes: Vec<u8>,
    /// How much of it was taken.
    taken: usize,
}

/// The queue.
#[derive(Debug)]
pub(super) struct Backlog {
    pieces: VecDeque<Piece>,
    queued: usize,
    mode: Mode,
    /// Whether the reader has failed to take half of the queue in time and has not caught up since.
    is_slow: bool,
    dropped: Dropped,
    /// How many bytes stand before the gap that has to be told of.
    before_gap: Option<usize>,
}

impl Backlog {
    pub fn new() -> Self {
        Self {
            pieces: VecDeque::new(),
            queued: 0,
            mode: Mode::Passing,
            is_slow: false,
            dropped: Dropped::default(),
            before_gap: None,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.queued == 0
    }

    pub fn is_dropping(&self) -> bool {
        self.mode == Mode::Dropping
    }

    /// Until when writers are held back.
    pub fn held_until(&self) -> Option<Instant> {
        match self.mode {
            Mode::Holding(since) => Some(since + PATIENCE),
            Mode::Passing | Mode::Dropping => None,
        }
    }

    /// Takes lines in, or drops them; true when they were taken.
    pub fn push(&mut self, kind: StreamKind, bytes: &[u8], now: Instant) -> bool {
        let is_too_much = !self.is_empty() && self.queued + bytes.len() > MOST;
        if self.is_dropping() || is_too_much {
            self.mode = Mode::Dropping;
            self.count_dropped(bytes);
            return false;
        }
        self.append(kind, bytes);
        if self.queued >= ENOUGH && self.mode == Mode::Passing {
            self.mode = if self.is_slow { Mode::Dropping } else { Mode::Holding(now) };
        }
        true
    }

    /// Takes the end of a line of which the reader has the beginning, whatever the mode.
    pub fn push_end_of_line(&mut self, kind: StreamKind, bytes: &[u8]) {
        self.append(kind, bytes);
    }

    fn append(&mut self, kind: StreamKind, bytes: &[u8]) {
        self.queued += bytes.len();
        match self.pieces.back_mut() {
            Some(last) if last.kind == kind && last.bytes.len() + bytes.len() <= PIECE => {
                last.bytes.extend_from_slice(bytes);
            }
            _ => self.pieces.push_back(Piece { kind, bytes: bytes.to_vec(), taken: 0 }),
        }
    }

    /// Counts lines that are not shown.
    pub fn count_dropped(&mut self, bytes: &[u8]) {
        self.dropped += Dropped::of(bytes);
    }

    /// Counts lines that could not be written.
    pub fn count_unwritten(&mut self, bytes: &[u8], error: Errno) {
        self.dropped += Dropped { error: Some(error), ..Dropped::of(bytes) };
    }

    /// A hold that lasts too long ends, and dropping begins.
    pub fn look(&mut self, now: Instant) {
        if self.held_until().is_some_and(|until| now >= until) {
            self.mode = Mode::Dropping;
            self.is_slow = true;
        }
    }

    /// What comes next.
    pub fn front(&self) -> Option<(StreamKind, &[u8])> {
        self.pieces.front().map(|piece| (piece.kind, &piece.bytes[piece.taken..]))
    }

    /// The reader has taken so many bytes of the front.
    pub fn advance(&mut self, count: usize) {
        self.queued -= count;
        if let Some(piece) = self.pieces.front_mut() {
            piece.taken += count;
            if piece.taken == piece.bytes.len() {
                self.pieces.pop_front();
            }
        }
        self.before_gap = self.before_gap.map(|before| before.saturating_sub(count));
        if self.queued <= ENOUGH / 2 {
            if self.is_dropping() && !self.dropped.is_nothing() {
                self.before_gap = Some(self.queued);
            }
            self.mode = Mode::Passing;
        }
        if self.is_empty() {
            self.is_slow = false;
        }
    }

    /// Whether there is something for [`Backlog::take_gap`].
    pub fn has_gap(&self) -> bool {
        self.before_gap == Some(0)
    }

    /// What was dropped, once the reader has all that came before it.
    pub fn take_gap(&mut self) -> Option<Dropped> {
        self.before_gap.take_if(|before| *before == 0)?;
        Some(std::mem::take(&mut self.dropped))
    }

    /// Gives up all that is queued; the answer is all that was dropped and not told of.
    pub fn give_up(&mut self) -> Dropped {
        for piece in self.pieces.drain(..) {
            self.dropped += Dropped::of(&piece.bytes[piece.taken..]);
        }
        self.queued = 0;
        self.before_gap = None;
        std::mem::take(&mut self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUT: StreamKind = StreamKind::Stdout;

    fn full(now: Instant) -> Backlog {
        let mut backlog = Backlog::new();
        let line = [&[b'x'; 1023][..], b"\n"].concat();
        while backlog.held_until().is_none() && !backlog.is_dropping() {
            assert!(backlog.push(OUT, &line, now));
        }
        backlog
    }

    fn take(backlog: &mut Backlog, mut count: usize) {
        while count > 0 {
            let (_, front) = backlog.front().unwrap();
            let step = front.len().min(count);
            backlog.advance(step);
            count -= step;
        }
    }

    #[test]
    fn a_reader_that_keeps_up_gets_everything_and_holds_nobody_for_long() {
        let now = Instant::now();
        let mut backlog = full(now);
        assert_eq!(backlog.held_until(), Some(now + PATIENCE));
        take(&mut backlog, ENOUGH / 2);
        assert_eq!(backlog.held_until(), None);
        backlog.look(now + 2 * PATIENCE);
        assert!(backlog.push(OUT, b"more\n", now) && backlog.give_up().bytes == (ENOUGH / 2 + 5) as u64);
    }

    #[test]
    fn the_states_of_a_progress_bar_count_as_lines() {
        assert_eq!(Dropped::of(b"10%\r20%\r30%\r\ndone\npart").lines, 4);
    }

    #[test]
    fn from_a_reader_that_does_not_read_whole_lines_are_dropped_and_counted() {
        let now = Instant::now();
        let mut backlog = full(now);
        backlog.look(now + PATIENCE);
        assert!(backlog.is_dropping() && backlog.held_until().is_none());
        assert!(!backlog.push(OUT, b"one\ntwo\n", now));
        assert_eq!(backlog.take_gap(), None, "nobody reads");
        take(&mut backlog, ENOUGH / 2);
        assert!(backlog.push(OUT, b"three\n", now), "it reads again");
        assert_eq!(backlog.take_gap(), None, "what came before the gap is not read yet");
        take(&mut backlog, ENOUGH / 2);
        assert_eq!(backlog.take_gap(), Some(Dropped { lines: 2, bytes: 8, error: None }));
        assert_eq!(backlog.take_gap(), None, "told once");
        assert_eq!(backlog.front(), Some((OUT, &b"three\n"[..])));
    }

    #[test]
    fn nobody_is_held_back_twice_for_a_slow_reader_until_it_has_caught_up() {
        let now = Instant::now();
        let mut backlog = full(now);
        backlog.look(now + PATIENCE);
        take(&mut backlog, ENOUGH / 2);
        while backlog.push(OUT, &[b'y'; 1024], now) {
            assert_eq!(backlog.held_until(), None);
        }
        let rest = backlog.queued;
        take(&mut backlog, rest);
        assert!(backlog.push(OUT, &[b'y'; ENOUGH], now));
        assert!(backlog.held_until().is_some(), "a reader that has caught up is trusted again");
    }

    #[test]
    fn the_queue_is_bounded_whoever_writes() {
        let now = Instant::now();
        let mut backlog = full(now);
        while backlog.push(OUT, &[b'z'; 4096], now) {}
        assert!(backlog.queued <= MOST);
        let queued = backlog.queued as u64;
        assert_eq!(backlog.give_up().bytes, queued + 4096);
        assert!(backlog.is_empty());
    }

    #[test]
    fn both_streams_keep_their_order() {
        let now = Instant::now();
        let mut backlog = Backlog::new();
        backlog.push(OUT, b"a", now);
        backlog.push(StreamKind::Stderr, b"b", now);
        backlog.push(OUT, b"c", now);
        let mut seen = Vec::new();
        while let Some((kind, front)) = backlog.front() {
            seen.push((kind, front.to_vec()));
            let count = front.len();
            backlog.advance(count);
        }
        assert_eq!(seen.iter().map(|(_, bytes)| bytes.as_slice()).collect::<Vec<_>>(), [b"a", b"b", b"c"]);
        assert_eq!(seen[1].0, StreamKind::Stderr);
    }
}
