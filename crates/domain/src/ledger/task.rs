//! The time of a task: its waiting by its phases, what it runs by the journal of its first node.

use super::timeline::Stage;
use super::{Cause, Ledger};
use crate::phase::TaskPhase;

impl Ledger {
    /// The task has come to this phase. Where a journal has told the same, or more, nothing changes.
    pub fn task_came_to(&mut self, phase: TaskPhase, now_ms: u64) {
        let begins = matches!(phase, TaskPhase::Initializing | TaskPhase::Queued);
        if self.stage == Stage::Over && !begins {
            return;
        }
        self.come_to(now_ms);
        if self.stage == Stage::Over {
            self.begin_again();
        }
        match phase {
            TaskPhase::Initializing | TaskPhase::Queued => self.begin_gap(Cause::Queue),
            TaskPhase::Starting if self.stage == Stage::Gap => self.begin_gap(Cause::Spawn),
            // Nobody coordinates the attempt any more; a coordinator would have said that it failed.
            TaskPhase::Restarting if self.stage != Stage::Gap => self.begin_gap(Cause::BackOff),
            TaskPhase::Stopping => self.ends(),
            TaskPhase::Succeeded | TaskPhase::Failed | TaskPhase::Stopped => {
                self.settle();
                self.stage = Stage::Over;
            }
            TaskPhase::Starting | TaskPhase::Running | TaskPhase::Restarting => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::RunEvent;
    use crate::language::Text;
    use crate::ledger::Account;

    fn times(account: &Account) -> Vec<(Cause, u64)> {
        account.causes.iter().map(|time| (time.cause, time.ms)).collect()
    }

    fn attempt() -> RunEvent {
        RunEvent::AttemptStarted { attempt: 1, master_addr: String::new(), master_port: 1, resume: false }
    }

    fn rank() -> RunEvent {
        RunEvent::RankStarted { attempt: 1, rank: 0, local_rank: 0, pid: 3 }
    }

    #[test]
    fn a_task_waits_runs_loses_its_coordinator_and_ends_and_then_no_time_passes() {
        let mut ledger = Ledger::queued_since(1_000);
        ledger.task_came_to(TaskPhase::Queued, 1_500);
        ledger.task_came_to(TaskPhase::Starting, 3_000);
        ledger.hear(3_200, &RunEvent::Waiting { text: Text::new("等", "waits") });
        ledger.hear(4_000, &attempt());
        ledger.hear(4_100, &rank());
        ledger.task_came_to(TaskPhase::Running, 4_150);
        // The supervisor died: nothing more is told of this launch.
        ledger.task_came_to(TaskPhase::Restarting, 6_100);
        ledger.task_came_to(TaskPhase::Starting, 6_600);
        ledger.hear(6_700, &attempt());
        ledger.task_came_to(TaskPhase::Starting, 6_700);
        ledger.hear(6_800, &rank());
        ledger.task_came_to(TaskPhase::Stopping, 8_800);
        ledger.task_came_to(TaskPhase::Stopped, 9_000);
        let expected = vec![
            (Cause::NoSteps, 4_000),
            (Cause::Queue, 2_000),
            (Cause::NodeWait, 1_000),
            (Cause::BackOff, 500),
            (Cause::Spawn, 100 + 200),
            (Cause::Stop, 200),
        ];
        assert_eq!(times(&ledger.account(60_000)), expected);
        // What comes late of a task that is over changes nothing; the same task again goes on from there.
        ledger.hear(20_000, &rank());
        ledger.task_came_to(TaskPhase::Queued, 50_000);
        let again = ledger.account(51_000);
        assert_eq!((again.of(Cause::Queue), again.wall_ms), (3_000, 8_000 + 1_000));
    }

    #[test]
    fn what_is_kept_of_a_task_is_read_back_and_does_not_grow_with_its_attempts() {
        let mut ledger = Ledger::queued_since(0);
        let size = |ledger: &Ledger| serde_json::to_string(ledger).unwrap().len();
        let mut sizes = Vec::new();
        for round in 1..=50 {
            ledger.hear(round * 1_000, &attempt());
            ledger.hear(round * 1_000 + 10, &rank());
            ledger.task_came_to(TaskPhase::Restarting, round * 1_000 + 500);
            sizes.push(size(&ledger));
        }
        assert!(sizes[49] < sizes[1] + 60, "{sizes:?}");
        let kept: Ledger = serde_json::from_str(&serde_json::to_string(&ledger).unwrap()).unwrap();
        assert_eq!(kept, ledger);
    }

    fn any_phase() -> impl Strategy<Value = TaskPhase> {
        prop::sample::select(TaskPhase::ALL.to_vec())
    }

    proptest! {
        /// Time that passes between the end and the next beginning is nobody's.
        #[test]
        fn every_millisecond_of_a_task_has_exactly_one_cause(
            phases in prop::collection::vec((1_u64..5_000, any_phase(), any::<bool>()), 1..60),
        ) {
            let mut ledger = Ledger::queued_since(0);
            let (mut now, mut lived, mut is_over) = (0, 0, false);
            for (passed, phase, is_told) in phases {
                now += passed;
                if is_over && !matches!(phase, TaskPhase::Queued | TaskPhase::Initializing) {
                    // A task that is over does nothing but begin again.
                    continue;
                }
                lived += if is_over { 0 } else { passed };
                if is_told && !is_over {
                    ledger.hear(now, &attempt());
                    ledger.hear(now, &rank());
                }
                ledger.task_came_to(phase, now);
                if is_over || phase.is_final() {
                    is_over = phase.is_final();
                }
                prop_assert_eq!(ledger.account(now).wall_ms, lived);
            }
        }
    }
}
