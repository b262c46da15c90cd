//! Watches over the ranks of this node while they run: tells the phases that they come to, gathers evidence when nothing
//! moves any more, and reports a hang that has lasted too long. What is a hang is decided by [`HangWatch`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fermi_domain::event::RunEvent;
use fermi_domain::failure::{Diagnosis, FailureClass, Recurrence, Role};
use fermi_domain::hang::{
    Demand, Frame, HangCase, HangPatience, HangStep, HangWatch, RankSample, StackGroup, Work, grouped,
};
use fermi_domain::language::Text;
use fermi_domain::ledger::waited_for_the_slowest;
use fermi_domain::pulse::{Phase, Pulse};
use fermi_process::{clock, procfs};

use super::device_watch::DeviceWatch;
use super::event_sink::EventSink;
use super::hang_evidence::{self, HangEvidence};
use super::parking::Parking;
use super::rank_processes::RankProcess;
use crate::coordinator::Failure;
use crate::node_message::NodeReport;

/// How often ranks are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Ranks that are asked for their stacks have so long to write them.
const ANSWERS_WITHIN: Duration = Duration::from_millis(400);

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
    /// Ranks that have returned 0, and where they were last seen.
    ended: BTreeMap<u32, Vec<Frame>>,
    /// Since when a hang is suspected, by the clock of the journal.
    suspected_ms: Option<u64>,
    /// What other nodes know of what ranks here wait for.
    begun: Demand,
    has_others_elsewhere: bool,
    /// The hang, as it was told.
    told: Option<(u32, Diagnosis, Vec<String>)>,
    /// When somebody has asked where ranks stand.
    asked: Option<Instant>,
    /// How many bytes of each rank were in memory at the last look.
    resident: BTreeMap<u32, u64>,
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
            ended: BTreeMap::new(),
            suspected_ms: None,
            begun: Demand::new(),
            has_others_elsewhere: false,
            told: None,
            asked: None,
            resident: BTreeMap::new(),
        }
    }

    pub fn attempt_begins(&mut self, attempt: u32, has_others_elsewhere: bool) {
        *self = Self::new(self.patience.act_after_ms);
        self.attempt = attempt;
        self.has_others_elsewhere = has_others_elsewhere;
        self.watch = Some(HangWatch::new(clock::monotonic_ns() / 1_000_000, has_others_elsewhere));
    }

    /// How many bytes all ranks had in memory when they were last looked at; none where they never were.
    pub fn resident(&self) -> Option<u64> {
        (!self.resident.is_empty()).then(|| self.resident.values().sum())
    }

    /// Ranks are being ended: nothing that they do from here on is a hang.
    pub fn rest(&mut self) {
        self.watch = None;
    }

    /// Ranks are asked for their stacks; what they say is told with one of the next looks.
    pub fn take_stacks(&mut self, ranks: &[RankProcess], parking: &Parking) {
        // Asked again meanwhile, they answer once.
        if self.asked.is_none() {
            hang_evidence::ask_for_stacks(ranks, parking);
            self.asked = Some(Instant::now());
        }
    }

    pub fn hear_of_others(&mut self, collectives: u64, groups: &Demand) {
        let mut demand = groups.clone();
        demand.insert(String::new(), collectives);
        self.watch.iter_mut().for_each(|watch| watch.hear_of_others(demand.clone()));
    }

    pub fn rank_ended_well(&mut self, process: &RankProcess, parking: &Parking) {
        let reached = hang_evidence::reached(process, parking).unwrap_or_default();
        self.ended.insert(process.rank, reached.frames);
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
        devices: &DeviceWatch,
        run_folder: Option<&Path>,
        events: &mut EventSink,
    ) -> Vec<NodeReport> {
        if self.watch.is_none() || self.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY / 2) {
            return Vec::new();
        }
        self.looked = Some(Instant::now());
        let now_ms = clock::monotonic_ns() / 1_000_000;
        let samples = self.samples(ranks, parking, now_ms);
        if self.asked.is_some_and(|asked| asked.elapsed() >= ANSWERS_WITHIN) {
            self.asked = None;
            events.record(stacks_taken(self.attempt, &HangEvidence::gather(ranks, parking, &samples).stacks));
        }
        self.tell_phase(&samples, events);
        let Some(watch) = self.watch.as_mut() else { return Vec::new() };
        let ended: Vec<u32> = self.ended.keys().copied().collect();
        let step = watch.look(&samples, &ended, self.patience, now_ms);
        let begun = watch.tell_others(&samples, now_ms).filter(|begun| *begun != self.begun);
        let mut reports = Vec::new();
        if let Some(groups) = begun {
            let collectives = groups.get("").copied().unwrap_or(0);
            self.begun.clone_from(&groups);
            reports.push(NodeReport::Begun { collectives, groups });
        }
        let told = match step {
            None => None,
            Some(HangStep::Suspect { since_ms, ranks: suspects }) => {
                hang_evidence::ask_for_stacks(ranks, parking);
                self.suspected(unix_ms(since_ms, now_ms), suspects)
            }
            Some(HangStep::Judge { since_ms, case }) => {
                let mut evidence = HangEvidence::gather(ranks, parking, &samples);
                evidence.add_ended(&self.ended);
                let file = run_folder.and_then(|folder| evidence.keep(folder, self.attempt, &case));
                Some(self.judged(since_ms, now_ms, *case, &evidence.stacks, devices, file))
            }
            Some(HangStep::Passed { since_ms }) => {
                self.told = None;
                let since = self.suspected_ms.take().unwrap_or_else(|| unix_ms(since_ms, now_ms));
                let lasted_ms = now_ms.saturating_sub(since_ms);
                Some(RunEvent::HangPassed { attempt: self.attempt, since_ms: since, lasted_ms })
            }
            Some(HangStep::Act) => {
                reports.extend(self.given_up(ranks, parking.has_stepped()));
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
        devices: &DeviceWatch,
        evidence: Option<PathBuf>,
    ) -> RunEvent {
        let text = devices.joined(case.text(now_ms.saturating_sub(since_ms), stacks));
        let (hint, groups) = (case.hint(), grouped(stacks));
        self.told = case.ranks.first().and_then(|rank| {
            let diagnosis = devices.explain(*rank, Some(diagnosis(&text, &hint)))?;
            Some((*rank, diagnosis, groups.iter().flat_map(StackGroup::lines).collect()))
        });
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
    fn given_up(&mut self, ranks: &[RankProcess], made_progress: bool) -> Option<NodeReport> {
        let (rank, diagnosis, evidence) = self.told.take()?;
        let log = ranks.iter().find(|process| process.rank == rank).and_then(RankProcess::log);
        let failure = Failure { diagnosis: Some(diagnosis), evidence, traceback: None, log };
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
                self.works = hang_evidence::works(ranks, parking, now_ms);
            }
            Some(_) => {}
        }
        let page_bytes = procfs::page_bytes().unwrap_or(0);
        let Self { works, resident, .. } = self;
        let sample = |process: &RankProcess| {
            let pulse = parking.pulse_of(process.local_rank);
            let mut work = works.get(&process.rank).cloned();
            if let (Some(work), Some(pulse)) = (&mut work, pulse) {
                work.collectives = hang_evidence::collectives(parking, process.local_rank, &pulse);
                work.groups = hang_evidence::groups(parking, process.local_rank, &pulse);
                work.place = hang_evidence::place(parking, process.local_rank, &pulse);
            }
            let stat = procfs::stat(process.pid()).ok();
            if let Some(stat) = stat.filter(|stat| stat.resident > 0) {
                resident.insert(process.rank, stat.resident * page_bytes);
            }
            let state = stat.map_or(b'?', |stat| stat.state);
            let is_held = stat.is_some_and(|stat| stat.is_held_by_tracer());
            let tracer = is_held.then(|| hang_evidence::tracer(process.pid())).flatten();
            RankSample { rank: process.rank, pid: process.pid(), pulse, state, tracer, work }
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
    let waited_ms: Vec<u64> = pulses.iter().map(|pulse| pulse.waiting_ns / 1_000_000).collect();
    let slow_ms = waited_for_the_slowest(&waited_ms);
    let is_worth = steps > 0 || saving_ms > 0 || slow_ms > 0;
    is_worth.then_some(RunEvent::AttemptMeasured { attempt, steps, saved_steps, saving_ms, slow_ms })
}

/// Where ranks stand, and who has not said it.
fn stacks_taken(attempt: u32, stacks: &BTreeMap<u32, Vec<Frame>>) -> RunEvent {
    let silent = stacks.iter().filter(|(_, frames)| frames.is_empty()).map(|(rank, _)| *rank).collect();
    let said = stacks.iter().filter(|(_, frames)| !frames.is_empty()).map(|(rank, frames)| (*rank, frames.clone()));
    RunEvent::StacksTaken { attempt, stacks: grouped(&said.collect()), silent }
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
