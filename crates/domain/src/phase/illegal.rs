//! An event that does not fit a phase.

use std::fmt::Debug;

use thiserror::Error;

use super::{AttemptEvent, AttemptPhase, TaskEvent, TaskPhase};
use crate::language::{Explained, Text};

/// What was refused: a bug in the caller, or news that came too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{event:?} does not fit the phase {phase:?}")]
pub struct IllegalTransition<P: Debug, E: Debug> {
    pub phase: P,
    pub event: E,
}

impl Explained for IllegalTransition<TaskPhase, TaskEvent> {
    fn id(&self) -> &'static str {
        "task_phase"
    }

    fn text(&self) -> Text {
        refused("任务", "task", &self.phase.text())
    }
}

impl Explained for IllegalTransition<AttemptPhase, AttemptEvent> {
    fn id(&self) -> &'static str {
        "attempt_phase"
    }

    fn text(&self) -> Text {
        refused("本次启动", "attempt", &self.phase.text())
    }
}

fn refused(zh: &str, en: &str, phase: &Text) -> Text {
    Text::new(
        format!("{zh}当前为“{}”，不能执行此操作", phase.zh),
        format!("the {en} is {}; this cannot be done now", phase.en),
    )
}
