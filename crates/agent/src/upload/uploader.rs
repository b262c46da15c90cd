//! A thread that sends one kind of file of all runs, a piece of each file in turn.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use fermi_domain::ids::EnvironmentId;
use fermi_domain::task::RunKey;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

use super::UploadKind;
use super::client::{HttpUploadClient, WelcomedAs};
use super::file::Step;
use super::set::{UploadPlan, UploadSet};
use super::watch::{FolderChange, Watch};
use crate::lasting;
use crate::trace;

/// The largest piece: with one buffer of this size per thread, memory stays flat.
const LARGEST_PIECE: usize = 1 << 20;
/// Files are looked at this often even if the kernel says nothing.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What an uploader is told.
#[derive(Clone, Debug)]
pub enum UploadOrder {
    Add {
        run: RunKey,
        folder: std::path::PathBuf,
        ranks: Vec<u32>,
        first_attempt: u32,
        is_fresh: bool,
    },
    /// Nobody writes any more: send what is left and say when it is done.
    Rest(RunKey),
    /// The server has all of the run's journal, and there will be no more of it.
    JournalTaken(RunKey),
    Drop(RunKey),
    /// The server is there and calls us so.
    Welcomed(WelcomedAs),
}

/// The handle on an uploader's thread; dropping it ends the thread.
#[derive(Debug)]
pub struct Uploader {
    orders: Sender<UploadOrder>,
    bell: Arc<EventFd>,
}

impl Uploader {
    /// Starts the thread. `taken` hears of each run of which all has arrived.
    pub fn start(
        kind: UploadKind,
        client: HttpUploadClient,
        taken: impl Fn(RunKey) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (orders, inbox) = channel();
        let bell = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        let ring = bell.clone();
        let name = match kind {
            UploadKind::Journal => "upload-journal",
            UploadKind::Streams => "upload-streams",
        };
        let mut work = Work::new(kind, client, inbox, ring);
        lasting::start(name, 512 * 1024, move || work.run(&taken))?;
        Ok(Self { orders, bell })
    }

    pub fn order(&self, order: UploadOrder) {
        let _ = self.orders.send(order);
        let _ = self.bell.write(1);
    }
}

impl Drop for Uploader {
    fn drop(&mut self) {
        // The closed channel is seen when the bell rings.
        self.orders = channel().0;
        let _ = self.bell.write(1);
    }
}

struct Work {
    kind: UploadKind,
    client: HttpUploadClient,
    inbox: Receiver<UploadOrder>,
    bell: Arc<EventFd>,
    watch: Option<Watch>,
    sets: BTreeMap<RunKey, UploadSet>,
    /// The server was not there: nothing is tried before.
    away_until: Option<Instant>,
    pause: Duration,
    looked: Instant,
    /// After which file of which run the next round begins.
    after: Option<(RunKey, usize)>,
}

impl Work {
    fn new(kind: UploadKind, client: HttpUploadClient, inbox: Receiver<UploadOrder>, bell: Arc<EventFd>) -> Self {
        Self {
            kind,
            client,
            inbox,
            bell,
            watch: Watch::open(),
            sets: BTreeMap::new(),
            away_until: None,
            pause: FIRST_PAUSE,
            looked: Instant::now(),
            after: None,
        }
    }

    fn run(&mut self, taken: &impl Fn(RunKey)) {
        let mut buffer = vec![0; LARGEST_PIECE];
        while self.obey() {
            self.read_changes();
            let moved = self.may_send() && self.send_one(&mut buffer);
            self.settle(taken);
            if !moved {
                self.wait();
            }
        }
    }

