//! The one thread that reads all streams of a node.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use serde::{Deserialize, Serialize};

use super::backlog::Dropped;
use super::display::{BarClock, Display, RawState, Show};
use super::lift::{Lift, Worth};
use super::lines::Lines;
use super::log_file::LogFile;
use super::tail::Tail;
use super::terminal_writer::TerminalWriter;

const BUFFER_BYTES: usize = 128 * 1024;
const TAIL_BYTES: usize = 48 * 1024;
const TAIL_LINES: usize = 200;
/// What a dead process wrote to a terminal may take a moment to arrive.
const TERMINAL_LAG: Duration = Duration::from_millis(15);
/// How often the last words of a rank are read before it is asked who still writes there.
const LAST_READS: usize = 64;
/// How much longer than ordered a drain may take: a disk that hangs must not hold up the supervisor.
const DRAIN_MARGIN: Duration = Duration::from_secs(2);

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

/// The last lines of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tails {
    pub stdout: Vec<String>,
    pub stderr: Vec<String>,
}

/// What was left when all streams had been read to their ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Bytes that the disk did not take.
    pub dropped: u64,
    /// Streams that someone still held open and that were given up.
    pub abandoned: usize,
}

enum PumpRequest {
    Add(Box<StreamSource>),
    Settle { rank: u32, answer: Sender<Tails> },
    Drain { until: Instant, answer: Sender<Drained> },
}

/// A handle on the thread. Dropping it lets the thread end.
#[derive(Debug)]
pub struct Pump {
    requests: Option<Sender<PumpRequest>>,
    bell: Arc<EventFd>,
    thread: Option<JoinHandle<()>>,
    writers: [TerminalWriter; 2],
    gaps: Receiver<Dropped>,
    gap_bell: Arc<EventFd>,
}

impl Pump {
    pub fn start() -> io::Result<Self> {
        let (requests, inbox) = channel();
        let (tell_gap, gaps) = channel();
        let new_bell = || EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map(Arc::new);
        let (bell, gap_bell) = (new_bell()?, new_bell()?);
        let writers = TerminalWriter::for_both(Some(&bell));
        let reader = Reader::new(inbox, bell.clone(), Display::new(writers.clone()), tell_gap, gap_bell.clone())?;
        let thread =
            std::thread::Builder::new().name("output".into()).stack_size(256 * 1024).spawn(move || reader.run())?;
        Ok(Self { requests: Some(requests), bell, thread: Some(thread), writers, gaps, gap_bell })
    }

    pub fn add(&self, source: StreamSource) {
        self.request(PumpRequest::Add(Box::new(source)));
    }

    /// Reads all that a rank has written so far and answers with its last lines.
    pub fn settle(&self, rank: u32, patience: Duration) -> Option<Tails> {
        let (answer, wait) = channel();
        self.request(PumpRequest::Settle { rank, answer });
        wait.recv_timeout(patience).ok()
    }

    /// Reads every stream to its end; those that someone holds open beyond the patience are given up. Does not wait for
    /// whoever reads the terminal.
    pub fn drain(&self, patience: Duration) -> Option<Drained> {
        let (answer, wait) = channel();
        self.request(PumpRequest::Drain { until: Instant::now() + patience, answer });
        wait.recv_timeout(patience + DRAIN_MARGIN).ok()
    }

