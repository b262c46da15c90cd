//! From quiet to suspect to verdict.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use super::apart::apart;
use super::elsewhere::{Elsewhere, NodeStanding, RankStanding};
use super::sample::{RankSample, Work};
use super::stack::Frame;
use super::standing::{Demand, demand_of};
use super::verdict::{HangCase, HangKind};
use crate::pulse::{Phase, Pulse};

/// Quiet is what lasts so many times the longest of the last steps, and at least so long.
const STEPS_OF_QUIET: u64 = 3;
const SHORTEST_QUIET_MS: u64 = 2_000;
/// One of each look that saw steps; before so many are known they say nothing.
const STEPS_KNOWN: usize = 3;
const STEPS_REMEMBERED: usize = 16;
const QUIET_WITHOUT_STEPS_MS: u64 = 60_000;
/// Ranks that stand while others go on may wait for what these do: later than where all stand.
const QUIET_APART_MS: u64 = 10_000;
const MOVES_REMEMBERED: usize = 64;
/// Where steps are not seen, and what is seen of them are collectives that go on.
const SHORTEST_QUIET_OF_COLLECTIVES_MS: u64 = 5_000;
/// A checkpoint, a file: nothing is said of them sooner.
const QUIET_IN_SAVE_MS: u64 = 600_000;
/// The first step may compile for long.
const QUIET_IN_FIRST_STEP_MS: u64 = 1_800_000;
/// Where no rank waits for another in a collective, somebody may just wait for data.
const QUIET_ASLEEP_MS: u64 = 30_000;
/// Ranks that compute are left alone for so long; those that all wait in a collective may spin.
const BUSY_MS: u64 = 900_000;
const ASLEEP_ACTS_MS: u64 = 600_000;
const SILENT_BUT_BUSY_MS: u64 = 60_000;
/// What goes from node to node may take longer than it does within one, and nobody sees that it moves.
const SILENT_OF_ALL_MS: u64 = 10_000;
/// A main thread that runs at one line for so long, without waiting and without new memory, is in native code that may not end.
const SPINS_MS: u64 = 1_400;
/// So few pauses are none: the answer to a signal has some.
const PAUSES_OF_SPIN: u64 = 32;
/// A process is busy that has so much of a core, or moves so much in a second.
const BUSY_CPU_PERCENT: u64 = 20;
const BUSY_IO_BYTES_PER_S: u64 = 256 * 1024;
const WORK_EVERY_MS: u64 = 750;
/// Work is compared over at least so long.
const WORK_WINDOW_MS: u64 = 700;
/// Evidence has so long to come.
const EVIDENCE_MS: u64 = 700;
const EVIDENCE_OF_STOPPED_MS: u64 = 200;
/// That of other nodes, unless all have sent it before.
const EVIDENCE_OF_ALL_MS: u64 = 2_000;
/// An interpreter that has not ticked for so long does not run.
const TICKS_STOPPED_MS: u64 = 1_500;

/// What is done about a hang, and after how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HangPatience {
    /// None where nothing is done.
    pub act_after_ms: Option<u64>,
}

/// What follows from a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HangStep {
    /// Evidence is to be gathered.
    Suspect {
        since_ms: u64,
        ranks: Vec<u32>,
        /// Whether other nodes are to gather it too.
        of_all: bool,
    },
    /// It is a hang, with the evidence that has come.
    Judge { since_ms: u64, case: Box<HangCase> },
    /// It has lasted as long as it may.
    Act,
    /// Things move again.
    Passed { since_ms: u64 },
}

#[derive(Clone, Debug, Default)]
enum Stage {
    #[default]
    Calm,
    Suspect {
        since_ms: u64,
        kind: HangKind,
        asked_ms: u64,
        ranks: Vec<u32>,
    },
    Judged {
        since_ms: u64,
        kind: HangKind,
        has_acted: bool,
    },
}