    /// Takes all orders; false when nobody will give any more.
    fn obey(&mut self) -> bool {
        loop {
            match self.inbox.try_recv() {
                Ok(UploadOrder::Add { run, folder, ranks, first_attempt, is_fresh }) => {
                    let what = UploadPlan { run: run.clone(), folder, ranks, first_attempt, is_fresh };
                    let mut set = UploadSet::new(what, self.kind);
                    set.server_takes_starts(self.client.sender.as_ref().is_some_and(|sender| sender.takes_starts));
                    self.sets.insert(run.clone(), set);
                    self.discover(&run);
                }
                Ok(UploadOrder::Rest(run)) => {
                    if let Some(set) = self.sets.get_mut(&run) {
                        set.ends = true;
                    }
                    self.discover(&run);
                    if let Some(set) = self.sets.get_mut(&run) {
                        set.look_at_all();
                    }
                }
                Ok(UploadOrder::JournalTaken(run)) => {
                    self.sets.get_mut(&run).into_iter().for_each(UploadSet::journal_is_taken);
                }
                Ok(UploadOrder::Drop(run)) => self.forget(&run),
                Ok(UploadOrder::Welcomed(sender)) => {
                    self.sets.values_mut().for_each(|set| set.server_takes_starts(sender.takes_starts));
                    self.client.sender = Some(sender);
                    (self.away_until, self.pause) = (None, FIRST_PAUSE);
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn discover(&mut self, run: &RunKey) {
        let Some(set) = self.sets.get_mut(run) else { return };
        // Twice: what came into being before its folder was watched would not be told.
        for _ in 0..2 {
            for place in set.discover() {
                if let Some(watch) = &mut self.watch {
                    watch.add(run, place);
                }
            }
        }
    }

    fn forget(&mut self, run: &RunKey) {
        self.sets.remove(run);
        if let Some(watch) = &mut self.watch {
            watch.forget(run);
        }
    }

    fn read_changes(&mut self) {
        let news = self.watch.as_ref().map(Watch::changes).unwrap_or_default();
        let mut look_at_all = self.looked.elapsed() >= LOOK_EVERY;
        for item in news {
            match item {
                FolderChange::Everywhere => look_at_all = true,
                FolderChange::At(run, files) if files.is_empty() => self.discover(&run),
                FolderChange::At(run, files) => {
                    if let Some(set) = self.sets.get_mut(&run) {
                        set.look_at(files);
                    }
                }
            }
        }
        if look_at_all {
            self.looked = Instant::now();
            for run in self.sets.keys().cloned().collect::<Vec<_>>() {
                self.discover(&run);
            }
            self.sets.values_mut().filter(|set| !set.ends).for_each(UploadSet::look_at_all);
        }
    }

    fn environment(&self) -> Option<&EnvironmentId> {
        self.client.sender.as_ref().map(|sender| &sender.environment)
    }

    fn may_send(&self) -> bool {
        self.client.sender.is_some() && self.away_until.is_none_or(|until| Instant::now() >= until)
    }

    /// One piece of the next file that has something; false when none has.
    fn send_one(&mut self, buffer: &mut [u8]) -> bool {
        let now = Instant::now();
        let Some((run, index)) = self.next_due(now) else { return false };
        self.after = Some((run.clone(), index));
        let environment = self.environment().cloned();
        let Some(set) = self.sets.get_mut(&run) else { return false };
        let Some(file) = set.files.get_mut(index) else { return false };
        let span = trace::upload(&run, self.kind, file.of_rank, environment.as_ref()).entered();
        match file.step(&mut self.client, buffer, now) {
            Step::Moved => {
                tracing::debug!("a piece was sent");
                self.pause = FIRST_PAUSE;
            }
            Step::Unwanted => {
                tracing::info!("the server does not want the run");
                set.unwanted = true;
            }
            Step::Idle | Step::Later => {}
            Step::Unreachable => {
                if self.pause == FIRST_PAUSE {
                    tracing::warn!("the server cannot be reached; it is tried again until it can");
                }
                self.away_until = Some(now + self.pause);
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            }
        }
        drop(span);
        true
    }

    /// In turn over all files, so that one that floods does not starve the others.
    fn next_due(&self, now: Instant) -> Option<(RunKey, usize)> {
        let due = |from: Option<&(RunKey, usize)>| {
            let runs = self.sets.iter().filter(|(_, set)| !set.unwanted);
            let files = runs.flat_map(|(run, set)| (0..).zip(&set.files).map(move |file| (run, file)));
            let mut later = files.filter(|(run, (index, _))| from.is_none_or(|(last, at)| (*run, index) > (last, at)));
            later.find(|(_, (_, file))| file.is_due(now)).map(|(run, (index, _))| (run.clone(), index))
        };
        due(self.after.as_ref()).or_else(|| due(None))
    }

    fn settle(&mut self, taken: &impl Fn(RunKey)) {
        let done: Vec<RunKey> = self.sets.iter().filter(|(_, set)| set.is_done()).map(|(run, _)| run.clone()).collect();
        for run in done {
            let span = trace::upload(&run, self.kind, None, self.environment());
            span.in_scope(|| tracing::info!("all that a run wrote has been sent"));
            self.forget(&run);
            taken(run);
        }
    }

    fn wait(&self) {
        let now = Instant::now();
        let files = self.sets.values().flat_map(|set| &set.files);
        let due = files.filter_map(|file| file.waits_until()).chain(self.away_until).filter(|at| *at > now).min();
        let look = if self.sets.is_empty() { None } else { Some(self.looked + LOOK_EVERY) };
        let until = due.into_iter().chain(look).min();
        let timeout = until.map_or(PollTimeout::NONE, |at| {
            let left = at.saturating_duration_since(now).as_millis() + 1;
            PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
        });
        let mut fds = vec![PollFd::new(self.bell.as_fd(), PollFlags::POLLIN)];
        // While the server is away, news would only wake us for nothing.
        if let Some(watch) = self.watch.as_ref().filter(|_| self.may_send()) {
            fds.push(PollFd::new(watch.as_fd(), PollFlags::POLLIN));
        }
        // An interrupted wait is a wait that ended early.
        let _ = poll(&mut fds, timeout);
        let _ = self.bell.read();
    }
}
