//! What agents send to the server piece by piece: the steps are the real ones; the way there and back is a value.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use fermi_agent::run_registry::{AgentInput, JournalTaken};
use fermi_agent::upload::{GrowingFile, Piece, PieceAnswer, Step, UploadClient, UploadFile, UploadKind};
use fermi_domain::event::RunEvent;
use fermi_domain::fleet::JournalSent;
use fermi_domain::ids::EnvironmentId;
use fermi_domain::task::RunKey;

use crate::lines::Lines;
use crate::plan::Strange;
use crate::server::{CLUSTER, Server};
use crate::truth::{GrowingBytes, Truth};
use crate::world::{Event, World};

#[derive(Debug)]
pub struct Uploads {
    pub journal: UploadFile<GrowingBytes>,
    pub streams: BTreeMap<(u32, u32), UploadFile<GrowingBytes>>,
    pub is_fresh: bool,
    pub ends: bool,
    pub is_told: [bool; 2],
    pub is_unwanted: [bool; 2],
}

impl Uploads {
    /// Whether something may be there that the server wants and has not.
    pub fn has_more(&self) -> bool {
        let [is_journal_unwanted, are_streams_unwanted] = self.is_unwanted;
        !is_journal_unwanted && self.journal.has_more()
            || !are_streams_unwanted && self.streams.values().any(UploadFile::has_more)
    }
}

impl GrowingFile for GrowingBytes {
    fn exists(&self) -> bool {
        true
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.0.borrow();
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// A journal, or what a rank wrote in an attempt, on its way.
type NamedFile<'a> = (Option<(u32, u32)>, &'a mut UploadFile<GrowingBytes>);

/// The way of one piece to the server and of its answer back.
struct Carrier<'a> {
    server: &'a mut Server,
    truth: &'a mut Truth,
    lines: &'a Lines,
    environment: &'a EnvironmentId,
    run: &'a RunKey,
    stream: Option<(u32, u32)>,
    now: u64,
    epoch: Option<u64>,
    is_cut: bool,
    is_answer_cut: bool,
    strange: Option<Strange>,
    /// What was sent, for a proxy that sends it once more later.
    sent: Option<(u64, Vec<u8>)>,
}

impl Carrier<'_> {
    fn carry(&mut self, path: &str, piece: Option<Piece<'_>>) -> PieceAnswer {
        if self.is_cut || !self.server.is_up {
            return PieceAnswer::Unreachable;
        }
        let strange = match self.strange {
            Some(Strange::NotFound) => Some(404),
            Some(Strange::Gone) => Some(410),
            Some(Strange::BadGateway) => Some(502),
            Some(Strange::Stall) => return PieceAnswer::Unreachable,
            None => None,
        };
        if let Some(status) = strange {
            return PieceAnswer::of(status, None, CLUSTER, path);
        }
        if !self.server.is_of_epoch(self.epoch) {
            return PieceAnswer::of(503, None, CLUSTER, path);
        }
        let (status, taken) = match (self.stream, piece) {
            (None, None) => self.server.journal_length(self.environment, self.run),
            (None, Some(Piece { offset, bytes, .. })) => {
                let piece = (offset, bytes);
                self.server.take_journal(self.environment, self.run, piece, self.now, self.lines, self.truth)
            }
            (Some(stream), piece) => {
                self.server.take_stream(self.environment, self.run, stream, piece, self.now, self.truth)
            }
        };
        self.sent = piece.map(|Piece { offset, bytes, .. }| (offset, bytes.to_vec()));
        if self.is_answer_cut || self.server.disk.has_killed() {
            return PieceAnswer::Unreachable;
        }
        PieceAnswer::of(status, taken.as_ref(), CLUSTER, path)
    }
}

impl UploadClient for Carrier<'_> {
    fn ask(&mut self, path: &str) -> PieceAnswer {
        self.carry(path, None)
    }

    fn send(&mut self, path: &str, piece: Piece<'_>) -> PieceAnswer {
        self.carry(path, Some(piece))
    }
}

impl World {
    /// From now on what the run writes is sent.
    pub fn upload(&mut self, index: usize, run: &RunKey, is_fresh: bool) {
        let agent = &mut self.agents[index];
        let Some(files) = agent.folder.runs.get(run) else { return };
        let journal = files.journal.clone();
        let path = format!("/api/agent/v1/runs/{run}/journal");
        let uploads = Uploads {
            journal: UploadFile::new(path, journal, is_fresh),
            streams: BTreeMap::new(),
            is_fresh,
            ends: false,
            is_told: [false; 2],
            is_unwanted: [false; 2],
        };
        agent.uploads.insert(run.clone(), uploads);
        self.ring_uploads(index);
    }

    pub fn ring_uploads(&mut self, index: usize) {
        if !self.agents[index].is_up || self.agents[index].is_upload_due {
            return;
        }
        self.agents[index].is_upload_due = true;
        let life = self.agents[index].life;
        let at = self.soon(1..40);
        self.at(at, Event::Upload { agent: index, life });
    }

    /// A run has written something.
    pub fn wrote(&mut self, index: usize, run: &RunKey, stream: Option<(u32, u32)>) {
        if let Some(uploads) = self.agents[index].uploads.get_mut(run) {
            match stream {
                None => uploads.journal.is_open = true,
                Some(name) => {
                    if let Some(file) = uploads.streams.get_mut(&name) {
                        file.is_open = true;
                    }
                }
            }
        }
        self.ring_uploads(index);
    }

