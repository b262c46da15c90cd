//! What is let go of: given how old and how large things are and whether something still refers to them.
//!
//! Ages are judged by a [`BelievedClock`], never by the wall clock alone: a clock that jumps ahead by years makes nothing
//! old at once.

use crate::disk::{DiskReserve, DiskSpace};

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// How long things are kept, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Logs of a task that is over.
    pub logs_ms: u64,
    /// Code that no task refers to.
    pub snapshots_ms: u64,
    pub events_ms: u64,
    pub most_events: u64,
    /// Answers for a repeated request.
    pub answers_ms: u64,
    /// Files that were left half written.
    pub leftovers_ms: u64,
    /// Whatever its size, what is younger than this stays.
    pub grace_ms: u64,
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        Self {
            logs_ms: 90 * DAY_MS,
            snapshots_ms: 7 * DAY_MS,
            events_ms: 90 * DAY_MS,
            most_events: 2_000_000,
            answers_ms: DAY_MS,
            leftovers_ms: DAY_MS,
            grace_ms: HOUR_MS,
        }
    }
}

/// How the task of some logs stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOwner {
    /// There is none; it has been so since then. What a deleted task leaves goes with it, so that this is what a crash
    /// has left, or belongs to a task that a restored database does not know.
    Gone {
        since_ms: u64,
    },
    Over {
        ended_ms: u64,
    },
    Live,
}

impl LogOwner {
    /// Whether logs whose owner was found like this may go now that it stands like that: what is to go is decided for many tasks
    /// at once, and while it is carried out somebody may restart one, or it may have ended anew.
    pub fn is_still(self, now: Option<Self>) -> bool {
        match self {
            Self::Gone { .. } => now.is_none(),
            Self::Over { .. } => now == Some(self),
            Self::Live => false,
        }
    }
}

/// The logs of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptLogs {
    pub bytes: u64,
    pub owner: LogOwner,
}

/// Why something goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Nothing refers to it.
    Unused,
    TooOld,
    /// Room is needed, and it is the oldest.
    TooMuch,
}

/// How many bytes of logs shall go: beyond nine tenths of the budget down to eight, and where the disk is low until it has
/// three reserves.
pub fn excess(bytes: u64, budget: u64, space: DiskSpace, reserve: DiskReserve) -> u64 {
    let over_budget = if bytes > budget / 10 * 9 { bytes.saturating_sub(budget / 10 * 8) } else { 0 };
    let is_low = space.free < reserve.0.saturating_mul(2);
    let over_disk = if is_low { reserve.0.saturating_mul(3).saturating_sub(space.free) } else { 0 };
    over_budget.max(over_disk)
}

/// Which logs go, by their place in the list. Those of a task that lives never do.
pub fn logs_to_drop(kept: &[KeptLogs], excess: u64, policy: &RetentionPolicy, now_ms: u64) -> Vec<(usize, Expiry)> {
    let mut dropped = Vec::new();
    let mut over: Vec<(u64, usize)> = Vec::new();
    let mut freed = 0_u64;
    for (index, logs) in kept.iter().enumerate() {
        match logs.owner {
            LogOwner::Live => {}
            LogOwner::Gone { since_ms } if now_ms.saturating_sub(since_ms) > policy.leftovers_ms => {
                dropped.push((index, Expiry::Unused));
            }
            LogOwner::Gone { .. } => {}
            LogOwner::Over { ended_ms } if now_ms.saturating_sub(ended_ms) > policy.logs_ms => {
                dropped.push((index, Expiry::TooOld));
            }
            LogOwner::Over { ended_ms } => over.push((ended_ms, index)),
        }
    }
    freed += dropped.iter().map(|(index, _)| kept[*index].bytes).sum::<u64>();
    over.sort_unstable();
    for (ended_ms, index) in over {
        if freed >= excess {
            break;
        }
        if kept[index].bytes > 0 && now_ms.saturating_sub(ended_ms) > policy.grace_ms {
            freed += kept[index].bytes;
            dropped.push((index, Expiry::TooMuch));
        }
    }
    dropped
}

/// Whether a piece of code that was sent goes.
pub fn snapshot_goes(created_ms: u64, is_used: bool, policy: &RetentionPolicy, now_ms: u64) -> bool {
    !is_used && now_ms.saturating_sub(created_ms) > policy.snapshots_ms
}

/// The time by which ages are judged. It never runs more than [`FASTER`] times as fast as a clock that cannot be set, and at
/// a start it goes on from where it was, a little further where the wall clock says so: a wall clock that is set ahead makes
/// things old slowly, and a person can set it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BelievedClock {
    pub believed_ms: u64,
    monotonic_ms: u64,
}

/// How much faster than time itself the believed clock catches up with the wall clock.
pub const FASTER: u64 = 10;
/// How far it may go ahead at a start: a server that was off for longer is believed by and by.
const AT_START_MS: u64 = 30 * DAY_MS;

