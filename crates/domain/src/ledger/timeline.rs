//! The events of a journal as spans of time.

use std::collections::BTreeMap;

use super::{Account, Cause, CauseTime};
use crate::event::{Outcome, Record, RunEvent};
use crate::pulse::Phase;

/// Takes the events of a run in their order. Times that go back, as a clock that was set does, count as no time.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// When each cause began; it lasts until the next begins. Starts are never equal and never fall.
    spans: Vec<(u64, Cause)>,
    now_ms: u64,
    stage: Stage,
    attempt: Attempt,
    /// Productive time that was something else, by what the ranks had measured.
    moved: BTreeMap<Cause, u64>,
    /// Optimizer steps of the whole run: how far it came, and where the newest checkpoint is.
    highest_step: u64,
    saved_step: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// No ranks run: before the first attempt, or between two.
    #[default]
    Gap,
    Running,
    Failing,
    Ending,
}

/// What is known of the attempt that runs, or of the gap before it.
#[derive(Clone, Copy, Debug, Default)]
struct Attempt {
    began_ms: u64,
    ranks_began_ms: Option<u64>,
    started: usize,
    exited: usize,
    has_phases: bool,
    has_stepped: bool,
    first_step: u64,
    steps: u64,
    saved_steps: u64,
    saving_ms: u64,
}

impl Ledger {
    /// A task is created before its run starts, and waits.
    pub fn queued_since(created_ms: u64) -> Self {
        Self { spans: vec![(created_ms, Cause::Queue)], now_ms: created_ms, ..Self::default() }
    }

