//! An event that does not fit a phase.

use std::fmt::Debug;

use thiserror::Error;

use super::{AttemptEvent, AttemptPhase, TaskEvent, TaskPhase};
use crate::language::Text;

/// What was refused: a bug in the caller, or news that came too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{event:?} does not fit the phase {phase:?}")]
pub struct IllegalTransition<P: Debug, E: Debug> {
    pub phase: P,
    pub event: E,
}

impl IllegalTransition<TaskPhase, TaskEvent> {
    /// What a person reads who asks for something that the task cannot do now.
    pub fn text(&self) -> Text {
        refused("任务", "task", &self.phase.text())
    }
}

impl IllegalTransition<AttemptPhase, AttemptEvent> {
    /// The same for an attempt.
    pub fn text(&self) -> Text {
        refused("本次启动", "attempt", &self.phase.text())
    }
}

fn refused(zh: &str, en: &str, phase: &Text) -> Text {
    Text::new(
        format!("{zh}当前为“{}”，不能执行此操作", phase.zh),
        format!("the {en} is {}; this cannot be done now", phase.en),
    )
}
