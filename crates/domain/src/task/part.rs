//! A rank or an attempt that somebody names, and that a task does not have.

use super::Task;
use crate::language::{Explained, Hint, Text};

/// What the task does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingPart {
    /// It has had `newest` attempts so far.
    Attempt { task: String, attempt: u32, newest: u32 },
    /// It has `ranks` of them.
    Rank { task: String, rank: u32, ranks: u32 },
}

impl Task {
    /// Refuses what the task does not have. What may still come is waited for: attempts of a task that is not over, and ranks
    /// where nobody knows yet how many there are.
    pub fn check_part(&self, attempt: Option<u32>, rank: Option<u32>) -> Result<(), MissingPart> {
        let (newest, ranks) = (self.newest_attempt(), self.most_ranks());
        let is_over = self.phase.is_final() && !self.waits_again();
        let most = if is_over { newest } else { self.most_attempts() };
        if let Some(attempt) = attempt.filter(|attempt| !(1..=most).contains(attempt)) {
            return Err(MissingPart::Attempt { task: self.id.to_string(), attempt, newest });
        }
        match rank.filter(|rank| ranks > 0 && *rank >= ranks) {
            Some(rank) => Err(MissingPart::Rank { task: self.id.to_string(), rank, ranks }),
            None => Ok(()),
        }
    }
}

/// An attempt that has not begun, of whoever asks for what it has brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotLaunched {
    task: String,
    /// The one that was named.
    attempt: Option<u32>,
    newest: u32,
    /// Whether it will never begin.
    is_over: bool,
}

impl NotLaunched {
    /// Of a task that has had `newest` attempts so far; none where the one that is meant has begun.
    pub fn of(task: &str, attempt: Option<u32>, newest: u32, is_over: bool) -> Option<Self> {
        let is_meant = attempt.unwrap_or(1) > newest;
        is_meant.then(|| Self { task: task.to_owned(), attempt, newest, is_over })
    }

    pub fn text(&self) -> Text {
        let Self { task, attempt, newest, is_over } = self;
        match attempt.filter(|_| *newest > 0) {
            Some(attempt) => Text::new(
                format!("{task} 的第 {attempt} 次启动还没有开始"),
                format!("attempt {attempt} of {task} has not begun"),
            ),
            None if *is_over => Text::new(format!("{task} 从未启动过"), format!("{task} was never launched")),
            None => Text::new(format!("{task} 还没有启动过"), format!("{task} has not been launched yet")),
        }
    }

    pub fn hint(&self) -> Hint {
        let Self { task, newest, is_over, .. } = self;
        match (newest, is_over) {
            (0, false) => Hint::new("看它在等待什么", "see what it waits for").on_command_line(
                format!("fermi task explain {task} 说明它在等待什么"),
                format!("fermi task explain {task} says what it waits for"),
            ),
            (0, true) => Hint::new("看它为何结束", "see why it ended").on_command_line(
                format!("fermi task explain {task} 说明它为何结束"),
                format!("fermi task explain {task} says why it ended"),
            ),
            (newest, _) => attempts_so_far(*newest),
        }
    }
}

fn attempts_so_far(newest: u32) -> Hint {
    match newest {
        0 => Hint::new("它还没有启动过", "it has not been launched yet"),
        1 => Hint::new("它只有第 1 次启动", "attempt 1 is its only one"),
        newest => Hint::new(format!("它有第 1 至 {newest} 次启动"), format!("it has attempts 1 to {newest}")),
    }
}

