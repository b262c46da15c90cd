//! The end of a run of which the first node's disk has kept neither journal nor result.

use super::transition::Transition;
use crate::{
    language::Text,
    task::ToldEnd,
    verdict::{Verdict, VerdictKind},
};

impl Transition<'_> {
    /// The coordinator's own journal is the one that counts: until nothing more comes of it, its word is only kept.
    pub(super) fn end_told(&mut self, end: ToldEnd) {
        if self.task.lacks_result() {
            self.run_ended(end.outcome, end.verdict);
        } else if !self.task.phase.is_final() {
            self.task.told_end = Some(Box::new(end));
        }
    }

    /// The first node has ended the run, and neither its journal nor the record beside it says how. The journals of the others say it
    /// too.
    pub(super) fn result_lost(&mut self, name: &str) {
        if let Some(end) = self.task.told_end.take() {
            self.run_ended(end.outcome, end.verdict);
            return;
        }
        if self.task.is_swept() || self.task.stop.is_some() {
            return;
        }
        let reason = Text::new(
            format!("{name} 上的运行已结束，但其结果未能保存；等待其他节点说明结果"),
            format!(
                "the run on {name} has ended, and its result could not be kept: waiting for what the other nodes know of it"
            ),
        );
        self.note("task.waiting", reason.clone());
        self.task.reason = Some(reason);
    }

    /// Nobody knows how it ended. It may have succeeded: it is not run again by itself.
    pub(super) fn result_is_unknown_when_swept(&mut self) {
        if !self.task.lacks_result() || !self.task.is_swept() || self.task.stop.is_some() {
            return;
        }
        let node = self.task.nodes.first().map(|node| node.name.clone()).unwrap_or_default();
        self.fail(Verdict::of(VerdictKind::ResultUnknown { node }));
    }
}
