//! From quiet to suspect to verdict.

use std::collections::{BTreeMap, VecDeque};

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
    Suspect { since_ms: u64, ranks: Vec<u32> },
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
    /// Whether ranks run elsewhere too, so that those here may wait for one of them; and how far those are.
    has_others_elsewhere: bool,
    elsewhere: Demand,
}

/// What was last seen of a rank.
#[derive(Clone, Debug, Default)]
struct Seen {
    steps: u64,
    last_step_ms: u64,
    moves: u64,
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
    pub fn new(now_ms: u64, has_others_elsewhere: bool) -> Self {
        Self { progress_ms: now_ms, has_others_elsewhere, ..Self::default() }
    }

    /// Ranks of other nodes wait for this, and stand.
    pub fn hear_of_others(&mut self, demand: Demand) {
        for (group, begun) in demand {
            let most = self.elsewhere.entry(group).or_default();
            *most = (*most).max(begun);
        }
    }

    /// What ranks here wait for, for other nodes to know; none while things move.
    pub fn tell_others(&self, samples: &[RankSample], now_ms: u64) -> Option<Demand> {
        let is_worth = self.has_others_elsewhere && self.curious_every(now_ms).is_some();
        is_worth.then(|| demand_of(samples)).filter(|demand| !demand.is_empty())
    }

    /// How often the work of ranks and their children is worth a look, which costs more than all else; the longer nothing
    /// moves, the less often. None while things move.
    pub fn curious_every(&self, now_ms: u64) -> Option<u64> {
        let quiet_ms = now_ms.saturating_sub(self.progress_ms);
        let worth = self.usual().map_or(QUIET_WITHOUT_STEPS_MS, |_| SHORTEST_QUIET_MS) / 2;
        (quiet_ms >= worth).then_some(WORK_EVERY_MS.max(quiet_ms / 8))
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
        if has_moved && stopped.is_none() {
            return self.goes_on(now_ms);
        }
        if samples.is_empty() {
            return None;
        }
        // Where all scripts have ended nobody waits: interpreters take a while to end.
        if samples.iter().all(RankSample::is_ending) {
            return self.goes_on(now_ms);
        }
        let running = self.with_those_that_run(samples, now_ms);
        let samples = running.as_deref().unwrap_or(samples);
        let mut case = HangCase::of(samples, ended, &self.elsewhere);
        case.without_interpreter = self.without_interpreter(now_ms);
        let quiet_ms = now_ms.saturating_sub(self.progress_ms);
        match &mut self.stage {
            Stage::Calm => {
                let is_quiet = stopped.is_some() || quiet_ms >= self.quiet_after(samples, &mut case);
                if !is_quiet {
                    return None;
                }
                let since_ms = stopped.unwrap_or(self.progress_ms);
                let (kind, ranks) = (case.kind, case.ranks.clone());
                self.stage = Stage::Suspect { since_ms, kind, asked_ms: now_ms, ranks };
                Some(HangStep::Suspect { since_ms, ranks: case.ranks })
            }
            Stage::Suspect { since_ms, asked_ms, ranks, .. } => {
                let waits = if case.kind == HangKind::Stopped { EVIDENCE_OF_STOPPED_MS } else { EVIDENCE_MS };
                if now_ms.saturating_sub(*asked_ms) < waits {
                    return None;
                }
                if *ranks != case.ranks {
                    // The picture has changed: evidence of now is wanted, of which most is there.
                    (*asked_ms, *ranks) = (now_ms.saturating_sub(waits / 2), case.ranks.clone());
                    return Some(HangStep::Suspect { since_ms: *since_ms, ranks: case.ranks });
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
            }
            (seen.steps, seen.last_step_ms) = (pulse.steps, last_step_ms);
            let phase = pulse.phase.map_or(0, |phase| phase as u64);
            let moves = pulse
                .steps
                .wrapping_add(pulse.enqueued)
                .wrapping_add(pulse.completed)
                .wrapping_add(pulse.phase_since_ns)
                .wrapping_add(phase);
            if moves != seen.moves {
                seen.moves = moves;
                has_moved = true;
            }
        }
        if let Some(gap) = longest_gap {
            remember(&mut self.step_gaps, gap);
        }
        let steps_unseen = |pulse: Pulse| pulse.phase == Some(Phase::Step) && pulse.steps == 0;
        if has_moved
            && samples.iter().filter_map(|sample| sample.pulse).all(steps_unseen)
            && let Some(before) = self.collectives_moved_ms.replace(now_ms)
        {
            remember(&mut self.collective_gaps, now_ms.saturating_sub(before));
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
        let busy = |rank: &u32| self.seen.get(rank).is_none_or(|seen| seen.is_busy != Some(false));
        match case.kind {
            HangKind::Silent if self.has_others_elsewhere && case.unanswered.is_empty() => u64::MAX,
            HangKind::Asleep if self.has_others_elsewhere => u64::MAX,
            // They may be held up by a rank of another node, which is named there.
            HangKind::NotEntered | HangKind::Mismatched if self.has_others_elsewhere && case.is_circle => u64::MAX,
            HangKind::Stopped => SHORTEST_QUIET_MS.min(quiet),
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

fn remember(gaps: &mut VecDeque<u64>, gap: u64) {
    gaps.push_back(gap);
    if gaps.len() > STEPS_REMEMBERED {
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