/// The watch over one attempt. Times are milliseconds of one clock that only grows, that of the pulses.
#[derive(Clone, Debug, Default)]
pub struct HangWatch {
    seen: BTreeMap<u32, Seen>,
    step_gaps: VecDeque<u64>,
    /// The pauses between looks that saw collectives advance, of ranks that make steps without a torch optimizer.
    collective_gaps: VecDeque<u64>,
    collectives_moved_ms: Option<u64>,
    /// The longest that was taken for a hang and passed: the next one of that length is no news.
    longest_passed_ms: u64,
    progress_ms: u64,
    stage: Stage,
    elsewhere: Elsewhere,
}

/// What was last seen of a rank.
#[derive(Clone, Debug, Default)]
struct Seen {
    steps: u64,
    last_step_ms: u64,
    moves: u64,
    moved_ms: u64,
    /// Whether it is in a collective.
    waits: bool,
    /// How long it stood at a time, and the time between its last steps.
    pauses: VecDeque<u64>,
    ticks: u64,
    ticked_ms: u64,
    /// When its work was last compared, and what it was.
    work: Option<(u64, u64, u64)>,
    is_busy: Option<bool>,
    /// Since when it runs in one native call, and the pauses and the place by which that is known.
    spins: Option<(u64, u64, Vec<Frame>)>,
    spins_for_ms: u64,
    stopped_since_ms: Option<u64>,
}

impl HangWatch {
    /// `elsewhere` is how many ranks other nodes have.
    pub fn new(now_ms: u64, elsewhere: usize) -> Self {
        Self { progress_ms: now_ms, elsewhere: Elsewhere::with(elsewhere), ..Self::default() }
    }

    /// Ranks of other nodes wait for this, and stand.
    pub fn hear_of_others(&mut self, demand: Demand) {
        self.elsewhere.hear_demand(demand);
    }

    /// How the ranks of another node stand, or that they go on.
    pub fn hear_of_node(&mut self, node: usize, standing: NodeStanding, now_ms: u64) {
        self.elsewhere.hear(node, standing, now_ms);
    }

    /// Where ranks of other nodes stand, as these have said.
    pub fn frames_elsewhere(&self) -> BTreeMap<u32, Vec<Frame>> {
        self.elsewhere.frames()
    }

    /// What ranks here wait for, for other nodes to know; none while things move.
    pub fn tell_others(&self, samples: &[RankSample], now_ms: u64) -> Option<Demand> {
        let is_worth = self.elsewhere.exists() && self.stands_for(now_ms).is_some();
        is_worth.then(|| demand_of(samples)).filter(|demand| !demand.is_empty())
    }

    /// How ranks here stand, for the first node to know; none while things move.
    pub fn standing(&self, samples: &[RankSample], ended: &[u32], now_ms: u64) -> Option<NodeStanding> {
        let is_worth = self.elsewhere.exists() && self.stands_for(now_ms).is_some();
        let is_busy = |rank: u32| self.seen.get(&rank).and_then(|seen| seen.is_busy);
        let ranks = || samples.iter().map(|sample| RankStanding::of(sample, is_busy(sample.rank))).collect();
        is_worth.then(|| NodeStanding {
            quiet_ms: Some(now_ms.saturating_sub(self.progress_ms)),
            ranks: ranks(),
            ended: ended.to_vec(),
            ..NodeStanding::default()
        })
    }

    /// How often the work of ranks and their children is worth a look, which costs more than all else; the longer nothing
    /// moves, the less often. None while things move.
    pub fn curious_every(&self, now_ms: u64) -> Option<u64> {
        let of_rank = |seen: &Seen| now_ms.saturating_sub(seen.moved_ms);
        let of_one = || self.seen.values().filter(|seen| seen.waits).map(of_rank).max();
        let apart = || of_one().filter(|quiet_ms| *quiet_ms >= QUIET_APART_MS / 2);
        self.stands_for(now_ms).or_else(apart).map(|quiet_ms| WORK_EVERY_MS.max(quiet_ms / 8))
    }

    /// For how long nothing has moved; none where that is nothing worth a look.
    fn stands_for(&self, now_ms: u64) -> Option<u64> {
        let worth = self.usual().map_or(QUIET_WITHOUT_STEPS_MS, |_| SHORTEST_QUIET_MS) / 2;
        Some(now_ms.saturating_sub(self.progress_ms)).filter(|quiet_ms| *quiet_ms >= worth)
    }

