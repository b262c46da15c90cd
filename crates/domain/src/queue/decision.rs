//! What the queue decides.

use super::choice::Choice;
use super::moment::written;
use super::running::TaskName;
use crate::{
    ids::{TaskId, WorkerId},
    language::Text,
};

/// What is to be done now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Start(Start),
    Preempt(Preempt),
}

/// A task has all its workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    pub task: TaskId,
    /// By environment; of a need that names its workers in no particular order.
    pub workers: Vec<WorkerId>,
    /// Why these, where the queue has chosen them.
    pub choice: Option<Choice>,
    /// It uses workers that are kept for this task, and ends before they are needed.
    pub before: Option<TaskName>,
}

/// A task gives its workers to one of higher priority: it is stopped by its ladder, and gets a place at the head of its
/// priority ([`Standing::Returned`](super::Standing::Returned)) when it is inserted again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preempt {
    pub victim: TaskId,
    pub in_favour_of: TaskName,
    /// What is left then is ended.
    pub by_ms: u64,
}

impl Start {
    /// What is to be said about it, where something is.
    pub fn text(&self) -> Option<Text> {
        let before = self.before.as_ref().map(|before| {
            Text::new(
                format!("在留给 {before} 的 Worker 上先运行，并在其需要之前结束"),
                format!("runs first on workers that are kept for {before}, and ends before they are needed"),
            )
        });
        let choice = self.choice.as_ref().map(Choice::text);
        match (choice, before) {
            (Some(choice), Some(before)) => Some(choice.followed_by(&before)),
            (choice, before) => choice.or(before),
        }
    }
}

impl Preempt {
    pub fn text(&self) -> Text {
        let (task, by) = (&self.in_favour_of, written(self.by_ms));
        Text::new(
            format!(
                "让位给优先级更高的 {task}：收到停止信号（脚本可在此时保存），最迟 {by} 结束，之后排在同优先级任务的最前面"
            ),
            format!(
                "gives its workers to {task}, which has a higher priority: it is asked to stop, when a script may save, ends \
                 at {by} at the latest, and is then first among those of its priority"
            ),
        )
    }
}
