//! The phases of an attempt.

use serde::{Deserialize, Serialize};

use super::IllegalTransition;
use crate::language::Text;

/// Where an attempt stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AttemptPhase {
    /// Its launch bundle is made; nothing has been started.
    Prepared,
    /// Supervisors are asked to start; ranks come up.
    Launching,
    /// All ranks are up.
    Running,
    /// Its ranks are being stopped, by request or because one failed.
    Stopping,
    Succeeded,
    Failed,
    Stopped,
}

/// What happens to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptEvent {
    Launched,
    RanksUp,
    /// The stop ladder begins.
    StopBegan,
    /// Every rank returned 0.
    EndedWell,
    /// It is over, and the verdict names a failure.
    EndedBadly,
    /// It is over because somebody asked.
    EndedOnRequest,
}

impl AttemptPhase {
    /// In the order in which they are passed; for tables.
    pub const ALL: [Self; 7] =
        [Self::Prepared, Self::Launching, Self::Running, Self::Stopping, Self::Succeeded, Self::Failed, Self::Stopped];

    /// Whether nothing can happen to it any more.
    pub fn is_final(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Stopped => true,
            Self::Prepared | Self::Launching | Self::Running | Self::Stopping => false,
        }
    }

    /// The only way from one phase to another.
    pub fn next(self, event: AttemptEvent) -> Result<Self, IllegalTransition<Self, AttemptEvent>> {
        use AttemptEvent as E;
        match (self, event) {
            (Self::Prepared, E::Launched) => Ok(Self::Launching),
            (Self::Launching, E::RanksUp) => Ok(Self::Running),
            (Self::Launching | Self::Running | Self::Stopping, E::StopBegan) => Ok(Self::Stopping),
            (Self::Launching | Self::Running | Self::Stopping, E::EndedWell) => Ok(Self::Succeeded),
            // A launch that is refused fails before anything was started.
            (Self::Prepared | Self::Launching | Self::Running | Self::Stopping, E::EndedBadly) => Ok(Self::Failed),
            (Self::Prepared | Self::Launching | Self::Running | Self::Stopping, E::EndedOnRequest) => Ok(Self::Stopped),
            (phase, event) => Err(IllegalTransition { phase, event }),
        }
    }

    /// The word that pages show.
    pub fn text(self) -> Text {
        match self {
            Self::Prepared => Text::new("待启动", "prepared"),
            Self::Launching => Text::new("启动中", "launching"),
            Self::Running => Text::new("运行中", "running"),
            Self::Stopping => Text::new("停止中", "stopping"),
            Self::Succeeded => Text::new("已完成", "succeeded"),
            Self::Failed => Text::new("失败", "failed"),
            Self::Stopped => Text::new("已停止", "stopped"),
        }
    }
}

impl AttemptEvent {
    /// For tables.
    pub const ALL: [Self; 6] =
        [Self::Launched, Self::RanksUp, Self::StopBegan, Self::EndedWell, Self::EndedBadly, Self::EndedOnRequest];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::table;

    /// A row per phase, a column per event in the order of `AttemptEvent::ALL`; `-` is refused.
    const TABLE: &str = "
        prepared   launching -       -        -         failed stopped
        launching  -         running stopping succeeded failed stopped
        running    -         -       stopping succeeded failed stopped
        stopping   -         -       stopping succeeded failed stopped
        succeeded  -         -       -        -         -      -
        failed     -         -       -        -         -      -
        stopped    -         -       -        -         -      -
    ";

    #[test]
    fn every_phase_meets_every_event_as_the_table_says() {
        table::holds(TABLE, &AttemptPhase::ALL, &AttemptEvent::ALL, |phase, event| phase.next(event).ok());
    }

    #[test]
    fn final_phases_are_exactly_those_that_nothing_leaves() {
        for phase in AttemptPhase::ALL {
            let stuck = AttemptEvent::ALL.into_iter().all(|event| phase.next(event).is_err());
            assert_eq!(phase.is_final(), stuck, "{phase:?}");
        }
    }
}