impl BelievedClock {
    /// At a start, with what was believed last, if anything was.
    pub fn begin(last: Option<u64>, wall_ms: u64, monotonic_ms: u64) -> Self {
        let believed_ms = last.map_or(wall_ms, |last| wall_ms.min(last.saturating_add(AT_START_MS)));
        Self { believed_ms, monotonic_ms }
    }

    /// Goes on, and says what time it is. A wall clock that was set back is believed at once: it makes nothing older.
    pub fn advance(&mut self, wall_ms: u64, monotonic_ms: u64) -> u64 {
        let passed = monotonic_ms.saturating_sub(self.monotonic_ms);
        self.monotonic_ms = monotonic_ms;
        self.believed_ms = wall_ms.min(self.believed_ms.saturating_add(passed.saturating_mul(FASTER)));
        self.believed_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000 * DAY_MS;

    fn over(bytes: u64, days: u64) -> KeptLogs {
        KeptLogs { bytes, owner: LogOwner::Over { ended_ms: NOW - days * DAY_MS } }
    }

    #[test]
    fn logs_go_by_owner_age_and_size_and_never_while_the_task_lives() {
        let policy = RetentionPolicy::default();
        let live = KeptLogs { bytes: 1_000, owner: LogOwner::Live };
        let gone = KeptLogs { bytes: 10, owner: LogOwner::Gone { since_ms: NOW - 2 * DAY_MS } };
        let just_gone = KeptLogs { bytes: 10, owner: LogOwner::Gone { since_ms: NOW } };
        let young = KeptLogs { bytes: 50, owner: LogOwner::Over { ended_ms: NOW - HOUR_MS / 2 } };
        let kept = [live, over(10, 5), over(10, 9), gone, over(10, 91), young, just_gone];
        let old = (4, Expiry::TooOld);
        assert_eq!(logs_to_drop(&kept, 0, &policy, NOW), [(3, Expiry::Unused), old]);
        let by_size = logs_to_drop(&kept, 25, &policy, NOW);
        assert_eq!(by_size, [(3, Expiry::Unused), old, (2, Expiry::TooMuch)], "the oldest first");
        let all = logs_to_drop(&kept, 9_999, &policy, NOW);
        let places: Vec<usize> = all.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [3, 4, 2, 1], "what lives or has just ended stays");
    }

    #[test]
    fn logs_go_only_while_their_task_is_as_it_was_found() {
        let over = |ended_ms| LogOwner::Over { ended_ms };
        let gone = LogOwner::Gone { since_ms: 1 };
        for (found, now, goes) in [
            (over(5), Some(over(5)), true),
            (over(5), Some(LogOwner::Live), false),
            (over(5), Some(over(6)), false),
            (over(5), None, false),
            (gone, None, true),
            (gone, Some(over(5)), false),
            (LogOwner::Live, Some(LogOwner::Live), false),
        ] {
            assert_eq!(found.is_still(now), goes, "{found:?} {now:?}");
        }
    }

    #[test]
    fn there_is_an_excess_near_the_budget_and_on_a_low_disk() {
        let (reserve, roomy) = (DiskReserve(100), DiskSpace { free: 10_000, size: 20_000 });
        assert_eq!(excess(900, 1_000, roomy, reserve), 0);
        assert_eq!(excess(901, 1_000, roomy, reserve), 101);
        let low = DiskSpace { free: 150, size: 20_000 };
        assert_eq!(excess(0, 1_000, low, reserve), 150);
    }

    #[test]
    fn code_stays_as_long_as_a_task_refers_to_it() {
        let policy = RetentionPolicy::default();
        for (days, is_used, goes) in [(8, true, false), (8, false, true), (6, false, false), (999, true, false)] {
            assert_eq!(snapshot_goes(NOW - days * DAY_MS, is_used, &policy, NOW), goes, "{days} {is_used}");
        }
    }

    #[test]
    fn a_clock_that_jumps_ahead_by_years_makes_nothing_old_at_once() {
        let mut clock = BelievedClock::begin(Some(NOW), NOW, 0);
        assert_eq!(clock.advance(NOW + HOUR_MS, HOUR_MS), NOW + HOUR_MS);
        let jumped = NOW + 3_650 * DAY_MS;
        assert_eq!(clock.advance(jumped, 2 * HOUR_MS), NOW + 11 * HOUR_MS);
        assert_eq!(clock.advance(NOW + 3 * HOUR_MS, 3 * HOUR_MS), NOW + 3 * HOUR_MS, "set back, all is as before");
        let restarted = BelievedClock::begin(Some(NOW), jumped, 0);
        assert_eq!(restarted.believed_ms, NOW + 30 * DAY_MS, "nor at a start");
        assert_eq!(BelievedClock::begin(Some(NOW), NOW - DAY_MS, 0).believed_ms, NOW - DAY_MS);
        assert_eq!(BelievedClock::begin(None, NOW, 0).believed_ms, NOW);
    }
}
