//! What becomes of a task when an older state of the database is put back, or the server's clock is set.

use super::{
    EventDetail, EventText, PhaseChange, TaskEnd,
    transition::{Transition, kind_of},
};
use crate::{
    ids::NodeRank,
    language::Text,
    task::{NodeRunState, Task},
};

impl Transition<'_> {
    /// Its agent has said how it ended, to a state of the database that was lost, and does not have it any more. It may have
    /// succeeded, so that it is not taken for one that died.
    pub(super) fn forgotten(&mut self, node: NodeRank) {
        let run = self.node(node).filter(|run| run.state != NodeRunState::Gone);
        let Some(name) = run.map(|run| run.name.clone()) else { return };
        self.note(
            "node.forgotten",
            Text::new(
                format!("{name} 上的运行已不在：数据库已从备份恢复，它可能在备份之后结束，结果不得而知"),
                format!(
                    "the run on {name} is no more: the database was restored from a backup, and it may have ended since then, in \
                     whatever way"
                ),
            ),
        );
        self.gone(node, None, true);
    }

    /// What has lasted has lasted as long as before: when it began is written by the clock as it goes now. What would begin later
    /// than now has begun since the clock was set.
    pub(super) fn clock_set(&mut self, by_ms: i64) {
        for began_ms in [&mut self.task.placed_ms, &mut self.task.phase_since_ms].into_iter().flatten() {
            let set_ms = began_ms.saturating_add_signed(by_ms);
            if set_ms <= self.now_ms {
                *began_ms = set_ms;
            }
        }
    }
}

impl Task {
    /// Takes over how it ended, by a later state of the database that is about to be replaced by this older one: what its ranks
    /// have brought to an end is not to be done again. None where there is nothing to take.
    pub fn take_end_of(&mut self, later: &Self) -> Option<EventText> {
        let is_same = (&self.id, self.created_ms) == (&later.id, later.created_ms);
        let is_over = later.phase.is_final() && !later.waits_again();
        if !is_same || !is_over || self.phase.is_final() || later.generation < self.generation {
            return None;
        }
        let change = PhaseChange { from: self.phase, to: later.phase };
        *self = later.clone();
        let phase = self.phase.text();
        Some(EventText {
            kind: kind_of(self.phase),
            text: Text::new(
                format!("任务状态：{}（结束于备份之后，取自恢复前的数据库）", phase.zh),
                format!(
                    "{}; it ended after the backup, as the database of before the restore says",
                    self.phase.in_english()
                ),
            ),
            detail: Some(EventDetail { phase: Some(change), end: Some(TaskEnd::of(self)), ..EventDetail::default() }),
        })
    }
}