impl Explained for MissingPart {
    fn id(&self) -> &'static str {
        match self {
            Self::Attempt { .. } => "attempt_unknown",
            Self::Rank { .. } => "rank_unknown",
        }
    }

    fn field(&self) -> Option<String> {
        Some(match self {
            Self::Attempt { .. } => "attempt".to_owned(),
            Self::Rank { .. } => "rank".to_owned(),
        })
    }

    fn text(&self) -> Text {
        match self {
            Self::Attempt { task, attempt, .. } => {
                Text::new(format!("{task} 没有第 {attempt} 次启动"), format!("{task} has no attempt {attempt}"))
            }
            Self::Rank { task, rank, .. } => {
                Text::new(format!("{task} 没有 rank {rank}"), format!("{task} has no rank {rank}"))
            }
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match *self {
            Self::Attempt { newest, .. } => attempts_so_far(newest),
            Self::Rank { ranks: 1, .. } => Hint::new("它只有 rank 0", "rank 0 is its only one"),
            Self::Rank { ranks, .. } => {
                let last = ranks - 1;
                Hint::new(format!("它有 rank 0 至 {last}"), format!("it has ranks 0 to {last}"))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AttemptNumber, Generation, Rank};
    use crate::phase::{AttemptPhase, TaskPhase};
    use crate::task::{AttemptRecord, RankRecord};

    fn task(phase: TaskPhase, attempts: u32, ranks: u32) -> Task {
        let spec = serde_json::json!({"name": "t", "work": {"kind": "builtin"},
            "distributed": {"enabled": false, "nodeIds": []}, "policies": {"restart": {"maxRestarts": 0}}});
        let mut task = Task::new("task-7".into(), serde_json::from_value(spec).unwrap(), 0);
        task.phase = phase;
        let rank =
            |rank| RankRecord { rank: Rank(rank), worker: None, pid: 1, started_ms: 0, ended_ms: None, exit: None };
        let attempt = |number| AttemptRecord {
            number: AttemptNumber::new(number).unwrap(),
            generation: Generation(1),
            phase: AttemptPhase::Failed,
            started_ms: 0,
            ended_ms: None,
            resumed: false,
            ranks: (0..ranks).map(rank).collect(),
            verdict: None,
        };
        task.attempts = (1..=attempts).map(attempt).collect();
        task
    }

    fn told(task: &Task, attempt: Option<u32>, rank: Option<u32>) -> Option<(String, String)> {
        let missing = task.check_part(attempt, rank).err()?;
        let hint = missing.hint().unwrap().spelled(crate::language::FrontEnd::Api);
        Some((missing.text().en.into_owned(), hint.en.into_owned()))
    }

    #[test]
    fn who_names_what_a_task_does_not_have_hears_what_it_has() {
        let pair = |text: &str, hint: &str| Some((text.to_owned(), hint.to_owned()));
        let over = task(TaskPhase::Failed, 2, 8);
        assert_eq!((told(&over, Some(2), Some(7)), told(&over, None, None)), (None, None));
        assert_eq!(told(&over, Some(3), None), pair("task-7 has no attempt 3", "it has attempts 1 to 2"));
        assert_eq!(told(&over, None, Some(8)), pair("task-7 has no rank 8", "it has ranks 0 to 7"));
        let lone = task(TaskPhase::Succeeded, 1, 1);
        assert_eq!(told(&lone, Some(99), None), pair("task-7 has no attempt 99", "attempt 1 is its only one"));
        assert_eq!(told(&lone, None, Some(99)), pair("task-7 has no rank 99", "rank 0 is its only one"));
        let never = task(TaskPhase::Stopped, 0, 0);
        assert_eq!(told(&never, Some(1), None), pair("task-7 has no attempt 1", "it has not been launched yet"));
    }

    #[test]
    fn what_may_still_come_is_no_mistake() {
        let queued = task(TaskPhase::Queued, 0, 0);
        assert_eq!((told(&queued, Some(1), Some(99)), told(&queued, Some(2), None).is_some()), (None, true));
        let running = task(TaskPhase::Running, 1, 2);
        assert_eq!((told(&running, Some(2), Some(1)), told(&running, None, Some(2)).is_some()), (None, true));
    }

    #[test]
    fn an_attempt_that_has_not_begun_is_told_with_what_there_is() {
        let told = |attempt, newest, is_over| {
            let told = NotLaunched::of("task-7", attempt, newest, is_over)?;
            let hint = told.hint().spelled(crate::language::FrontEnd::CommandLine);
            Some((told.text().en.into_owned(), hint.en.into_owned()))
        };
        let pair = |text: &str, hint: &str| Some((text.to_owned(), hint.to_owned()));
        let waits = "fermi task explain task-7 says what it waits for";
        assert_eq!(told(None, 0, false), pair("task-7 has not been launched yet", waits));
        assert_eq!(told(Some(1), 0, false), pair("task-7 has not been launched yet", waits));
        let ended = "fermi task explain task-7 says why it ended";
        assert_eq!(told(None, 0, true), pair("task-7 was never launched", ended));
        assert_eq!(told(Some(2), 1, false), pair("attempt 2 of task-7 has not begun", "attempt 1 is its only one"));
        assert_eq!((told(None, 1, false), told(Some(2), 2, true)), (None, None));
    }
}
