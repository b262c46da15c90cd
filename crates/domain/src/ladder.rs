//! The stop ladder: which signals a rank gets, how long it has after each, until SIGKILL ends it.

use serde::{Deserialize, Serialize};

const SIGTERM: i32 = 15;

/// One rung: a signal, then time to obey it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rung {
    pub signal: i32,
    pub grace_ms: u64,
}

/// How the ranks of a task are stopped. SIGKILL always follows the last rung.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StopLadder {
    /// Sent before a planned stop to a script that saves its state on it.
    pub checkpoint: Option<Rung>,
    /// A planned stop: the script may save and clean up.
    pub planned_grace_ms: u64,
    /// After a failure the survivors sit in a broken collective and cannot save anything together; they get just
    /// enough to flush their streams.
    pub failure_grace_ms: u64,
}

impl Default for StopLadder {
    fn default() -> Self {
        Self { checkpoint: None, planned_grace_ms: 30_000, failure_grace_ms: 50 }
    }
}

/// Why the ranks are being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Someone asked, with this signal (SIGINT for Ctrl-C, SIGTERM else).
    Asked { signal: i32 },
    /// A rank failed, or the attempt did not come up.
    Failure,
}

impl StopLadder {
    /// How long a planned stop takes at most, before SIGKILL.
    pub fn planned_ms(&self) -> u64 {
        self.checkpoint.map_or(0, |rung| rung.grace_ms).saturating_add(self.planned_grace_ms)
    }

    /// The rungs to climb for this reason, before SIGKILL.
    pub fn rungs(&self, reason: StopReason) -> Vec<Rung> {
        match reason {
            StopReason::Asked { signal } => {
                self.checkpoint.into_iter().chain([Rung { signal, grace_ms: self.planned_grace_ms }]).collect()
            }
            StopReason::Failure => vec![Rung { signal: SIGTERM, grace_ms: self.failure_grace_ms }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planned_stop_starts_with_the_checkpoint_signal() {
        let ladder = StopLadder { checkpoint: Some(Rung { signal: 10, grace_ms: 60_000 }), ..StopLadder::default() };
        assert_eq!(
            ladder.rungs(StopReason::Asked { signal: 2 }),
            [Rung { signal: 10, grace_ms: 60_000 }, Rung { signal: 2, grace_ms: 30_000 }]
        );
    }

    #[test]
    fn after_a_failure_no_time_is_spent_on_a_checkpoint() {
        let ladder = StopLadder { checkpoint: Some(Rung { signal: 10, grace_ms: 60_000 }), ..StopLadder::default() };
        assert_eq!(ladder.rungs(StopReason::Failure), [Rung { signal: SIGTERM, grace_ms: 50 }]);
    }
}