    /// One piece of every file that has something.
    pub fn upload_once(&mut self, index: usize, life: u32) {
        if !self.agents[index].is_up || self.agents[index].life != life {
            return;
        }
        self.agents[index].is_upload_due = false;
        let Some(environment) = self.agents[index].environment.clone() else { return };
        let instant = self.instant();
        let runs: Vec<RunKey> = self.agents[index].uploads.keys().cloned().collect();
        let mut next: Option<u64> = None;
        for run in runs {
            next = next.min_some(self.upload_run(index, &environment, &run, instant));
        }
        if let Some(at) = next {
            self.agents[index].is_upload_due = true;
            self.at(at, Event::Upload { agent: index, life });
        }
    }

    fn upload_run(&mut self, index: usize, environment: &EnvironmentId, run: &RunKey, instant: Instant) -> Option<u64> {
        let mut late = Vec::new();
        let agent = &mut self.agents[index];
        let machine = &self.machines[agent.machine];
        let uploads = agent.uploads.get_mut(run)?;
        if let Some(files) = agent.folder.runs.get(run) {
            for (name, bytes) in &files.streams {
                let path = || format!("/api/agent/v1/runs/{run}/streams/{}/{}/stdout", name.0, name.1);
                let is_fresh = uploads.is_fresh;
                uploads.streams.entry(*name).or_insert_with(|| UploadFile::new(path(), bytes.clone(), is_fresh));
            }
        }
        let (now, mut next) = (self.now, None);
        let proxy = machine.proxy.filter(|(_, until)| now < *until).map(|(strange, _)| strange);
        let kinds = [true, false];
        for is_journal in kinds {
            let is_journal_whole = !is_journal && uploads.ends && !uploads.journal.is_open;
            let kind = usize::from(!is_journal);
            if uploads.is_unwanted[kind] {
                continue;
            }
            let files: Vec<NamedFile<'_>> = if is_journal {
                vec![(None, &mut uploads.journal)]
            } else {
                uploads.streams.iter_mut().map(|(name, file)| (Some(*name), file)).collect()
            };
            for (stream, file) in files {
                if !file.is_due(instant) {
                    next = next.min_some(file.waits_until().map(|at| self.clock.ms_of(at)));
                    continue;
                }
                // A strange answer now and then, not to every request.
                let strange = proxy.filter(|_| self.rng.bool());
                let mut carrier = Carrier {
                    server: &mut self.server,
                    truth: &mut self.truth,
                    lines: &self.lines,
                    environment,
                    run,
                    stream,
                    now,
                    epoch: agent.epoch,
                    is_cut: now < machine.cut_to_server_until,
                    is_answer_cut: now < machine.cut_to_agent_until,
                    strange,
                    sent: None,
                };
                if is_journal_whole {
                    file.journal = JournalSent::Whole;
                }
                let mut buffer = [0; 24];
                let step = file.step(&mut carrier, &mut buffer, instant);
                if let Some((offset, bytes)) = carrier.sent.filter(|_| now < machine.late_until) {
                    late.push((stream, offset, bytes));
                }
                match step {
                    Step::Moved => next = next.min_some(Some(now + 2)),
                    Step::Unwanted => uploads.is_unwanted[kind] = true,
                    Step::Idle => {}
                    Step::Later => next = next.min_some(file.waits_until().map(|at| self.clock.ms_of(at))),
                    Step::Unreachable => next = next.min_some(Some(now + 1_000)),
                }
            }
        }
        let mut done = Vec::new();
        for (kind, name) in [UploadKind::Journal, UploadKind::Streams].into_iter().enumerate() {
            let is_closed = match name {
                UploadKind::Journal => !uploads.journal.is_open,
                UploadKind::Streams => uploads.streams.values().all(|file| !file.is_open),
            };
            if uploads.ends && !uploads.is_told[kind] && (uploads.is_unwanted[kind] || is_closed) {
                uploads.is_told[kind] = true;
                done.push(name);
            }
        }
        let epoch = self.agents[index].epoch;
        for (stream, offset, bytes) in late {
            let at = self.soon(10..4_000);
            let (run, environment) = (run.clone(), environment.clone());
            self.at(at, Event::LatePiece { environment, epoch, run, stream, offset, bytes });
        }
        for kind in done {
            let input = match kind {
                UploadKind::Journal => AgentInput::JournalTaken(run.clone(), self.what_journal_tells(index, run)),
                UploadKind::Streams => AgentInput::StreamsTaken(run.clone()),
            };
            self.agent_hears(index, input);
        }
        if self.server.is_rung {
            self.ring_server();
        }
        next
    }

    /// Whether ranks were started in each attempt of which there are files, as the journal has it.
    fn what_journal_tells(&self, index: usize, run: &RunKey) -> JournalTaken {
        let Some(files) = self.agents[index].folder.runs.get(run) else { return JournalTaken::LacksAttempts };
        let journal = files.journal.0.borrow();
        let is_told = |attempt: u32| {
            self.lines
                .read(&journal)
                .any(|event| matches!(event, RunEvent::RankStarted { attempt: told, .. } if *told == attempt))
        };
        if files.streams.keys().all(|(attempt, _)| is_told(*attempt)) {
            JournalTaken::TellsAll
        } else {
            JournalTaken::LacksAttempts
        }
    }
}

/// The time of the real code's clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: Instant,
}

impl Clock {
    pub fn new() -> Self {
        Self { base: Instant::now() }
    }

    pub fn instant(self, ms: u64) -> Instant {
        self.base + Duration::from_millis(ms)
    }

    fn ms_of(self, instant: Instant) -> u64 {
        u64::try_from(instant.saturating_duration_since(self.base).as_millis()).unwrap_or(u64::MAX)
    }
}

/// The earlier of two times, of which either may not be there.
trait Earlier {
    fn min_some(self, other: Self) -> Self;
}

impl Earlier for Option<u64> {
    fn min_some(self, other: Self) -> Self {
        self.into_iter().chain(other).min()
    }
}