    /// Takes what is seen of all ranks that run; `ended` are those that have returned 0.
    pub fn look(
        &mut self,
        samples: &[RankSample],
        ended: &[u32],
        patience: HangPatience,
        now_ms: u64,
    ) -> Option<HangStep> {
        let has_moved = self.notice(samples, now_ms);
        let stopped = self.stopped_since(now_ms);
        let those_apart = self.those_apart(samples, now_ms).filter(|_| stopped.is_none());
        if has_moved && stopped.is_none() && those_apart.is_none() {
            return self.goes_on(now_ms);
        }
        if samples.is_empty() && !self.elsewhere.exists() {
            return None;
        }
        // Where all scripts have ended nobody waits: interpreters take a while to end.
        if !samples.is_empty() && samples.iter().all(RankSample::is_ending) {
            return self.goes_on(now_ms);
        }
        let running = self.with_those_that_run(samples, now_ms);
        let samples = running.as_deref().unwrap_or(samples);
        let (mut case, samples, progress_ms) = match those_apart {
            Some((apart, since_ms)) => {
                let case = HangCase::of(&apart, &[], &Demand::new());
                (HangCase { is_apart: true, ..case }, Cow::Owned(apart), since_ms)
            }
            None => self.case(samples, ended),
        };
        case.without_interpreter = self.without_interpreter(now_ms);
        let samples = samples.as_ref();
        let quiet_ms = now_ms.saturating_sub(progress_ms);
        match &mut self.stage {
            Stage::Calm => {
                let is_quiet = stopped.is_some() || quiet_ms >= self.quiet_after(samples, &mut case);
                if !is_quiet {
                    return None;
                }
                let since_ms = stopped.unwrap_or(progress_ms);
                let (kind, ranks) = (case.kind, case.ranks.clone());
                self.stage = Stage::Suspect { since_ms, kind, asked_ms: now_ms, ranks };
                Some(HangStep::Suspect { since_ms, ranks: case.ranks, of_all: case.is_of_all })
            }
            Stage::Suspect { since_ms, asked_ms, ranks, .. } => {
                let waits = match case.kind {
                    HangKind::Stopped => EVIDENCE_OF_STOPPED_MS,
                    _ if case.is_of_all && !self.elsewhere.have_said_where() => EVIDENCE_OF_ALL_MS,
                    _ => EVIDENCE_MS,
                };
                if now_ms.saturating_sub(*asked_ms) < waits {
                    return None;
                }
                if *ranks != case.ranks {
                    // The picture has changed: evidence of now is wanted, of which most is there.
                    (*asked_ms, *ranks) = (now_ms.saturating_sub(waits / 2), case.ranks.clone());
                    return Some(HangStep::Suspect { since_ms: *since_ms, ranks: case.ranks, of_all: case.is_of_all });
                }
                let since_ms = *since_ms;
                if quiet_ms < self.quiet_after(samples, &mut case) && stopped.is_none() {
                    // The rank works after all.
                    self.stage = Stage::Calm;
                    return Some(HangStep::Passed { since_ms });
                }
                self.stage = Stage::Judged { since_ms, kind: case.kind, has_acted: false };
                Some(HangStep::Judge { since_ms, case: Box::new(case) })
            }
            Stage::Judged { since_ms, kind, has_acted } => {
                let after = patience.act_after_ms.and_then(|after| acts_after(*kind, after));
                let is_due = after.is_some_and(|after| now_ms.saturating_sub(*since_ms) >= after);
                if !is_due || *has_acted {
                    return None;
                }
                *has_acted = true;
                Some(HangStep::Act)
            }
        }
    }

