//! Watches over the ranks of this node while they run: tells the phases that they come to, gathers evidence when nothing
//! moves any more, and reports a hang that has lasted too long. What is a hang is decided by [`HangWatch`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fermi_domain::event::RunEvent;
use fermi_domain::failure::{Diagnosis, FailureClass, Recurrence, Role};
use fermi_domain::hang::{
    Frame, HangCase, HangPatience, HangStep, HangWatch, RankSample, StackGroup, Work, grouped, trained_in,
};
use fermi_domain::language::Text;
use fermi_domain::pulse::{self, Phase, Pulse};
use fermi_process::{activity, clock, procfs};

use super::event_sink::EventSink;
use super::parking::Parking;
use super::rank_processes::RankProcess;
use crate::coordinator::Failure;
use crate::node_message::NodeReport;
use crate::run_folder::attempt_folder;

/// How often ranks are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The watch over the attempt that runs.
#[derive(Debug)]
pub struct RankWatch {
    patience: HangPatience,
    /// None while no attempt runs.
    watch: Option<HangWatch>,
    attempt: u32,
    phase: Option<Phase>,
    looked: Option<Instant>,
    works: BTreeMap<u32, Work>,
    worked: Option<Instant>,
    /// Ranks that have returned 0.
    ended: Vec<u32>,
    /// Since when a hang is suspected, by the clock of the journal.
    suspected_ms: Option<u64>,
    /// How many collectives other nodes know to have been entered here.
    begun: u64,
    has_others_elsewhere: bool,
    /// The hang, as it was told.
    told: Option<(u32, Diagnosis, Vec<String>)>,
}

impl RankWatch {
    pub fn new(restart_after_ms: Option<u64>) -> Self {
        Self {
            patience: HangPatience { act_after_ms: restart_after_ms },
            watch: None,
            attempt: 0,
            phase: None,
            looked: None,
            works: BTreeMap::new(),
            worked: None,
            ended: Vec::new(),
            suspected_ms: None,
            begun: 0,
            has_others_elsewhere: false,
            told: None,
        }
    }

    pub fn attempt_begins(&mut self, attempt: u32, has_others_elsewhere: bool) {
        *self = Self::new(self.patience.act_after_ms);
        self.attempt = attempt;
        self.has_others_elsewhere = has_others_elsewhere;
        self.watch = Some(HangWatch::new(clock::monotonic_ns() / 1_000_000, has_others_elsewhere));
    }

    /// Ranks are being ended: nothing that they do from here on is a hang.
    pub fn rest(&mut self) {
        self.watch = None;
    }

    pub fn hear_of_others(&mut self, begun: u64) {
        self.watch.iter_mut().for_each(|watch| watch.hear_of_others(begun));
    }

    pub fn rank_ended_well(&mut self, rank: u32) {
        self.ended.push(rank);
    }

    /// When ranks are to be looked at even if nothing else happens.
    pub fn wake_in(&self) -> Option<Duration> {
        self.watch.as_ref().map(|_| LOOK_EVERY)
    }

