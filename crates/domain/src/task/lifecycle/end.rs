//! How a task ended, as it was known then: a later launch of the same task changes what the task says of itself.

use serde::{Deserialize, Serialize};

use crate::{
    language::{FrontEnd, Text},
    phase::TaskPhase,
    task::{StopCause, Task},
};

/// The end of a task, for those who are told of it later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TaskEnd {
    /// What was found, why, and what to do.
    pub lines: Vec<Text>,
    /// The signature of the failure, such as `cuda_out_of_memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<u64>,
    pub attempts: u32,
    /// It was stopped in order to wait again: it gave way, or is restarted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits_again: bool,
}

impl TaskEnd {
    /// Of a task that has come to its last phase.
    pub fn of(task: &Task) -> Self {
        let verdict = task.verdict.as_ref().filter(|_| task.phase != TaskPhase::Succeeded);
        let diagnosis = verdict.and_then(|verdict| verdict.diagnosis.as_ref());
        let advice = verdict.and_then(|verdict| verdict.advice()).map(|advice| {
            let advice = advice.spelled(FrontEnd::Api);
            Text::new(format!("建议：{}", advice.zh), format!("What to do: {}", advice.en))
        });
        let headline = verdict.map(|verdict| verdict.headline());
        let why = diagnosis.map(|diagnosis| diagnosis.cause.clone());
        Self {
            lines: headline.into_iter().chain(why).chain(advice).collect(),
            cause: diagnosis.map(|diagnosis| diagnosis.id.clone().into_owned()),
            started_ms: task.started_ms,
            attempts: u32::try_from(task.attempts.len()).unwrap_or(u32::MAX),
            waits_again: task.waits_again(),
        }
    }
}

impl Task {
    /// Whether its stop is asked for in order that it waits again: it gives way, or is restarted. One that finished before it
    /// could give way has nothing left to do.
    pub(in crate::task) fn waits_again(&self) -> bool {
        let is_done = |cause: StopCause| cause == StopCause::GivesWay && self.phase == TaskPhase::Succeeded;
        self.stop.is_some_and(|stop| stop.then_restart && !is_done(stop.cause))
    }
}
