//! The events of a journal as spans of time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Account, Cause, CauseTime};
use crate::event::{Outcome, Record, RunEvent};
use crate::pulse::Phase;

/// Takes the events of a run in their order. Times that go back, as a clock that was set does, count as no time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ledger {
    /// The time before the attempt or gap that goes on, which nothing changes any more.
    settled: BTreeMap<Cause, u64>,
    /// When each cause began; it lasts until the next begins. Starts are never equal and never fall.
    spans: Vec<(u64, Cause)>,
    now_ms: u64,
    pub(super) stage: Stage,
    attempt: Attempt,
    /// Optimizer steps of the whole run: how far it came, and where the newest checkpoint is.
    highest_step: u64,
    saved_step: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Stage {
    /// No ranks run: before the first attempt, or between two.
    #[default]
    Gap,
    Running,
    Failing,
    Ending,
    /// A task is over; no time passes until it begins again.
    Over,
}

/// What is known of the attempt that runs, or of the gap before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Attempt {
    began_ms: u64,
    ranks_began_ms: Option<u64>,
    started: usize,
    exited: usize,
    has_phases: bool,
    has_stepped: bool,
    /// Nothing of it is left on this node.
    is_swept: bool,
    /// What it was before a hang, and is again once that has passed.
    before_hang: Option<Cause>,
    first_step: u64,
    steps: u64,
    saved_steps: u64,
    saving_ms: u64,
    slow_ms: u64,
}

impl Ledger {
    /// A task is created before its run starts, and waits.
    pub fn queued_since(created_ms: u64) -> Self {
        Self { spans: vec![(created_ms, Cause::Queue)], now_ms: created_ms, ..Self::default() }
    }

    pub fn take(&mut self, record: &Record) {
        self.hear(record.time_ms, &record.event);
    }

    /// Takes an event that happened then; of a task that is over nothing counts.
    pub fn hear(&mut self, time_ms: u64, event: &RunEvent) {
        if self.stage == Stage::Over {
            return;
        }
        self.now_ms = self.now_ms.max(time_ms);
        let now = self.now_ms;
        match event {
            RunEvent::RunStarted { .. } => self.begin_gap(Cause::Spawn),
            RunEvent::Waiting { .. } | RunEvent::NodeJoined { .. } if self.stage == Stage::Gap => {
                self.switch(self.attempt.began_ms, Cause::NodeWait);
            }
            // A node that was cut off hears of no end of its attempt.
            RunEvent::Waiting { .. } if self.attempt.is_swept => self.begin_gap(Cause::NodeWait),
            RunEvent::Swept { .. } => self.attempt.is_swept = true,
            RunEvent::NodeLost { .. } if self.stage == Stage::Running => self.fails(),
            RunEvent::AttemptStarted { resume, .. } => {
                let first_step = if *resume { self.saved_step } else { 0 };
                self.settle();
                self.attempt = Attempt { began_ms: now, first_step, ..Attempt::default() };
                self.stage = Stage::Running;
                self.switch(now, Cause::Spawn);
            }
            RunEvent::RankStarted { .. } => self.rank_started(),
            RunEvent::RanksPhase { phase, since_ms, .. } if self.stage == Stage::Running => {
                self.phase_began(*phase, *since_ms);
            }
            RunEvent::StepsReported { .. } if self.stage == Stage::Running => self.step_seen(),
            RunEvent::HangSuspected { since_ms, .. } | RunEvent::HangVerdict { since_ms, .. }
                if self.stage == Stage::Running =>
            {
                self.hangs(*since_ms);
            }
            RunEvent::HangPassed { .. } if self.stage == Stage::Running => self.hang_passed(),
            RunEvent::RankExited { exit, .. } if self.stage == Stage::Running => {
                self.attempt.exited += 1;
                if !exit.is_success() {
                    self.fails();
                } else if self.attempt.exited == self.attempt.started {
                    self.ends();
                }
            }
            RunEvent::Stopping { .. } | RunEvent::Killing { .. } if self.stage != Stage::Gap => self.ends(),
            RunEvent::AttemptMeasured { steps, saved_steps, saving_ms, slow_ms, .. } => {
                self.attempt.steps = *steps;
                self.attempt.saved_steps = *saved_steps;
                self.attempt.saving_ms = *saving_ms;
                self.attempt.slow_ms = *slow_ms;
            }
            RunEvent::AttemptFailed { .. } => self.begin_gap(Cause::Spawn),
            RunEvent::RestartScheduled { after_ms, .. } if *after_ms > 0 => {
                self.begin_gap(Cause::BackOff);
                self.attempt.began_ms += after_ms;
            }
            RunEvent::RunEnded { outcome, .. } => {
                if *outcome == Outcome::Succeeded {
                    self.done_without_steps();
                }
                self.settle();
            }
            _ => {}
        }
    }