    /// Looks at all ranks, unless that was just done. The answer is what the coordinator is to know.
    pub fn look(
        &mut self,
        ranks: &[RankProcess],
        parking: &Parking,
        run_folder: Option<&Path>,
        events: &mut EventSink,
    ) -> Vec<NodeReport> {
        if self.watch.is_none() || self.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY / 2) {
            return Vec::new();
        }
        self.looked = Some(Instant::now());
        let now_ms = clock::monotonic_ns() / 1_000_000;
        let samples = self.samples(ranks, parking, now_ms);
        self.tell_phase(&samples, events);
        let Some(watch) = self.watch.as_mut() else { return Vec::new() };
        let step = watch.look(&samples, &self.ended, self.patience, now_ms);
        let begun = watch.tell_others(&samples, now_ms).filter(|begun| *begun > self.begun);
        let mut reports = Vec::new();
        if let Some(collectives) = begun {
            self.begun = collectives;
            reports.push(NodeReport::Begun { collectives });
        }
        let told = match step {
            None => None,
            Some(HangStep::Suspect { since_ms, ranks: suspects }) => {
                ask_for_stacks(ranks, parking);
                self.suspected(unix_ms(since_ms, now_ms), suspects)
            }
            Some(HangStep::Judge { since_ms, case }) => {
                let evidence = HangEvidence::gather(ranks, parking, &samples);
                let file = run_folder.and_then(|folder| evidence.keep(folder, self.attempt, &case));
                Some(self.judged(since_ms, now_ms, case, &evidence.stacks, file))
            }
            Some(HangStep::Passed { since_ms }) => {
                self.told = None;
                let since = self.suspected_ms.take().unwrap_or_else(|| unix_ms(since_ms, now_ms));
                let lasted_ms = now_ms.saturating_sub(since_ms);
                Some(RunEvent::HangPassed { attempt: self.attempt, since_ms: since, lasted_ms })
            }
            Some(HangStep::Act) => {
                reports.extend(self.given_up(parking.has_stepped()));
                None
            }
        };
        if let Some(event) = told {
            events.record(event.clone());
            if self.has_others_elsewhere {
                reports.push(NodeReport::HangTold { event: Some(Box::new(event)) });
            }
        }
        reports
    }

    /// Said once of a hang, however often the picture changes.
    fn suspected(&mut self, since_ms: u64, ranks: Vec<u32>) -> Option<RunEvent> {
        let is_new = self.suspected_ms.is_none();
        self.suspected_ms.get_or_insert(since_ms);
        is_new.then_some(RunEvent::HangSuspected { attempt: self.attempt, since_ms, ranks })
    }

    fn judged(
        &mut self,
        since_ms: u64,
        now_ms: u64,
        case: HangCase,
        stacks: &BTreeMap<u32, Vec<Frame>>,
        evidence: Option<PathBuf>,
    ) -> RunEvent {
        let text = case.text(now_ms.saturating_sub(since_ms), stacks);
        let (hint, groups) = (case.hint(), grouped(stacks));
        self.told = case.ranks.first().map(|rank| (*rank, diagnosis(&text, &hint), lines(&groups)));
        RunEvent::HangVerdict {
            attempt: self.attempt,
            since_ms: self.suspected_ms.unwrap_or_else(|| unix_ms(since_ms, now_ms)),
            kind: case.kind,
            place: case.place(stacks).cloned().map(Box::new),
            ranks: case.ranks,
            stacks: groups,
            evidence,
            text: Box::new(text),
            hint: Box::new(hint),
        }
    }

    /// The hang has lasted as long as it may.
    fn given_up(&mut self, made_progress: bool) -> Option<NodeReport> {
        let (rank, diagnosis, evidence) = self.told.take()?;
        let failure = Failure { diagnosis: Some(diagnosis), evidence, traceback: None };
        Some(NodeReport::RankHung { rank, failure: Box::new(failure), made_progress })
    }

    fn samples(&mut self, ranks: &[RankProcess], parking: &Parking, now_ms: u64) -> Vec<RankSample> {
        match self.watch.as_ref().and_then(|watch| watch.curious_every(now_ms)) {
            None => {
                self.works.clear();
                self.worked = None;
            }
            Some(every) if self.worked.is_none_or(|worked| worked.elapsed() >= Duration::from_millis(every)) => {
                self.worked = Some(Instant::now());
                let pids: Vec<i32> = ranks.iter().map(RankProcess::pid).collect();
                let seen = activity::of_all(&pids);
                self.works = ranks.iter().zip(seen).map(|(rank, seen)| (rank.rank, work(rank, seen, now_ms))).collect();
            }
            Some(_) => {}
        }
        let sample = |process: &RankProcess| {
            let pulse = parking.pulse_of(process.local_rank);
            let mut work = self.works.get(&process.rank).cloned();
            if let (Some(work), Some(pulse)) = (&mut work, pulse) {
                work.pending = pending(parking, process.local_rank, &pulse);
            }
            let state = procfs::stat(process.pid()).map_or(b'?', |stat| stat.state);
            RankSample { rank: process.rank, pid: process.pid(), pulse, state, work }
        };
        ranks.iter().map(sample).collect()
    }

    /// Tells the phase that all ranks have come to.
    fn tell_phase(&mut self, samples: &[RankSample], events: &mut EventSink) {
        let phases = samples.iter().map(|sample| sample.pulse.and_then(|pulse| Some((pulse.phase?, pulse))));
        let Some(phases) = phases.collect::<Option<Vec<(Phase, Pulse)>>>() else { return };
        let Some((slowest, pulse)) = phases.into_iter().min_by_key(|(phase, pulse)| (*phase, pulse.phase_since_ns))
        else {
            return;
        };
        let (slowest, since_ns) = match slowest {
            Phase::Step | Phase::Save if pulse.first_step_ns > 0 => (Phase::Step, pulse.first_step_ns),
            phase => (phase, pulse.phase_since_ns),
        };
        if slowest != Phase::Parked && self.phase.is_none_or(|told| told < slowest) {
            self.phase = Some(slowest);
            let ago_ms = clock::monotonic_ns().saturating_sub(since_ns) / 1_000_000;
            let since_ms = clock::unix_ms().saturating_sub(ago_ms);
            events.record(RunEvent::RanksPhase { attempt: self.attempt, phase: slowest, since_ms });
        }
    }
}

/// A time of the clock of the pulses by the clock of the journal.
fn unix_ms(then_ms: u64, now_ms: u64) -> u64 {
    clock::unix_ms().saturating_sub(now_ms.saturating_sub(then_ms))
}

/// What ranks have counted in the attempt, once it has ended; nothing where no hook has seen a step.
pub fn measured(attempt: u32, pulses: &[Pulse]) -> Option<RunEvent> {
    let most = |count: fn(&Pulse) -> u64| pulses.iter().map(count).max().unwrap_or(0);
    let steps = most(|pulse| pulse.steps);
    let saving_ms = most(|pulse| pulse.saving_ns) / 1_000_000;
    let saved_steps = most(|pulse| pulse.saved_at);
    (steps > 0).then_some(RunEvent::AttemptMeasured { attempt, steps, saved_steps, saving_ms })
}