    /// Readable when [`Pump::take_gap`] has something to say.
    pub fn gap_fd(&self) -> BorrowedFd<'_> {
        self.gap_bell.as_fd()
    }

    /// What was dropped on the terminal, when its reader has come back and has all that was written before.
    pub fn take_gap(&self) -> Option<Dropped> {
        let _ = self.gap_bell.read();
        let mut dropped = Dropped::default();
        for gap in self.gaps.try_iter() {
            dropped += gap;
        }
        Some(dropped).filter(|dropped| !dropped.is_nothing())
    }

    /// How long the terminal's reader has taken nothing although there is something for it; none when it has everything.
    pub fn terminal_stuck_for(&self) -> Option<Duration> {
        self.writers.iter().filter_map(TerminalWriter::stuck_for).min()
    }

    /// Gives up what the terminal has not taken; the answer is all that was dropped and not told of.
    pub fn give_up_terminal(&self) -> Dropped {
        let mut dropped = self.take_gap().unwrap_or_default();
        for writer in &self.writers {
            dropped += writer.give_up();
        }
        dropped
    }

    fn request(&self, request: PumpRequest) {
        if let Some(requests) = &self.requests {
            // A pump that is gone has nothing to read any more.
            let _ = requests.send(request);
            let _ = self.bell.write(1);
        }
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.requests = None;
        let _ = self.bell.write(1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One stream with all that is kept of it.
#[derive(Debug)]
pub struct Stream {
    source: StreamSource,
    log: LogFile,
    tail: Tail,
    lines: Lines,
    lift: Lift,
    bar: BarClock,
    raw: RawState,
    filter: Option<(File, Vec<String>)>,
    ended: bool,
    /// Whether it is not read for now, because the terminal's reader is behind.
    is_held: bool,
}

impl Stream {
    fn new(source: StreamSource) -> Self {
        let filter = source.filtered.as_ref().and_then(|filtered| {
            let file = File::options().create(true).append(true).open(&filtered.path).ok()?;
            Some((file, filtered.words.clone()))
        });
        // On a disk that takes no file the stream is still read and shown.
        let log = source
            .log
            .clone()
            .map_or_else(LogFile::none, |path| LogFile::create(path.clone()).unwrap_or_else(|_| LogFile::lost(path)));
        Self {
            source,
            log,
            tail: Tail::new(TAIL_BYTES),
            lines: Lines::default(),
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
    fn waits_for(&self, display: &Display) -> bool {
        let is_shown = matches!(self.source.show, Show::Raw | Show::Prefixed { .. });
        is_shown && display.held_until(self.source.kind).is_some()
    }

    /// Reads once; false when there was nothing to read for now.
    fn read(&mut self, buffer: &mut [u8], display: &mut Display) -> bool {
        match nix::unistd::read(&self.source.fd, buffer) {
            Ok(n) if n > 0 => {
                self.take(&buffer[..n], display);
                true
            }
            Err(Errno::EINTR) => true,
            Err(Errno::EAGAIN) => false,
            // A terminal whose last user is gone answers EIO.
            Ok(_) | Err(_) => {
                self.ended = true;
                if self.needs_lines() {
                    self.take_lines(None, display);
                }
                false
            }
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

/// The thread's state.
struct Reader {
    inbox: Receiver<PumpRequest>,
    bell: Arc<EventFd>,
    /// Tells streams in the order in which they became ready, so that what a rank wrote to stderr before stdout is also
    /// shown before it.
    ready: Epoll,
    streams: Vec<Stream>,
    display: Display,
    buffer: Vec<u8>,
    draining: Option<(Instant, Sender<Drained>)>,
    dropped: u64,
    /// Whether some streams are not read for now.
    holds: bool,
    tell_gap: Sender<Dropped>,
    gap_bell: Arc<EventFd>,
}

const BELL: u64 = u64::MAX;
const AT_ONCE: usize = 32;

impl Reader {
    fn new(
        inbox: Receiver<PumpRequest>,
        bell: Arc<EventFd>,
        display: Display,
        tell_gap: Sender<Dropped>,
        gap_bell: Arc<EventFd>,
    ) -> io::Result<Self> {
        let ready = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        ready.add(&*bell, EpollEvent::new(EpollFlags::EPOLLIN, BELL))?;
        Ok(Self {
            inbox,
            bell,
            ready,
            streams: Vec::new(),
            display,
            buffer: vec![0; BUFFER_BYTES],
            draining: None,
            dropped: 0,
            holds: false,
            tell_gap,
            gap_bell,
        })
    }

    fn run(mut self) {
        let mut events = [EpollEvent::empty(); AT_ONCE];
        loop {
            // An interrupted wait is a wait that ended early.
            let count = self.ready.wait(&mut events, self.patience()).unwrap_or(0);
            for event in &events[..count] {
                self.read(event.data());
            }
            if !self.obey() {
                return;
            }
            self.hold_back();
            self.tell_of_gaps();
            self.finish_drain();
        }
    }

    fn patience(&self) -> EpollTimeout {
        let held_until = |stream: &Stream| self.display.held_until(stream.source.kind);
        let held = self.streams.iter().filter(|stream| self.holds && stream.is_held && !stream.ended);
        let mut due = self.draining.as_ref().map(|(until, _)| *until);
        for until in held.map(held_until) {
            // The hold may have ended since `hold_back` looked, and then nothing else would wake this thread.
            let Some(until) = until else { return EpollTimeout::ZERO };
            due = Some(due.map_or(until, |due| due.min(until)));
        }
        due.map_or(EpollTimeout::NONE, |due| {
            let left = due.saturating_duration_since(Instant::now()).as_millis() + 1;
            EpollTimeout::try_from(left).unwrap_or(EpollTimeout::MAX)
        })
    }

    fn read(&mut self, key: u64) {
        let stream = usize::try_from(key).ok().and_then(|index| self.streams.get_mut(index));
        if let Some(stream) = stream.filter(|stream| !stream.ended) {
            if stream.waits_for(&self.display) {
                self.holds = true;
                return;
            }
            stream.read(&mut self.buffer, &mut self.display);
            if stream.ended {
                let _ = self.ready.delete(&stream.source.fd);
            }
        }
    }

    /// Streams whose reader is behind are not watched for now, so that their ranks wait in their writes; all others are
    /// read on. When the reader has caught up, or is not waited for any longer, they are watched again.
    fn hold_back(&mut self) {
        if !self.holds {
            return;
        }
        self.holds = false;
        for (key, stream) in (0..).zip(&mut self.streams).filter(|(_, stream)| !stream.ended) {
            let is_held = stream.waits_for(&self.display);
            self.holds |= is_held;
            if is_held != stream.is_held {
                stream.is_held = is_held;
                let fd = &stream.source.fd;
                let watched = EpollEvent::new(EpollFlags::EPOLLIN, key);
                // A stream that cannot be watched would be waited for in vain.
                stream.ended = if is_held { self.ready.delete(fd) } else { self.ready.add(fd, watched) }.is_err();
            }
        }
    }

    fn tell_of_gaps(&self) {
        for gap in self.display.take_gaps() {
            let _ = self.tell_gap.send(gap);
            let _ = self.gap_bell.write(1);
        }
    }

    fn add(&mut self, source: StreamSource) {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, self.streams.len() as u64);
        let mut stream = Stream::new(source);
        // A stream that cannot be watched would be waited for in vain.
        stream.ended = self.ready.add(&stream.source.fd, event).is_err();
        self.streams.push(stream);
    }

    /// Carries out what was ordered; false when there will be no more requests.
    fn obey(&mut self) -> bool {
        let _ = self.bell.read();
        loop {
            match self.inbox.try_recv() {
                Ok(PumpRequest::Add(source)) => self.add(*source),
                Ok(PumpRequest::Settle { rank, answer }) => {
                    let _ = answer.send(self.settle(rank));
                }
                Ok(PumpRequest::Drain { until, answer }) => self.draining = Some((until, answer)),
                Err(std::sync::mpsc::TryRecvError::Empty) => return true,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn settle(&mut self, rank: u32) -> Tails {
        let mut tails = Tails::default();
        for stream in self.streams.iter_mut().filter(|stream| stream.source.rank == rank) {
            let until = Instant::now() + TERMINAL_LAG;
            let mut reads = 0;
            while !stream.ended && reads < LAST_READS {
                reads += 1;
                let more = stream.read(&mut self.buffer, &mut self.display);
                if !more
                    && (stream.ended || !is_terminal(&stream.source.fd) || !wait_readable(&stream.source.fd, until))
                {
                    break;
                }
            }
            if stream.ended {
                // Its end would be reported for ever.
                let _ = self.ready.delete(&stream.source.fd);
            }
            let lines = stream.tail.lines(TAIL_LINES);
            match stream.source.kind {
                StreamKind::Stdout => tails.stdout = lines,
                StreamKind::Stderr => tails.stderr = lines,
            }
        }
        tails
    }

    /// Answers a drain once every stream has ended or time is up; the streams are forgotten then.
    fn finish_drain(&mut self) {
        let open = self.streams.iter().filter(|stream| !stream.ended).count();
        let due = self.draining.as_ref().is_some_and(|(until, _)| open == 0 || Instant::now() >= *until);
        if !due {
            return;
        }
        if let Some((_, answer)) = self.draining.take() {
            self.read_what_is_held_back();
            self.dropped += self.streams.drain(..).map(|stream| stream.log.dropped()).sum::<u64>();
            let _ = answer.send(Drained { dropped: self.dropped, abandoned: open });
        }
    }

    /// The terminal's reader was waited for as long as the drain allows. The files get what there is.
    fn read_what_is_held_back(&mut self) {
        for stream in self.streams.iter_mut().filter(|stream| stream.is_held) {
            let mut reads = 0;
            while reads < LAST_READS && stream.read(&mut self.buffer, &mut self.display) {
                reads += 1;
            }
        }
    }
}

fn is_terminal(fd: &OwnedFd) -> bool {
    nix::unistd::isatty(fd).unwrap_or(false)
}

fn wait_readable(fd: &OwnedFd, until: Instant) -> bool {
    let left = u16::try_from(until.saturating_duration_since(Instant::now()).as_millis()).unwrap_or(0);
    left > 0 && matches!(poll(&mut [PollFd::new(fd.as_fd(), PollFlags::POLLIN)], left), Ok(n) if n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_whose_hold_ended_after_it_was_held_back_is_watched_again_at_once() {
        let (writer, _terminal) = TerminalWriter::to_pipe();
        let new_bell = || Arc::new(EventFd::from_flags(EfdFlags::EFD_NONBLOCK).unwrap());
        let (_requests, inbox) = channel();
        let (tell_gap, _gaps) = channel();
        let display = Display::new([writer.clone(), writer]);
        let mut reader = Reader::new(inbox, new_bell(), display, tell_gap, new_bell()).unwrap();
        let (fd, rank) = std::io::pipe().unwrap();
        let kind = StreamKind::Stdout;
        reader.add(StreamSource { rank: 0, kind, fd: fd.into(), log: None, show: Show::Raw, filtered: None });
        assert_eq!(reader.patience(), EpollTimeout::NONE);
        // As `hold_back` leaves it when the hold ends just after its look.
        reader.ready.delete(&reader.streams[0].source.fd).unwrap();
        reader.streams[0].is_held = true;
        reader.holds = true;
        assert_eq!(reader.patience(), EpollTimeout::ZERO);
        reader.hold_back();
        assert!(!reader.holds && !reader.streams[0].is_held);
        (&rank).write_all(b"words").unwrap();
        let mut events = [EpollEvent::empty(); 1];
        assert_eq!(reader.ready.wait(&mut events, EpollTimeout::from(1000u16)).unwrap(), 1);
    }
}