    /// The time up to now, or up to the last event if that is later.
    pub fn account(&self, now_ms: u64) -> Account {
        let end = if self.stage == Stage::Over { self.now_ms } else { self.now_ms.max(now_ms) };
        let mut times = self.settled.clone();
        for (cause, ms) in self.lengths(end) {
            *times.entry(cause).or_default() += ms;
        }
        Account::new(times.into_iter().map(|(cause, ms)| CauseTime { cause, ms }).collect())
    }

    /// What has been settled since the ledger was as that one; such time never changes again.
    pub fn settled_since(&self, before: &Self) -> Vec<CauseTime> {
        let since = |(cause, ms): (&Cause, &u64)| {
            let ms = ms.saturating_sub(before.settled.get(cause).copied().unwrap_or(0));
            (ms > 0).then_some(CauseTime { cause: *cause, ms })
        };
        self.settled.iter().filter_map(since).collect()
    }

    pub(super) fn come_to(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
    }

    /// The time that has passed since the end is nobody's.
    pub(super) fn begin_again(&mut self) {
        self.spans.clear();
        self.attempt = Attempt { began_ms: self.now_ms, ..Attempt::default() };
    }

    /// How long each span lasted, up to that time.
    fn lengths(&self, to: u64) -> impl Iterator<Item = (Cause, u64)> {
        let ends = self.spans.iter().skip(1).map(|(start, _)| *start).chain([to]);
        self.spans.iter().zip(ends).map(|((start, cause), end)| (*cause, end.saturating_sub(*start)))
    }

    /// From then on it was this; what was noted since is replaced. Nothing is changed before the attempt or gap began.
    pub(super) fn switch(&mut self, at_ms: u64, cause: Cause) {
        let first = self.spans.first().map_or(self.now_ms, |(start, _)| *start);
        let at = at_ms.max(self.attempt.began_ms).min(self.now_ms).max(first);
        while self.spans.last().is_some_and(|(start, _)| *start >= at) {
            self.spans.pop();
        }
        if self.spans.last().is_none_or(|(_, last)| *last != cause) {
            self.spans.push((at, cause));
        }
    }

    /// What there was is settled, and no ranks run.
    pub(super) fn begin_gap(&mut self, cause: Cause) {
        self.settle();
        self.stage = Stage::Gap;
        self.switch(self.now_ms, cause);
    }

    fn rank_started(&mut self) {
        self.attempt.started += 1;
        if self.stage == Stage::Running && self.attempt.ranks_began_ms.is_none() {
            self.attempt.ranks_began_ms = Some(self.now_ms);
            // Until a phase or a step says otherwise.
            self.switch(self.now_ms, Cause::NoSteps);
        }
    }

    fn phase_began(&mut self, phase: Phase, since_ms: u64) {
        let cause = match phase {
            Phase::Import | Phase::Parked => Cause::Import,
            Phase::Init => Cause::Init,
            Phase::Load => Cause::Load,
            Phase::FirstStep => Cause::FirstStep,
            Phase::Step | Phase::Save => Cause::Productive,
        };
        let began = self.attempt.ranks_began_ms.unwrap_or(self.attempt.began_ms);
        if !self.attempt.has_phases {
            self.attempt.has_phases = true;
            self.switch(began, Cause::Import);
        }
        self.attempt.has_stepped |= phase == Phase::Step;
        self.switch(since_ms.max(began), cause);
    }