fn work(rank: &RankProcess, seen: activity::Activity, seen_ms: u64) -> Work {
    let activity::Activity { cpu_ms, io_bytes, stopped_child } = seen;
    let waits_for_file = activity::file_of_call(rank.pid());
    Work { seen_ms, cpu_ms, io_bytes, stopped_child, waits_for_file, pending: Vec::new() }
}

fn pending(parking: &Parking, local_rank: u32, pulse: &Pulse) -> Vec<fermi_domain::hang::Pending> {
    let length = usize::try_from(pulse.pending_bytes).unwrap_or(0);
    let text = parking.page_of(local_rank).and_then(|page| page.read_at(pulse::PENDING_TEXT, length).ok());
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Asks every rank that can for the stacks of its threads. A stopped one would answer when it goes on, and a process
/// without the handler would die of the signal.
fn ask_for_stacks(ranks: &[RankProcess], parking: &Parking) {
    for process in ranks {
        let (Some(page), Some(pulse)) = (parking.page_of(process.local_rank), parking.pulse_of(process.local_rank))
        else {
            continue;
        };
        let pid = process.pid();
        let is_stopped = procfs::stat(pid).is_ok_and(|stat| stat.state == b'T');
        let signal = i32::try_from(pulse.armed).unwrap_or(0);
        if !is_stopped && u64::try_from(pid).is_ok_and(|pid| pid == pulse.pid) && activity::handles(pid, signal) {
            let _ = page.cut_behind(pulse::SIZE);
            let _ = activity::signal_main_thread(pid, signal);
        }
    }
}

/// What is kept of all ranks.
struct HangEvidence {
    stacks: BTreeMap<u32, Vec<Frame>>,
    text: String,
}

impl HangEvidence {
    fn gather(ranks: &[RankProcess], parking: &Parking, samples: &[RankSample]) -> Self {
        let (mut stacks, mut text) = (BTreeMap::new(), String::new());
        for (process, sample) in ranks.iter().zip(samples) {
            let page = parking.page_of(process.local_rank);
            let dump = page.and_then(|page| page.read_behind(pulse::SIZE).ok()).unwrap_or_default();
            let dump = String::from_utf8_lossy(&dump).into_owned();
            let waits_in = activity::kernel_function(process.pid()).unwrap_or_default();
            let (rank, pid, state) = (sample.rank, sample.pid, char::from(sample.state));
            let _ = writeln!(text, "== rank {rank}: process {pid}, state {state}, in the kernel at {waits_in}");
            if let Some(pulse) = sample.pulse {
                let Pulse { steps, enqueued, completed, phase, .. } = pulse;
                let phase = phase.map(|phase| format!("{phase:?}").to_lowercase()).unwrap_or_default();
                let _ =
                    writeln!(text, "phase {phase}, {steps} steps, collectives: {enqueued} begun, {completed} ended");
            }
            for pending in sample.work.iter().flat_map(|work| &work.pending) {
                let fermi_domain::hang::Pending { seq, name, sizes, group } = pending;
                let _ = writeln!(text, "in {name} #{seq} of group {group}, sizes {sizes}");
            }
            let _ = writeln!(text, "{dump}");
            stacks.insert(rank, trained_in(&dump));
        }
        Self { stacks, text }
    }

    /// Adds it to the file of the attempt; nothing where the disk does not take it.
    fn keep(&self, run_folder: &Path, attempt: u32, case: &HangCase) -> Option<PathBuf> {
        let path = attempt_folder(run_folder, attempt).join("hang.txt");
        let mut file = OpenOptions::new().create(true).append(true).open(&path).ok()?;
        let head = format!("{:?} rank {:?} at {} ms\n", case.kind, case.ranks, clock::unix_ms());
        file.write_all(format!("{head}{}\n", self.text).as_bytes()).ok()?;
        Some(path)
    }
}

/// The hang as the cause of an attempt's end.
fn diagnosis(text: &Text, hint: &Text) -> Diagnosis {
    Diagnosis {
        id: Diagnosis::HANG.into(),
        class: FailureClass::User,
        recurrence: Recurrence::MayPass,
        role: Role::Cause,
        cause: text.clone(),
        advice: hint.clone(),
        line: None,
    }
}

/// The stacks as lines for a report.
fn lines(groups: &[StackGroup]) -> Vec<String> {
    let mut lines = Vec::new();
    for StackGroup { ranks, frames } in groups {
        let ranks: Vec<String> = ranks.iter().map(u32::to_string).collect();
        lines.push(format!("rank {}", ranks.join(", ")));
        lines.extend(frames.iter().take(4).map(|frame| format!("  {}:{} {}", frame.file, frame.line, frame.function)));
    }
    lines
}
