//! The phases of a task.

use serde::{Deserialize, Serialize};

use super::IllegalTransition;
use crate::language::Text;

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TaskPhase {
    /// Stored, and not yet looked at by placement. Every task begins here, and one that is started again does.
    Initializing,
    /// Waits for its workers to be free.
    Queued,
    /// An attempt is coming up.
    Starting,
    /// All ranks are up.
    Running,
    /// An attempt failed and another one was granted; the old one's supervisors must be gone first.
    Restarting,
    /// Somebody asked for the end; ranks are still there.
    Stopping,
    Succeeded,
    Failed,
    Stopped,
}

/// What happens to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskEvent {
    /// Everything that it needs is ready.
    Prepared,
    /// It holds all its workers, and an attempt begins.
    WorkersLeased,
    /// The workers for the next attempt are not to be had now.
    WorkersLost,
    RanksUp,
    /// The attempt failed, and the restart policy allows another.
    RestartGranted,
    /// Every rank returned 0.
    Finished,
    /// It failed, and there will be no further attempt.
    GaveUp,
    StopRequested,
    /// No process of it is left.
    RanksGone,
    /// Somebody wants it to run again after it was over.
    RestartAsked,
}

impl TaskPhase {
    /// In the order in which they are passed; for tables.
    pub const ALL: [Self; 9] = [
        Self::Initializing,
        Self::Queued,
        Self::Starting,
        Self::Running,
        Self::Restarting,
        Self::Stopping,
        Self::Succeeded,
        Self::Failed,
        Self::Stopped,
    ];

    /// Whether something of it runs on machines, or is about to.
    pub fn has_runs(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Restarting | Self::Stopping)
    }

    /// Whether ranks of it are to be started, as far as anything is known.
    pub fn waits_for_launch(self) -> bool {
        matches!(self, Self::Initializing | Self::Queued | Self::Starting | Self::Restarting)
    }

    /// Whether it is over: nothing happens to it unless somebody wants it to run again.
    pub fn is_final(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Stopped => true,
            Self::Initializing | Self::Queued | Self::Starting | Self::Running | Self::Restarting | Self::Stopping => {
                false
            }
        }
    }

    /// The only way from one phase to another.
    pub fn next(self, event: TaskEvent) -> Result<Self, IllegalTransition<Self, TaskEvent>> {
        use TaskEvent as E;
        match (self, event) {
            (Self::Initializing, E::Prepared) => Ok(Self::Queued),
            (Self::Queued | Self::Restarting, E::WorkersLeased) => Ok(Self::Starting),
            (Self::Restarting, E::WorkersLost) => Ok(Self::Initializing),
            (Self::Starting, E::RanksUp) => Ok(Self::Running),
            (Self::Starting | Self::Running, E::RestartGranted) => Ok(Self::Restarting),
            // A script may end before the last rank was seen to come up; and one that was asked to stop may have
            // finished all the same.
            // And what was taken for lost may turn out to have finished.
            (Self::Starting | Self::Running | Self::Restarting | Self::Stopping, E::Finished) => Ok(Self::Succeeded),
            (Self::Initializing | Self::Queued | Self::Starting | Self::Running | Self::Restarting, E::GaveUp) => {
                Ok(Self::Failed)
            }
            // Nothing runs yet, so there is nothing to wait for.
            (Self::Initializing | Self::Queued, E::StopRequested) => Ok(Self::Stopped),
            // Asking twice is no mistake.
            (Self::Starting | Self::Running | Self::Restarting | Self::Stopping, E::StopRequested) => {
                Ok(Self::Stopping)
            }
            (Self::Stopping, E::RanksGone) => Ok(Self::Stopped),
            (Self::Succeeded | Self::Failed | Self::Stopped, E::RestartAsked) => Ok(Self::Initializing),
            (phase, event) => Err(IllegalTransition { phase, event }),
        }
    }

    /// The word that pages show.
    pub fn text(self) -> Text {
        match self {
            Self::Initializing => Text::new("初始化中", "initializing"),
            Self::Queued => Text::new("排队中", "queued"),
            Self::Starting => Text::new("启动中", "starting"),
            Self::Running => Text::new("运行中", "running"),
            Self::Restarting => Text::new("重启中", "restarting"),
            Self::Stopping => Text::new("停止中", "stopping"),
            Self::Succeeded => Text::new("已完成", "succeeded"),
            Self::Failed => Text::new("失败", "failed"),
            Self::Stopped => Text::new("已停止", "stopped"),
        }
    }

    /// The English sentence of a task that is in it.
    pub fn in_english(self) -> String {
        let verb = if matches!(self, Self::Succeeded | Self::Failed) { "has" } else { "is" };
        format!("the task {verb} {}", self.text().en)
    }
}

impl TaskEvent {
    /// For tables.
    pub const ALL: [Self; 10] = [
        Self::Prepared,
        Self::WorkersLeased,
        Self::WorkersLost,
        Self::RanksUp,
        Self::RestartGranted,
        Self::Finished,
        Self::GaveUp,
        Self::StopRequested,
        Self::RanksGone,
        Self::RestartAsked,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Explained;
    use crate::phase::table;

    /// A row per phase, a column per event in the order of `TaskEvent::ALL`; `-` is refused.
    const TABLE: &str = "
        initializing  queued -        -      -       -          -         failed stopped  -  -
        queued        -      starting -      -       -          -         failed stopped  -  -
        starting      -      -        -      running restarting succeeded failed stopping -  -
        running       -      -        -      -       restarting succeeded failed stopping -  -
        restarting    -      starting initializing - -          succeeded failed stopping -  -
        stopping      -      -        -      -       -          succeeded -      stopping stopped  -
        succeeded     -      -        -      -       -          -         -      -        -  initializing
        failed        -      -        -      -       -          -         -      -        -  initializing
        stopped       -      -        -      -       -          -         -      -        -  initializing
    ";

    #[test]
    fn every_phase_meets_every_event_as_the_table_says() {
        table::holds(TABLE, &TaskPhase::ALL, &TaskEvent::ALL, |phase, event| phase.next(event).ok());
    }

    #[test]
    fn final_phases_are_exactly_those_that_only_a_wish_to_run_again_leaves() {
        for phase in TaskPhase::ALL {
            let mut events = TaskEvent::ALL.into_iter().filter(|event| *event != TaskEvent::RestartAsked);
            let stuck = events.all(|event| phase.next(event).is_err());
            assert_eq!(phase.is_final(), stuck, "{phase:?}");
        }
    }

    #[test]
    fn a_refusal_names_phase_and_event() {
        let refused = TaskPhase::Failed.next(TaskEvent::RanksUp).unwrap_err();
        assert_eq!(refused.to_string(), "RanksUp does not fit the phase Failed");
        assert_eq!(
            refused.text(),
            Text::new("任务当前为“失败”，不能执行此操作", "the task is failed; this cannot be done now")
        );
    }

    #[test]
    fn the_first_status_is_the_one_of_the_specification() {
        assert_eq!(serde_json::to_value(TaskPhase::Initializing).unwrap(), "initializing");
    }
}
