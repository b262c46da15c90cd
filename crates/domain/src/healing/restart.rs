//! Restart with a budget that counts per task, with back-off, and never for an error that would only repeat.

use serde::{Deserialize, Serialize};

use crate::failure::Recurrence;
use crate::language::{Hint, Setting, Text};

/// An attempt that lived shorter than this failed while starting up, unless it reported progress.
pub const START_UP_MS: u64 = 30_000;
const FIRST_BACK_OFF_MS: u64 = 1_000;
pub const LONGEST_BACK_OFF_MS: u64 = 60_000;

/// How often a task may be started anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RestartPolicy {
    pub max_restarts: u32,
}

/// What the policy needs to know of the attempt that just failed and of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    pub recurrence: Recurrence,
    pub lived_ms: u64,
    pub made_progress: bool,
    pub restarts_used: u32,
    /// Attempts in a row, this one included, that failed in start-up without progress.
    pub start_up_failures_in_a_row: u32,
}

impl FailedAttempt {
    /// Whether it failed before the training got going.
    pub fn in_start_up(&self) -> bool {
        !self.made_progress && self.lived_ms < START_UP_MS
    }
}

/// What follows a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Restart { after_ms: u64 },
    GiveUp(GiveUp),
}

/// Why there is no further attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GiveUp {
    /// The task allows no restarts.
    NoRestartsAllowed,
    /// All restarts are used.
    BudgetSpent,
    /// The error came at start-up and would come again: a missing module does not appear by itself.
    WouldRepeat,
    /// Processes of the attempt before do not die, and nothing may begin beside them.
    StillThere,
}

impl GiveUp {
    /// The reason, as it is stored and shown anywhere.
    pub fn text(self, policy: RestartPolicy) -> Text {
        match self {
            Self::NoRestartsAllowed => Text::new("未允许自动重启", "no restarts are allowed"),
            Self::BudgetSpent => Text::new(
                format!("{} 次重启机会已全部用完", policy.max_restarts),
                format!("all {} restarts are used", policy.max_restarts),
            ),
            Self::WouldRepeat => Text::new(
                "这是启动阶段的错误，重启只会再次出现，因此不再重启，也不消耗重启次数",
                "not restarted: this start-up error would only repeat; no restart was spent on it",
            ),
            Self::StillThere => Text::new(
                "上一次启动的进程无法终止，为避免两次启动同时写检查点，不再重启",
                "not restarted: processes of the last attempt cannot be killed, and two attempts must not write one checkpoint",
            ),
        }
    }

    /// What would allow another attempt.
    pub fn hint(self) -> Option<Hint> {
        let restarts = Setting::MaxRestarts;
        match self {
            Self::NoRestartsAllowed => {
                Some(Hint::new(format!("{restarts} 设置允许的次数"), format!("{restarts} says how many may be")))
            }
            Self::StillThere => {
                let patience = Setting::JoinTimeout;
                Some(Hint::new(
                    format!("查看这些进程所等待的磁盘、共享目录或驱动（dmesg）；{patience} 决定等待多久"),
                    format!(
                        "look at the disk, share or driver that they wait for (dmesg); {patience} says for how long to wait"
                    ),
                ))
            }
            Self::BudgetSpent | Self::WouldRepeat => None,
        }
    }
}

/// Decides whether and when to start anew.
///
/// An error that would repeat is believed to do so in the first attempt alone. A later attempt follows one that failed in
/// another way, so the run itself has shown that this point can be passed: memory that the dead ranks still hold, a share
/// that is not mounted again yet.
///
/// The first restart is immediate. Attempts that keep failing in start-up wait 1 s, 2 s, 4 s … up to a minute;
/// progress in between starts the series over.
pub fn decide(policy: RestartPolicy, failed: FailedAttempt) -> Decision {
    if policy.max_restarts == 0 {
        return Decision::GiveUp(GiveUp::NoRestartsAllowed);
    }
    if failed.recurrence == Recurrence::WouldRepeat && failed.in_start_up() && failed.restarts_used == 0 {
        return Decision::GiveUp(GiveUp::WouldRepeat);
    }
    if failed.restarts_used >= policy.max_restarts {
        return Decision::GiveUp(GiveUp::BudgetSpent);
    }
    Decision::Restart { after_ms: back_off(failed.start_up_failures_in_a_row) }
}

fn back_off(start_up_failures_in_a_row: u32) -> u64 {
    match start_up_failures_in_a_row {
        0 | 1 => 0,
        n => FIRST_BACK_OFF_MS.saturating_mul(1 << (n - 2).min(16)).min(LONGEST_BACK_OFF_MS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RestartPolicy = RestartPolicy { max_restarts: 3 };

    fn failed() -> FailedAttempt {
        FailedAttempt {
            recurrence: Recurrence::MayPass,
            lived_ms: 100,
            made_progress: false,
            restarts_used: 0,
            start_up_failures_in_a_row: 1,
        }
    }

    #[test]
    fn the_first_restart_is_immediate_and_later_ones_back_off() {
        let waits: Vec<_> =
            (1..=9).map(|n| decide(POLICY, FailedAttempt { start_up_failures_in_a_row: n, ..failed() })).collect();
        let expected = [0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000];
        assert_eq!(waits, expected.map(|after_ms| Decision::Restart { after_ms }));
    }

    #[test]
    fn a_missing_module_is_not_restarted_and_spends_nothing() {
        let missing = FailedAttempt { recurrence: Recurrence::WouldRepeat, ..failed() };
        assert_eq!(decide(POLICY, missing), Decision::GiveUp(GiveUp::WouldRepeat));
    }

    #[test]
    fn a_start_up_error_of_a_later_attempt_is_restarted_with_back_off_until_the_budget_is_spent() {
        let table = [(1, Decision::Restart { after_ms: 1_000 }), (2, Decision::Restart { after_ms: 2_000 })];
        for (restarts_used, expected) in table {
            let start_up_failures_in_a_row = restarts_used + 1;
            let late = FailedAttempt {
                recurrence: Recurrence::WouldRepeat,
                restarts_used,
                start_up_failures_in_a_row,
                ..failed()
            };
            assert_eq!(decide(POLICY, late), expected, "{restarts_used} restarts used");
        }
        let last = FailedAttempt { recurrence: Recurrence::WouldRepeat, restarts_used: 3, ..failed() };
        assert_eq!(decide(POLICY, last), Decision::GiveUp(GiveUp::BudgetSpent));
    }

    #[test]
    fn the_same_error_after_progress_is_restarted() {
        let late = FailedAttempt { recurrence: Recurrence::WouldRepeat, made_progress: true, ..failed() };
        assert_eq!(decide(POLICY, late), Decision::Restart { after_ms: 0 });
        let old = FailedAttempt {
            recurrence: Recurrence::WouldRepeat,
            lived_ms: START_UP_MS,
            start_up_failures_in_a_row: 0,
            ..failed()
        };
        assert_eq!(decide(POLICY, old), Decision::Restart { after_ms: 0 });
    }

    #[test]
    fn the_budget_counts_per_task() {
        assert_eq!(
            decide(POLICY, FailedAttempt { restarts_used: 3, ..failed() }),
            Decision::GiveUp(GiveUp::BudgetSpent)
        );
        assert_eq!(decide(RestartPolicy { max_restarts: 0 }, failed()), Decision::GiveUp(GiveUp::NoRestartsAllowed));
    }
}
