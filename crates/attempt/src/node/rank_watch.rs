//! Watches over the ranks of this node while they run: tells the phases that they come to, gathers evidence when nothing
//! moves any more, and reports a hang that has lasted too long. What is a hang is decided by [`HangWatch`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fermi_domain::event::RunEvent;
use fermi_domain::failure::{Diagnosis, FailureClass, Recurrence, Role};
use fermi_domain::hang::{
    Demand, Frame, HangCase, HangPatience, HangStep, HangWatch, NodeStanding, RankSample, StackGroup, Work, grouped,
};
use fermi_domain::language::Text;
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
/// With their last collectives, which they tell at a tick.
const TELLS_COLLECTIVES_WITHIN: Duration = Duration::from_millis(800);

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
    /// How ranks here stand, as other nodes know it; none where they know that things move.
    standing: Option<NodeStanding>,
    /// When the first node has asked where they are, and what they have said.
    asked_by_others: Option<Instant>,
    frames: Option<BTreeMap<u32, Vec<Frame>>>,
    /// Whether other nodes are to be asked.
    asks_others: bool,
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
            standing: None,
            asked_by_others: None,
            frames: None,
            asks_others: false,
            told: None,
            asked: None,
            resident: BTreeMap::new(),
        }
    }

    /// `elsewhere` is how many ranks other nodes have.
    pub fn attempt_begins(&mut self, attempt: u32, elsewhere: usize) {
        *self = Self::new(self.patience.act_after_ms);
        self.attempt = attempt;
        self.has_others_elsewhere = elsewhere > 0;
        self.watch = Some(HangWatch::new(now_ms(), elsewhere));
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
        if collectives > 0 {
            demand.insert(String::new(), collectives);
        }
        self.watch.iter_mut().for_each(|watch| watch.hear_of_others(demand.clone()));
    }

    pub fn hear_of_node(&mut self, node: usize, standing: &NodeStanding) {
        if let Some(watch) = self.watch.as_mut().filter(|_| standing.attempt == self.attempt) {
            watch.hear_of_node(node, standing.clone(), now_ms());
        }
    }

    /// The first node suspects a hang of all, and wants to know at which lines ranks here are.
    pub fn ask_for_others(&mut self, ranks: &[RankProcess], parking: &Parking) {
        if self.watch.is_some() {
            hang_evidence::ask_for_stacks(ranks, parking);
            (self.asked_by_others, self.frames) = (Some(Instant::now()), None);
        }
    }

    pub fn asks_other_nodes(&mut self) -> bool {
        std::mem::take(&mut self.asks_others)
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
        let now_ms = now_ms();
        let samples = self.samples(ranks, parking, now_ms);
        if self.asked.is_some_and(|asked| asked.elapsed() >= ANSWERS_WITHIN) {
            self.asked = None;
            events.record(stacks_taken(self.attempt, &HangEvidence::gather(ranks, parking, &samples).stacks));
        }
        self.tell_phase(&samples, events);
        self.gather_for_others(ranks, parking, &samples, run_folder);
        let Some(watch) = self.watch.as_mut() else { return Vec::new() };
        let ended: Vec<u32> = self.ended.keys().copied().collect();
        let step = watch.look(&samples, &ended, self.patience, now_ms);
        let begun = watch.tell_others(&samples, now_ms);
        let standing = watch.standing(&samples, &ended, now_ms);
        let mut reports: Vec<NodeReport> = self.news(begun, standing).into_iter().collect();
        let told = match step {
            None => None,
            Some(HangStep::Suspect { since_ms, ranks: suspects, of_all }) => {
                self.asks_others |= of_all;
                hang_evidence::ask_for_stacks(ranks, parking);
                self.suspected(unix_ms(since_ms, now_ms), suspects)
            }
            Some(HangStep::Judge { since_ms, case }) => {
                let mut evidence = HangEvidence::gather(ranks, parking, &samples);
                evidence.add_ended(&self.ended);
                if case.is_of_all {
                    evidence.add_elsewhere(self.watch.iter().flat_map(HangWatch::frames_elsewhere).collect());
                }
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

    /// What other nodes do not know yet of ranks here that stand still, and once that they go on.
    fn news(&mut self, begun: Option<Demand>, standing: Option<NodeStanding>) -> Option<NodeReport> {
        let standing = standing.map(|standing| self.completed(standing));
        let is_known = match (&standing, &self.standing) {
            // That more time has passed is no news.
            (Some(now), Some(told)) => NodeStanding { quiet_ms: told.quiet_ms, ..now.clone() } == *told,
            (now, told) => now.is_none() && told.is_none(),
        };
        let begun = begun.filter(|begun| *begun != self.begun);
        if is_known && begun.is_none() {
            return None;
        }
        if standing.is_none() {
            (self.asked_by_others, self.frames) = (None, None);
        }
        let groups = begun.unwrap_or_default();
        if !groups.is_empty() {
            self.begun.clone_from(&groups);
        }
        self.standing.clone_from(&standing);
        let goes_on = NodeStanding { attempt: self.attempt, ..NodeStanding::default() };
        let collectives = groups.get("").copied().unwrap_or(0);
        Some(NodeReport::Begun { collectives, groups, standing: Some(Box::new(standing.unwrap_or(goes_on))) })
    }

    /// With what only this watch knows.
    fn completed(&self, mut standing: NodeStanding) -> NodeStanding {
        standing.attempt = self.attempt;
        standing.is_asked = self.frames.is_some();
        for rank in &mut standing.ranks {
            rank.frames = self.frames.as_ref().and_then(|frames| frames.get(&rank.rank).cloned()).unwrap_or_default();
        }
        standing
    }

    /// Keeps what the ranks have answered to the first node's question, for it and for who looks here.
    fn gather_for_others(
        &mut self,
        ranks: &[RankProcess],
        parking: &Parking,
        samples: &[RankSample],
        run_folder: Option<&Path>,
    ) {
        let is_due = self.asked_by_others.is_some_and(|asked| asked.elapsed() >= TELLS_COLLECTIVES_WITHIN);
        if is_due && self.frames.is_none() {
            let evidence = HangEvidence::gather(ranks, parking, samples);
            if let Some(folder) = run_folder {
                evidence.keep_for_others(folder, self.attempt);
            }
            self.frames = Some(evidence.stacks);
        }
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

/// By the clock of the pulses.
fn now_ms() -> u64 {
    clock::monotonic_ns() / 1_000_000
}

/// A time of the clock of the pulses by the clock of the journal.
fn unix_ms(then_ms: u64, now_ms: u64) -> u64 {
    clock::unix_ms().saturating_sub(now_ms.saturating_sub(then_ms))
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