    pub fn take(&mut self, record: &Record) {
        self.now_ms = self.now_ms.max(record.time_ms);
        let now = self.now_ms;
        match &record.event {
            RunEvent::RunStarted { .. } => self.begin_gap(Cause::Spawn),
            RunEvent::Waiting { .. } | RunEvent::NodeJoined { .. } if self.stage == Stage::Gap => {
                self.switch(self.attempt.began_ms, Cause::NodeWait);
            }
            RunEvent::NodeLost { .. } if self.stage == Stage::Running => self.fails(),
            RunEvent::AttemptStarted { resume, .. } => {
                let first_step = if *resume { self.saved_step } else { 0 };
                self.attempt = Attempt { began_ms: now, first_step, ..Attempt::default() };
                self.stage = Stage::Running;
                self.switch(now, Cause::Spawn);
            }
            RunEvent::RankStarted { .. } => self.rank_started(),
            RunEvent::RanksPhase { phase, since_ms, .. } if self.stage == Stage::Running => {
                self.phase_began(*phase, *since_ms);
            }
            RunEvent::HangSuspected { since_ms, .. } | RunEvent::HangVerdict { since_ms, .. }
                if self.stage == Stage::Running =>
            {
                self.switch(*since_ms, Cause::Hang);
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
            RunEvent::AttemptMeasured { steps, saved_steps, saving_ms, .. } => {
                self.attempt.steps = *steps;
                self.attempt.saved_steps = *saved_steps;
                self.attempt.saving_ms = *saving_ms;
            }
            RunEvent::AttemptFailed { .. } => {
                self.close();
                self.begin_gap(Cause::Spawn);
            }
            RunEvent::RestartScheduled { after_ms, .. } if *after_ms > 0 => {
                self.begin_gap(Cause::BackOff);
                self.attempt.began_ms += after_ms;
            }
            RunEvent::RunEnded { outcome, .. } => {
                if *outcome == Outcome::Succeeded && !self.attempt.has_stepped {
                    self.count_as_productive();
                }
                self.close();
            }
            _ => {}
        }
    }

    /// The time up to now, or up to the last event if that is later.
    pub fn account(&self, now_ms: u64) -> Account {
        let end = self.now_ms.max(now_ms);
        let mut times: BTreeMap<Cause, u64> = BTreeMap::new();
        for (cause, ms) in self.lengths(0, end) {
            *times.entry(cause).or_default() += ms;
        }
        for (cause, ms) in &self.moved {
            let productive = times.entry(Cause::Productive).or_default();
            let ms = (*ms).min(*productive);
            *productive -= ms;
            *times.entry(*cause).or_default() += ms;
        }
        Account::new(times.into_iter().map(|(cause, ms)| CauseTime { cause, ms }).collect())
    }

    /// How long each span lasted, from this time to that.
    fn lengths(&self, from: u64, to: u64) -> impl Iterator<Item = (Cause, u64)> {
        let ends = self.spans.iter().skip(1).map(|(start, _)| *start).chain([to]);
        self.spans
            .iter()
            .zip(ends)
            .map(move |((start, cause), end)| (*cause, end.min(to).saturating_sub((*start).max(from))))
    }

    /// From then on it was this; what was noted since is replaced. Nothing is changed before the attempt or gap began.
    fn switch(&mut self, at_ms: u64, cause: Cause) {
        let first = self.spans.first().map_or(self.now_ms, |(start, _)| *start);
        let at = at_ms.max(self.attempt.began_ms).min(self.now_ms).max(first);
        while self.spans.last().is_some_and(|(start, _)| *start >= at) {
            self.spans.pop();
        }
        if self.spans.last().is_none_or(|(_, last)| *last != cause) {
            self.spans.push((at, cause));
        }
    }

    fn begin_gap(&mut self, cause: Cause) {
        self.stage = Stage::Gap;
        self.attempt = Attempt { began_ms: self.now_ms, ..Attempt::default() };
        self.switch(self.now_ms, cause);
    }

    fn rank_started(&mut self) {
        self.attempt.started += 1;
        if self.stage == Stage::Running && self.attempt.ranks_began_ms.is_none() {
            self.attempt.ranks_began_ms = Some(self.now_ms);
            // Until a phase says otherwise.
            self.switch(self.now_ms, Cause::Productive);
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

    fn hang_passed(&mut self) {
        if let Some((_, cause)) = self.spans.last_mut().filter(|(_, cause)| *cause == Cause::Hang) {
            *cause = Cause::SlowRank;
        }
        self.switch(self.now_ms, Cause::Productive);
    }

    fn fails(&mut self) {
        self.stage = Stage::Failing;
        self.switch(self.now_ms, Cause::Detect);
    }

    fn ends(&mut self) {
        self.stage = Stage::Ending;
        self.switch(self.now_ms, Cause::Stop);
    }

    /// A run that ended well without an optimizer has done its work where others make their first step.
    fn count_as_productive(&mut self) {
        let began = self.attempt.began_ms;
        for (start, cause) in &mut self.spans {
            if *start >= began && matches!(cause, Cause::FirstStep | Cause::Load) {
                *cause = Cause::Productive;
            }
        }
    }

    /// Takes from the attempt's productive time what its ranks have spent otherwise.
    fn close(&mut self) {
        let Attempt { began_ms, first_step, steps, saved_steps, saving_ms, .. } = self.attempt;
        let in_attempt = self.lengths(began_ms, self.now_ms).filter(|(cause, _)| *cause == Cause::Productive);
        let productive: u64 = in_attempt.map(|(_, ms)| ms).sum();
        let saving = saving_ms.min(productive);
        *self.moved.entry(Cause::CheckpointStall).or_default() += saving;
        let again = self.highest_step.saturating_sub(first_step).min(steps);
        if let Some(ms) = ((productive - saving) * again).checked_div(steps) {
            *self.moved.entry(Cause::Recompute).or_default() += ms;
        }
        self.highest_step = self.highest_step.max(first_step + steps);
        if saved_steps > 0 {
            self.saved_step = first_step + saved_steps;
        }
        self.attempt = Attempt { began_ms: self.now_ms, ..Attempt::default() };
    }
}

#[cfg(test)]
mod tests;