    /// What the ranks here say; where those of other nodes decide what it is and stand still too, what all say together, with the
    /// samples that it is taken of and when something has moved last.
    fn case<'a>(&self, samples: &'a [RankSample], ended: &[u32]) -> (HangCase, Cow<'a, [RankSample]>, u64) {
        let mut case = HangCase::of(samples, ended, &self.elsewhere.demand);
        let mut found = (Cow::Borrowed(samples), self.progress_ms);
        if case.needs_all()
            && let Some(all) = self.elsewhere.with_those_here(samples, ended)
        {
            let of_all = HangCase::of(&all.samples, &all.ended, &Demand::new());
            if of_all.is_seen_by_all_alone() && !self.elsewhere.is_told_there() {
                case = HangCase { is_of_all: true, ..of_all };
                found = (Cow::Owned(all.samples), all.progress_ms.max(self.progress_ms));
            }
        }
        (case, found.0, found.1)
    }

    /// The ranks that stand while others go on and wait for nobody else, and since when.
    fn those_apart(&self, samples: &[RankSample], now_ms: u64) -> Option<(Vec<RankSample>, u64)> {
        let since = |sample: &RankSample| self.seen.get(&sample.rank).map_or(now_ms, |seen| seen.moved_ms);
        let stands = |sample: &RankSample| {
            let Some(seen) = self.seen.get(&sample.rank).filter(|_| sample.phase() == Some(Phase::Step)) else {
                return false;
            };
            let longest = seen.pauses.iter().copied().max().filter(|_| seen.pauses.len() >= STEPS_KNOWN);
            let quiet = |longest: u64| QUIET_APART_MS.max(STEPS_OF_QUIET * longest).max(self.longest_passed_ms * 3 / 2);
            longest.is_some_and(|longest| now_ms.saturating_sub(seen.moved_ms) >= quiet(longest))
        };
        let apart = apart(samples, stands);
        let of_them: Vec<RankSample> = samples.iter().filter(|sample| apart.contains(&sample.rank)).cloned().collect();
        let since_ms = of_them.iter().map(since).max();
        since_ms.map(|since_ms| (of_them, since_ms))
    }

    /// The samples with those as running that stand still just now and have run since the last look; none where there are no such.
    fn with_those_that_run(&self, samples: &[RankSample], now_ms: u64) -> Option<Vec<RankSample>> {
        let has_run = |sample: &RankSample| {
            sample.is_stopped() && self.seen.get(&sample.rank).is_some_and(|seen| seen.stopped_since_ms == Some(now_ms))
        };
        let state = |sample: &RankSample| if has_run(sample) { b'R' } else { sample.state };
        let running = || samples.iter().map(|sample| RankSample { state: state(sample), ..sample.clone() }).collect();
        samples.iter().any(has_run).then(running)
    }

    fn goes_on(&mut self, now_ms: u64) -> Option<HangStep> {
        match std::mem::take(&mut self.stage) {
            Stage::Calm => None,
            Stage::Suspect { since_ms, kind, .. } | Stage::Judged { since_ms, kind, .. } => {
                if kind != HangKind::Stopped {
                    self.longest_passed_ms = self.longest_passed_ms.max(now_ms.saturating_sub(since_ms));
                }
                Some(HangStep::Passed { since_ms })
            }
        }
    }

    /// Notes what has moved since the last look.
    fn notice(&mut self, samples: &[RankSample], now_ms: u64) -> bool {
        // What was seen of a rank that has ended says nothing any more.
        self.seen.retain(|rank, _| samples.iter().any(|sample| sample.rank == *rank));
        let (mut has_moved, mut longest_gap) = (false, None);
        for sample in samples {
            let is_new = !self.seen.contains_key(&sample.rank);
            let seen = self.seen.entry(sample.rank).or_default();
            seen.notice_work(sample);
            let has_ticked = sample.pulse.is_some_and(|pulse| pulse.ticks != seen.ticks);
            seen.stopped_since_ms = match (sample.is_stopped(), seen.stopped_since_ms) {
                // One whose calls are traced stands still at each look, and runs in between.
                (true, Some(since)) if !has_ticked => Some(since),
                (true, _) => Some(now_ms),
                (false, _) => None,
            };
            let Some(pulse) = sample.pulse else { continue };
            if has_ticked || is_new {
                (seen.ticks, seen.ticked_ms) = (pulse.ticks, now_ms);
            }
            let last_step_ms = pulse.last_step_ns / 1_000_000;
            if pulse.steps > seen.steps && seen.steps > 0 {
                let gap = last_step_ms.saturating_sub(seen.last_step_ms) / (pulse.steps - seen.steps);
                longest_gap = longest_gap.max(Some(gap));
                remember(&mut seen.pauses, gap, MOVES_REMEMBERED);
            }
            (seen.steps, seen.last_step_ms) = (pulse.steps, last_step_ms);
            let phase = pulse.phase.map_or(0, |phase| phase as u64);
            let moves = pulse
                .steps
                .wrapping_add(pulse.enqueued)
                .wrapping_add(pulse.completed)
                .wrapping_add(pulse.phase_since_ns)
                .wrapping_add(phase);
            seen.waits = pulse.completed < pulse.enqueued;
            if moves != seen.moves {
                if seen.moves > 0 {
                    remember(&mut seen.pauses, now_ms.saturating_sub(seen.moved_ms), MOVES_REMEMBERED);
                }
                (seen.moves, seen.moved_ms) = (moves, now_ms);
                has_moved = true;
            }
        }
        if let Some(gap) = longest_gap {
            remember(&mut self.step_gaps, gap, STEPS_REMEMBERED);
        }
        let steps_unseen = |pulse: Pulse| pulse.phase == Some(Phase::Step) && pulse.steps == 0;
        if has_moved
            && samples.iter().filter_map(|sample| sample.pulse).all(steps_unseen)
            && let Some(before) = self.collectives_moved_ms.replace(now_ms)
        {
            remember(&mut self.collective_gaps, now_ms.saturating_sub(before), STEPS_REMEMBERED);
        }
        if has_moved {
            self.progress_ms = now_ms;
        }
        has_moved
    }

    /// How long nothing moves at least before it is quiet while steps are made, and the longest of the last pauses between
    /// them; none before enough of them are known.
    fn usual(&self) -> Option<(u64, u64)> {
        let longest = |gaps: &VecDeque<u64>| gaps.iter().copied().max().filter(|_| gaps.len() >= STEPS_KNOWN);
        let of_steps = longest(&self.step_gaps).map(|gap| (SHORTEST_QUIET_MS, gap));
        of_steps.or_else(|| longest(&self.collective_gaps).map(|gap| (SHORTEST_QUIET_OF_COLLECTIVES_MS, gap)))
    }

    /// Since when a rank has been stopped.
    fn stopped_since(&self, now_ms: u64) -> Option<u64> {
        let since = self.seen.values().filter_map(|seen| seen.stopped_since_ms).min()?;
        (now_ms > since).then_some(since)
    }

    fn without_interpreter(&self, now_ms: u64) -> Vec<u32> {
        let stuck = |seen: &Seen| seen.ticks > 0 && now_ms.saturating_sub(seen.ticked_ms) >= TICKS_STOPPED_MS;
        self.seen.iter().filter(|(_, seen)| stuck(seen)).map(|(rank, _)| *rank).collect()
    }

    /// How long nothing has to move before it is a hang; what the ranks do may make it another kind.
    fn quiet_after(&self, samples: &[RankSample], case: &mut HangCase) -> u64 {
        let steps = self.usual().map_or(QUIET_WITHOUT_STEPS_MS, |(shortest, longest)| {
            shortest.max(STEPS_OF_QUIET * longest).max(self.longest_passed_ms * 3 / 2)
        });
        let of_phase = |sample: &RankSample| match sample.phase() {
            Some(Phase::Step) => steps,
            Some(Phase::Save | Phase::Load) => QUIET_IN_SAVE_MS.max(steps),
            Some(Phase::FirstStep) => QUIET_IN_FIRST_STEP_MS.max(steps),
            // What has no hook, or has not begun, cannot be judged by what it does not say.
            Some(Phase::Import | Phase::Init | Phase::Parked) | None => u64::MAX,
        };
        let quiet = samples.iter().map(of_phase).max().unwrap_or(u64::MAX);
        let here = |rank: &u32| self.seen.get(rank).is_none_or(|seen| seen.is_busy != Some(false));
        let busy = |rank: &u32| self.elsewhere.is_busy(*rank).unwrap_or_else(|| here(rank));
        let is_debugged = samples.iter().any(|sample| case.ranks.contains(&sample.rank) && sample.is_debugged());
        match case.kind {
            HangKind::Stopped => SHORTEST_QUIET_MS.min(quiet),
            _ if is_debugged => u64::MAX,
            // They may be held up by a rank of another node, which is named there.
            _ if self.elsewhere.exists() && case.needs_all() && !case.is_of_all && !case.is_apart => u64::MAX,
            HangKind::NotEntered | HangKind::DiskWait if case.ranks.iter().all(busy) => {
                case.kind = HangKind::Busy;
                // Who computes while no one waits may do so as long as it likes.
                let is_awaited = case.waiting > 0 || case.waiting_elsewhere;
                let spins = |rank: &u32| self.seen.get(rank).is_some_and(|seen| seen.spins_for_ms >= SPINS_MS);
                match (is_awaited, case.ranks.iter().all(spins)) {
                    (false, _) => u64::MAX,
                    (true, true) => quiet,
                    (true, false) => quiet.max(BUSY_MS),
                }
            }
            HangKind::Silent | HangKind::Mismatched if case.ranks.iter().any(busy) => quiet.max(SILENT_BUT_BUSY_MS),
            HangKind::Silent if case.is_of_all => quiet.max(SILENT_OF_ALL_MS),
            HangKind::Asleep if case.ranks.iter().any(busy) => u64::MAX,
            HangKind::Asleep => quiet.max(QUIET_ASLEEP_MS),
            HangKind::NotEntered
            | HangKind::Mismatched
            | HangKind::Silent
            | HangKind::Left
            | HangKind::DiskWait
            | HangKind::Busy => quiet,
        }
    }
}

