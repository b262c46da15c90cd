//! The handle on the one thread that reads all streams of a node.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::eventfd::{EfdFlags, EventFd};
use serde::{Deserialize, Serialize};

use super::backlog::Dropped;
use super::display::Display;
use super::reader::Reader;
use super::stream::StreamSource;
use super::terminal_writer::TerminalWriter;

/// How much longer than ordered a drain may take: a disk that hangs must not hold up the supervisor.
const DRAIN_MARGIN: Duration = Duration::from_secs(2);

/// The last lines of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tails {
    pub stdout: Vec<String>,
    pub stderr: Vec<String>,
}

/// What the thread is asked to do.
pub(super) enum PumpRequest {
    Add(Vec<StreamSource>),
    Settle { rank: u32, answer: Sender<Tails> },
    Drain { until: Instant, answer: Sender<u64> },
}

/// A handle on the thread, which starts with the first streams. Dropping it lets the thread end.
#[derive(Debug)]
pub struct Pump {
    thread: Option<PumpThread>,
    bell: Arc<EventFd>,
    writers: [TerminalWriter; 2],
    tell_gap: Sender<Dropped>,
    gaps: Receiver<Dropped>,
    gap_bell: Arc<EventFd>,
}

#[derive(Debug)]
struct PumpThread {
    requests: Sender<PumpRequest>,
    handle: JoinHandle<()>,
}

impl Pump {
    pub fn new() -> io::Result<Self> {
        let (tell_gap, gaps) = channel();
        let new_bell = || EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map(Arc::new);
        let (bell, gap_bell) = (new_bell()?, new_bell()?);
        let writers = TerminalWriter::for_both(Some(&bell));
        Ok(Self { thread: None, bell, writers, tell_gap, gaps, gap_bell })
    }

    /// Reads these streams from now on. Call it when all ranks have been forked: a second thread makes each fork slower.
    pub fn add(&mut self, sources: Vec<StreamSource>) -> io::Result<()> {
        if self.thread.is_none() {
            self.thread = Some(self.start()?);
        }
        self.request(PumpRequest::Add(sources));
        Ok(())
    }

    fn start(&self) -> io::Result<PumpThread> {
        let (requests, inbox) = channel();
        let display = Display::new(self.writers.clone());
        let reader = Reader::new(inbox, self.bell.clone(), display, self.tell_gap.clone(), self.gap_bell.clone())?;
        let thread = std::thread::Builder::new().name("output".into()).stack_size(256 * 1024);
        Ok(PumpThread { requests, handle: thread.spawn(move || reader.run())? })
    }

    /// Reads all that a rank has written so far and answers with its last lines.
    pub fn settle(&self, rank: u32, patience: Duration) -> Option<Tails> {
        let (answer, wait) = channel();
        self.request(PumpRequest::Settle { rank, answer });
        wait.recv_timeout(patience).ok()
    }

    /// Reads every stream to its end; those that someone holds open beyond the patience are given up. Does not wait for
    /// the terminal's reader. Answers with the number of bytes that the disk did not take.
    pub fn drain(&self, patience: Duration) -> Option<u64> {
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
        if let Some(thread) = &self.thread {
            // A thread that is gone has nothing to read any more.
            let _ = thread.requests.send(request);
            let _ = self.bell.write(1);
        }
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        if let Some(PumpThread { requests, handle }) = self.thread.take() {
            drop(requests);
            let _ = self.bell.write(1);
            let _ = handle.join();
        }
    }
}
