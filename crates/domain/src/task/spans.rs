//! How long something of a task has lasted, by a clock that cannot be set.
//!
//! What is stored is when it began, by the wall clock. Of what was seen to begin, and of what was there at a start of the
//! server, only the time since then counts: a wall clock that is set ahead or back meanwhile changes nothing.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::ids::TaskId;

/// By less than this a wall clock is put right, not set.
const SET_MS: i64 = 60_000;

/// Spans of tasks, each known by its task and by when it began.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    known: HashMap<(TaskId, u64), Span>,
    /// When each was last seen held back, by the clock that cannot be set.
    held_ms: HashMap<TaskId, u64>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    /// How long it had lasted when it was first seen.
    before_ms: u64,
    seen_ms: u64,
}

/// Both clocks as the server has seen them last; kept, so that a wall clock which was set while no server ran is noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockNote {
    /// The start of the machine since which the other clock goes, by the kernel's id for it.
    pub boot: String,
    pub wall_ms: u64,
    /// Of the clock that cannot be set, since the machine was started, time asleep included.
    pub boot_ms: u64,
}

impl ClockNote {
    /// By how much the wall clock was set since this note: ahead, or back where it is negative. Nothing is known of what happened
    /// to it while the machine was off.
    pub fn set_by(&self, now: &Self) -> Option<i64> {
        if self.boot.is_empty() || self.boot != now.boot {
            return None;
        }
        let expected_ms = self.wall_ms.saturating_add(now.boot_ms.saturating_sub(self.boot_ms));
        let by_ms = i64::try_from(i128::from(now.wall_ms) - i128::from(expected_ms)).ok()?;
        (by_ms.abs() >= SET_MS).then_some(by_ms)
    }
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub wall_ms: u64,
    /// Of the clock that cannot be set.
    pub monotonic_ms: u64,
}

impl Spans {
    /// How long that has lasted which began then; nothing where it has not begun.
    pub fn lasted_ms(&mut self, task: &TaskId, began_ms: Option<u64>, now: Moment) -> u64 {
        let Some(began_ms) = began_ms else { return 0 };
        let first = Span { before_ms: now.wall_ms.saturating_sub(began_ms), seen_ms: now.monotonic_ms };
        let span = self.known.entry((task.clone(), began_ms)).or_insert(first);
        span.before_ms.saturating_add(now.monotonic_ms.saturating_sub(span.seen_ms))
    }

    /// Notes that a task may not go on for now.
    pub fn held_back(&mut self, task: &TaskId, now: Moment) {
        self.held_ms.insert(task.clone(), now.monotonic_ms);
    }

    /// How much of what has lasted so long came after the task was last held back. Whether it was before the clock began is not
    /// known, and its agents have heard of nobody meanwhile: only what came after counts.
    pub fn unheld_ms(&self, task: &TaskId, lasted_ms: u64, now: Moment) -> u64 {
        let held_ms = self.held_ms.get(task).copied().unwrap_or(0);
        lasted_ms.min(now.monotonic_ms.saturating_sub(held_ms))
    }

    /// Forgets all but these tasks.
    pub fn keep(&mut self, is_kept: impl Fn(&TaskId) -> bool) {
        self.known.retain(|(task, _), _| is_kept(task));
        self.held_ms.retain(|task, _| is_kept(task));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_makes_nothing_longer_or_shorter() {
        let mut spans = Spans::default();
        let task = TaskId::from("task-1");
        let mut lasted =
            |began_ms, wall_ms, monotonic_ms| spans.lasted_ms(&task, Some(began_ms), Moment { wall_ms, monotonic_ms });
        assert_eq!(lasted(1_000, 1_500, 70), 500);
        assert_eq!(lasted(1_000, 9_999_999, 80), 510, "set ahead");
        assert_eq!(lasted(1_000, 0, 90), 520, "set back");
        assert_eq!(lasted(9_000_000, 9_000_100, 90), 100, "another launch");
        assert_eq!(spans.lasted_ms(&task, None, Moment { wall_ms: 5, monotonic_ms: 5 }), 0);
        spans.keep(|_| false);
        assert_eq!(spans.lasted_ms(&task, Some(1_000), Moment { wall_ms: 1_100, monotonic_ms: 99 }), 100);
    }

    #[test]
    fn a_wall_clock_that_was_set_is_noticed_while_the_machine_is_up() {
        let note = |boot: &str, wall_ms, boot_ms| ClockNote { boot: boot.to_owned(), wall_ms, boot_ms };
        let last = note("b1", 1_000_000, 500);
        let hour = 3_600_000;
        for (now, expected) in [
            (note("b1", 1_000_000 + hour, 500 + hour), None),
            (note("b1", 1_000_000 + hour + 59_000, 500 + hour), None),
            (note("b1", 1_000_000 + 4 * hour, 500 + hour), Some(3 * 3_600_000)),
            (note("b1", 900_000, 500), Some(-100_000)),
            (note("b2", 1_000_000 + 4 * hour, 100), None),
        ] {
            assert_eq!(last.set_by(&now), expected, "{now:?}");
        }
        assert_eq!(note("", 0, 0).set_by(&note("", 9 * hour, 0)), None, "the kernel does not say");
    }

    #[test]
    fn time_in_which_a_task_was_held_back_is_not_its_own() {
        let mut spans = Spans::default();
        let task = TaskId::from("task-1");
        let at = |monotonic_ms| Moment { wall_ms: 0, monotonic_ms };
        assert_eq!(spans.unheld_ms(&task, 40_000, at(40_000)), 40_000);
        spans.held_back(&task, at(39_500));
        assert_eq!(spans.unheld_ms(&task, 40_000, at(40_000)), 500, "it was checked for 39.5 s");
        assert_eq!(spans.unheld_ms(&task, 200, at(99_000)), 200, "another start after that");
        spans.keep(|_| false);
        assert_eq!(spans.unheld_ms(&task, 40_000, at(40_000)), 40_000);
        assert_eq!(spans.unheld_ms(&task, 1_300_000, at(700)), 700, "the server was away until now");
    }
}