    /// A rank has reported a step by itself. Where nothing else is known of the attempt, steps were all that it made.
    fn step_seen(&mut self) {
        self.attempt.has_stepped = true;
        if self.attempt.has_phases {
            self.switch(self.now_ms, Cause::Productive);
            return;
        }
        let began = self.attempt.ranks_began_ms.unwrap_or(self.attempt.began_ms);
        for (_, cause) in self.spans.iter_mut().filter(|(start, cause)| *start >= began && *cause == Cause::NoSteps) {
            *cause = Cause::Productive;
        }
    }

    fn hangs(&mut self, since_ms: u64) {
        if let Some((_, cause)) = self.spans.last().filter(|(_, cause)| *cause != Cause::Hang) {
            self.attempt.before_hang = Some(*cause);
        }
        self.switch(since_ms, Cause::Hang);
    }

    /// A phase that began meanwhile has ended the hang already.
    fn hang_passed(&mut self) {
        let lasts = self.spans.last().is_some_and(|(_, cause)| *cause == Cause::Hang);
        for (_, cause) in self.spans.iter_mut().filter(|(_, cause)| *cause == Cause::Hang) {
            *cause = Cause::SlowRank;
        }
        let running = if self.attempt.has_stepped { Cause::Productive } else { Cause::NoSteps };
        let before = self.attempt.before_hang.take().unwrap_or(running);
        if lasts {
            self.switch(self.now_ms, before);
        }
    }

    fn fails(&mut self) {
        self.stage = Stage::Failing;
        self.switch(self.now_ms, Cause::Detect);
    }

    pub(super) fn ends(&mut self) {
        self.stage = Stage::Ending;
        self.switch(self.now_ms, Cause::Stop);
    }

    /// A run that ended well without an optimizer has done its work where others load and make their first step; what it
    /// was is not known.
    fn done_without_steps(&mut self) {
        if self.attempt.has_stepped || self.attempt.steps > 0 {
            return;
        }
        for (_, cause) in &mut self.spans {
            if matches!(cause, Cause::FirstStep | Cause::Load) {
                *cause = Cause::NoSteps;
            }
        }
    }

    /// Adds up what there was, and takes from the attempt's productive time what its ranks have spent otherwise.
    pub(super) fn settle(&mut self) {
        let Attempt { first_step, steps, saved_steps, saving_ms, slow_ms, .. } = self.attempt;
        let mut times: BTreeMap<Cause, u64> = BTreeMap::new();
        for (cause, ms) in self.lengths(self.now_ms) {
            *times.entry(cause).or_default() += ms;
        }
        let productive = times.get(&Cause::Productive).copied().unwrap_or(0);
        let saving = saving_ms.min(productive);
        // Others also waited while a rank saved, and in the hangs that are told apart already.
        let told = |cause: Cause| times.get(&cause).copied().unwrap_or(0);
        let known = told(Cause::SlowRank) + told(Cause::Hang) + saving_ms;
        let slow = slow_ms.saturating_sub(known).min(productive - saving);
        let again = self.highest_step.saturating_sub(first_step).min(steps);
        let recompute = ((productive - saving - slow) * again).checked_div(steps).unwrap_or(0);
        let moved = [(Cause::Productive, productive - saving - slow - recompute)];
        times.extend(moved.into_iter().filter(|_| productive > 0));
        *times.entry(Cause::CheckpointStall).or_default() += saving;
        *times.entry(Cause::SlowRank).or_default() += slow;
        *times.entry(Cause::Recompute).or_default() += recompute;
        for (cause, ms) in times.into_iter().filter(|(_, ms)| *ms > 0) {
            *self.settled.entry(cause).or_default() += ms;
        }
        self.highest_step = self.highest_step.max(first_step + steps);
        if saved_steps > 0 {
            self.saved_step = first_step + saved_steps;
        }
        let last = self.spans.last().map(|(_, cause)| (self.now_ms, *cause));
        self.spans = last.into_iter().collect();
        self.attempt = Attempt { began_ms: self.now_ms, ..Attempt::default() };
    }
}

#[cfg(test)]
mod tests;
