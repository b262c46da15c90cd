//! Writes to the user's terminal, or whatever our standard streams are, for threads that must not wait for it.
//!
//! What the reader takes at once is written at once. The rest goes through a [`Backlog`] to a thread of its own, which is
//! started when it is first needed and which alone ever waits for the reader.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::eventfd::EventFd;

use super::backlog::{Backlog, Dropped};
use super::outlet::{self, Outlet};
use super::stream::StreamKind;

/// How much is written at once.
const AT_ONCE: usize = 64 * 1024;
/// Some terminals say that they have room and then take nothing.
const AFTER_REFUSAL: Duration = Duration::from_millis(10);

/// A handle on the writer; clones write to the same.
#[derive(Clone, Debug)]
pub struct TerminalWriter {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Tells the thread of work, and waiting threads of room.
    changed: Condvar,
    outlets: [OnceLock<Outlet>; 2],
    /// Rung when writers are no longer held back and when there is a gap to tell of.
    bell: Option<Arc<EventFd>>,
}

#[derive(Debug)]
struct State {
    backlog: Backlog,
    /// When the reader last took something.
    moved: Instant,
    /// Streams whose reader went away (`| head`).
    gone: [bool; 2],
    has_thread: bool,
    /// Whether what is left was given up: nothing is written any more.
    closed: bool,
}

fn index(kind: StreamKind) -> usize {
    match kind {
        StreamKind::Stdout => 0,
        StreamKind::Stderr => 1,
    }
}

impl TerminalWriter {
    pub fn new(bell: Option<Arc<EventFd>>) -> Self {
        let state = State {
            backlog: Backlog::new(),
            moved: Instant::now(),
            gone: [false; 2],
            has_thread: false,
            closed: false,
        };
        let outlets = [OnceLock::new(), OnceLock::new()];
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), outlets, bell }) }
    }

    /// Writers for stdout and stderr: one and the same where both lead to one place, so that lines keep their order; two
    /// where they do not, so that a reader of one stream that does not read keeps nothing from the other.
    pub fn for_both(bell: Option<&Arc<EventFd>>) -> [Self; 2] {
        let first = Self::new(bell.cloned());
        let second = if outlet::lead_to_one_place() { first.clone() } else { Self::new(bell.cloned()) };
        [first, second]
    }

    /// Whether both write to one place.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Writes whole lines, now or soon, without waiting; false when they were dropped and counted.
    pub fn write(&self, kind: StreamKind, bytes: &[u8]) -> bool {
        let mut state = self.shared.lock();
        if state.is_over(kind) {
            return true;
        }
        let rest = self.shared.write_now(&mut state, kind, bytes);
        if rest.is_empty() {
            return true;
        }
        let now = Instant::now();
        if state.backlog.is_empty() {
            state.moved = now;
        }
        let is_taken = state.backlog.push(kind, rest, now);
        self.wake(&mut state);
        is_taken
    }

    /// Writes the end of a line of which the reader has the beginning.
    pub fn end_line(&self, kind: StreamKind, bytes: &[u8]) {
        let mut state = self.shared.lock();
        if !state.is_over(kind) {
            state.backlog.push_end_of_line(kind, bytes);
            self.wake(&mut state);
        }
    }

    /// Counts bytes that could not be written for want of their line's beginning.
    pub fn count_dropped(&self, bytes: &[u8]) {
        self.shared.lock().backlog.count_dropped(bytes);
    }

    pub fn is_dropping(&self) -> bool {
        self.shared.lock().backlog.is_dropping()
    }

    /// Until when those who write shall hold back; called again by then, the answer is none.
    pub fn held_until(&self) -> Option<Instant> {
        let mut state = self.shared.lock();
        state.backlog.look(Instant::now());
        state.backlog.held_until()
    }

    /// Waits while writers are held back: for threads that may.
    pub fn wait_for_room(&self) {
        let mut state = self.shared.lock();
        loop {
            let now = Instant::now();
            state.backlog.look(now);
            let Some(until) = state.backlog.held_until() else { return };
            let waited = self.shared.changed.wait_timeout(state, until.saturating_duration_since(now));
            state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
        }
    }

    /// What was dropped since the last answer, once the reader has all that came before.
    pub fn take_gap(&self) -> Option<Dropped> {
        self.shared.lock().backlog.take_gap()
    }

    /// How long the reader has taken nothing although there is something; none when it has everything.
    pub fn stuck_for(&self) -> Option<Duration> {
        let state = self.shared.lock();
        (!state.backlog.is_empty()).then(|| state.moved.elapsed())
    }

    /// Gives up what is left; the answer is all that was dropped and not told of. Nothing is written afterwards.
    pub fn give_up(&self) -> Dropped {
        let mut state = self.shared.lock();
        state.closed = true;
        state.backlog.give_up()
    }

    fn wake(&self, state: &mut State) {
        if !state.has_thread && !state.backlog.is_empty() {
            let shared = self.shared.clone();
            let thread = std::thread::Builder::new().name("terminal".into()).stack_size(128 * 1024);
            state.has_thread = thread.spawn(move || shared.write_on()).is_ok();
        }
        self.shared.changed.notify_all();
    }
}