fn remember(gaps: &mut VecDeque<u64>, gap: u64, most: usize) {
    gaps.push_back(gap);
    if gaps.len() > most {
        gaps.pop_front();
    }
}

/// After how long a hang of this kind is acted upon; never where the rank works, late where it may wait for the network, which
/// `/proc` does not count.
fn acts_after(kind: HangKind, after_ms: u64) -> Option<u64> {
    match kind {
        HangKind::Busy => None,
        HangKind::Asleep => Some(after_ms.max(ASLEEP_ACTS_MS)),
        _ => Some(after_ms),
    }
}

impl Seen {
    fn notice_work(&mut self, sample: &RankSample) {
        let Some(work) = &sample.work else {
            (self.work, self.is_busy, self.spins, self.spins_for_ms) = (None, None, None, 0);
            return;
        };
        if self.work.is_none() {
            self.spins = Some((work.seen_ms, work.pauses, work.place.clone()));
        }
        let (since_ms, cpu_ms, io_bytes) = *self.work.get_or_insert((work.seen_ms, work.cpu_ms, work.io_bytes));
        let passed = work.seen_ms.saturating_sub(since_ms);
        if passed >= WORK_WINDOW_MS {
            let computed = work.cpu_ms.saturating_sub(cpu_ms) * 100 >= passed * BUSY_CPU_PERCENT;
            let moved = work.io_bytes.saturating_sub(io_bytes) * 1_000 >= passed * BUSY_IO_BYTES_PER_S;
            // One that could run and does not get a processor works too.
            self.is_busy = Some(computed || moved || sample.state == b'R');
            self.work = Some((work.seen_ms, work.cpu_ms, work.io_bytes));
            self.notice_spin(work, !moved && sample.state == b'R');
        }
    }

    /// Notes for how long the main thread has been in one native call.
    fn notice_spin(&mut self, work: &Work, runs: bool) {
        let stands = |(_, pauses, place): &(u64, u64, Vec<Frame>)| {
            work.pauses.saturating_sub(*pauses) <= PAUSES_OF_SPIN && *place == work.place
        };
        if !runs || !self.spins.as_ref().is_some_and(stands) {
            self.spins = Some((work.seen_ms, work.pauses, work.place.clone()));
        }
        self.spins_for_ms = self.spins.as_ref().map_or(0, |(since_ms, ..)| work.seen_ms.saturating_sub(*since_ms));
    }
}

#[cfg(test)]
mod tests;
