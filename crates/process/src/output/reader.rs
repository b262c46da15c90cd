//! The loop of the pump's thread: it reads all streams of a node as they become ready.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;

use super::backlog::Dropped;
use super::display::Display;
use super::pump::{PumpRequest, Tails};
use super::stream::{Stream, StreamKind, StreamSource};

const BUFFER_BYTES: usize = 128 * 1024;
const TAIL_LINES: usize = 200;
/// What a dead process wrote to a terminal may take a moment to arrive.
const TERMINAL_LAG: Duration = Duration::from_millis(15);
/// How often the last words of a rank are read before it is asked who still writes there.
const LAST_READS: usize = 64;
/// The key under which the reader is told of requests.
const BELL: u64 = u64::MAX;
const AT_ONCE: usize = 32;

/// The streams and what the reader does with them.
pub(super) struct Reader {
    inbox: Receiver<PumpRequest>,
    bell: Arc<EventFd>,
    /// Tells streams in the order in which they became ready, so that what a rank wrote to stderr before stdout is also
    /// shown before it.
    ready: Epoll,
    streams: Vec<Stream>,
    display: Display,
    buffer: Vec<u8>,
    draining: Option<(Instant, Sender<u64>)>,
    dropped: u64,
    /// Whether some streams are not read for now.
    holds: bool,
    tell_gap: Sender<Dropped>,
    gap_bell: Arc<EventFd>,
}

impl Reader {
    pub(super) fn new(
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

    pub(super) fn run(mut self) {
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
                Ok(PumpRequest::Add(sources)) => sources.into_iter().for_each(|source| self.add(source)),
                Ok(PumpRequest::Settle { rank, answer }) => {
                    let _ = answer.send(self.settle(rank));
                }
                Ok(PumpRequest::Drain { until, answer }) => self.draining = Some((until, answer)),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
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
            self.read_what_is_there();
            self.dropped += self.streams.drain(..).map(|stream| stream.log.dropped()).sum::<u64>();
            let _ = answer.send(self.dropped);
        }
    }

    /// The terminal's reader, and those who hold streams open, were waited for as long as the drain allows. The files get what
    /// there is.
    fn read_what_is_there(&mut self) {
        for stream in self.streams.iter_mut().filter(|stream| !stream.ended) {
            let mut reads = 0;
            while reads < LAST_READS && stream.read(&mut self.buffer, &mut self.display) {
                reads += 1;
            }
            if !stream.ended {
                stream.end(&mut self.display);
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
    use std::io::Write;
    use std::sync::mpsc::channel;

    use nix::sys::eventfd::EfdFlags;

    use super::super::display::Show;
    use super::super::terminal_writer::TerminalWriter;
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