impl State {
    fn is_over(&self, kind: StreamKind) -> bool {
        self.closed || self.gone[index(kind)]
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outlet(&self, kind: StreamKind) -> &Outlet {
        self.outlets[index(kind)].get_or_init(|| Outlet::standard(if kind == StreamKind::Stdout { 1 } else { 2 }))
    }

    /// Writes what is taken at once, if nothing stands before it; the answer is what is left.
    fn write_now<'a>(&self, state: &mut State, kind: StreamKind, bytes: &'a [u8]) -> &'a [u8] {
        let outlet = self.outlet(kind);
        let mut rest = bytes;
        while !rest.is_empty() && state.backlog.is_empty() && outlet.never_waits() {
            match outlet.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(Errno::EAGAIN) => break,
                Err(error) => {
                    self.failed(state, kind, rest, error);
                    return &[];
                }
            }
        }
        rest
    }

    /// A reader that went away takes nothing from the training or from its files; a full disk drops and counts.
    fn failed(&self, state: &mut State, kind: StreamKind, bytes: &[u8], error: Errno) {
        match error {
            Errno::ENOSPC | Errno::EDQUOT | Errno::EFBIG => state.backlog.count_unwritten(bytes, error),
            _ => state.gone[index(kind)] = true,
        }
    }

    /// The thread: writes what is queued, for as long as the process lives.
    fn write_on(&self) {
        let mut piece = Vec::with_capacity(AT_ONCE);
        let mut was_refused = false;
        loop {
            let kind = self.next(&mut piece);
            let outlet = self.outlet(kind);
            if was_refused || !outlet.never_waits() {
                outlet.wait_for_room();
            }
            match outlet.write(&piece) {
                Ok(count) => {
                    was_refused = false;
                    self.taken(count);
                }
                Err(Errno::EAGAIN) => {
                    if was_refused {
                        std::thread::sleep(AFTER_REFUSAL);
                    }
                    was_refused = true;
                }
                Err(error) => {
                    let mut state = self.lock();
                    self.failed(&mut state, kind, &piece, error);
                    drop(state);
                    self.taken(piece.len());
                }
            }
        }
    }

    /// Waits for something to write and copies it.
    fn next(&self, piece: &mut Vec<u8>) -> StreamKind {
        let mut state = self.lock();
        loop {
            if let Some((kind, front)) = state.backlog.front() {
                piece.clear();
                piece.extend_from_slice(&front[..front.len().min(AT_ONCE)]);
                return kind;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn taken(&self, count: usize) {
        let mut state = self.lock();
        if state.closed {
            return;
        }
        let was_held = state.backlog.held_until().is_some();
        state.backlog.advance(count);
        state.moved = Instant::now();
        let is_released = was_held && state.backlog.held_until().is_none();
        let has_gap = state.backlog.has_gap();
        drop(state);
        if is_released {
            self.changed.notify_all();
        }
        if let Some(bell) = self.bell.as_ref().filter(|_| is_released || has_gap) {
            let _ = bell.write(1);
        }
    }
}

#[cfg(test)]
impl TerminalWriter {
    /// One whose standard output is a pipe, and its reader.
    pub(super) fn to_pipe() -> (Self, std::io::PipeReader) {
        let (reader, ours) = std::io::pipe().unwrap();
        let ours = std::os::fd::OwnedFd::from(ours);
        nix::fcntl::fcntl(&ours, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK)).unwrap();
        let writer = Self::new(None);
        writer.shared.outlets[0].set(Outlet::Own(ours.into())).unwrap();
        (writer, reader)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn writer() -> (TerminalWriter, std::io::PipeReader) {
        TerminalWriter::to_pipe()
    }

    fn line(number: usize) -> Vec<u8> {
        format!("{number:0>1023}\n").into_bytes()
    }

    #[test]
    fn what_fits_is_written_at_once_and_needs_no_thread() {
        let (writer, mut reader) = writer();
        assert!(writer.write(StreamKind::Stdout, b"hello\n"));
        assert!(!writer.shared.lock().has_thread);
        let mut seen = [0; 6];
        reader.read_exact(&mut seen).unwrap();
        assert_eq!(&seen, b"hello\n");
        assert_eq!(writer.stuck_for(), None);
    }

    #[test]
    fn a_reader_that_is_late_gets_all_lines_in_their_order() {
        let (writer, mut reader) = writer();
        let lines: Vec<u8> = (0..1000).flat_map(line).collect();
        for number in 0..1000 {
            assert!(writer.write(StreamKind::Stdout, &line(number)));
        }
        assert!(writer.stuck_for().is_some());
        let mut seen = vec![0; lines.len()];
        reader.read_exact(&mut seen).unwrap();
        assert!(seen == lines);
    }

    #[test]
    fn for_a_reader_that_does_not_read_nobody_waits_and_what_is_dropped_is_known() {
        let (writer, reader) = writer();
        let mut written = 0;
        while writer.write(StreamKind::Stdout, &line(written)) {
            written += 1;
        }
        let dropped = writer.give_up();
        // The pipe has some lines, the last of them perhaps in part; all others are counted.
        let in_pipe = written + 1 - usize::try_from(dropped.lines).unwrap();
        assert!((60..=64).contains(&in_pipe), "{in_pipe} lines in the pipe, {dropped:?}");
        drop(reader);
    }

    #[test]
    fn a_reader_that_went_away_is_no_loss() {
        let (writer, reader) = writer();
        drop(reader);
        for number in 0..10_000 {
            assert!(writer.write(StreamKind::Stdout, &line(number)));
        }
        assert!(writer.give_up().is_nothing());
    }
}
