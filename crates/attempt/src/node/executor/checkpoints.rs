//! The checkpoint folder of a node: asked about before an attempt, watched while it runs.

use std::os::fd::BorrowedFd;

use fermi_domain::event::RunEvent;

use super::Executor;
use crate::node::checkpoint_watch::{CheckpointFinding, GoesOnFrom};
use crate::node::event_sink::EventSink;
use crate::node_message::{NodeReport, Start, Survey};

impl Executor {
    /// Readable when there is news of the checkpoint folder.
    pub fn checkpoints_fd(&self) -> BorrowedFd<'_> {
        self.checkpoints.as_fd()
    }

    pub(super) fn survey(&mut self, survey: Survey) {
        self.surveyed = Some(survey.fence.clone());
        let ranks = u32::try_from(self.bundle.ranks.len()).unwrap_or(u32::MAX);
        let first = survey.first_rank;
        self.checkpoints.survey(survey, first..first.saturating_add(ranks));
    }

    /// Watches over the folder while ranks run. A node that was not asked and does not coordinate knows no name that all
    /// nodes use for the run.
    pub(super) fn watch_checkpoints(&mut self, start: &Start) {
        let own = || self.bundle.gathering.coordinates.then(|| self.bundle.fence(start.attempt));
        let surveyed = self.surveyed.clone().filter(|fence| fence.attempt == start.attempt);
        if let Some(fence) = surveyed.or_else(own) {
            let goes_on_from = match (start.resume, start.resume_step) {
                (false, _) => GoesOnFrom::Beginning,
                (true, Some(step)) => GoesOnFrom::Step(step),
                (true, None) => GoesOnFrom::Any,
            };
            self.surveyed = Some(fence.clone());
            self.checkpoints.begin(fence, goes_on_from);
        }
    }

    /// Takes what the watch says of the attempt that it was last asked about; what it says of others comes too late.
    pub(super) fn checkpoints_told(
        &mut self,
        finding: CheckpointFinding,
        events: &mut EventSink,
    ) -> Option<NodeReport> {
        let current = self.surveyed.as_ref().map(|fence| fence.attempt);
        let folder = self.checkpoints.folder();
        match finding {
            CheckpointFinding::Surveyed { attempt, found, mark } if Some(attempt) == current => {
                Some(NodeReport::Surveyed { found, mark })
            }
            CheckpointFinding::Superseded { attempt, by } if Some(attempt) == current => {
                self.ranks.signal(libc::SIGKILL);
                let (generation, text) = (by.generation, by.superseded(&folder));
                events.record(RunEvent::CheckpointsSuperseded { attempt, generation, text });
                Some(NodeReport::Superseded { generation })
            }
            CheckpointFinding::Foreign { attempt, by } if Some(attempt) == current => {
                let text = by.foreign(&folder);
                events.record(RunEvent::CheckpointsForeign { attempt, owner: by.owner, text });
                None
            }
            CheckpointFinding::Surveyed { .. }
            | CheckpointFinding::Superseded { .. }
            | CheckpointFinding::Foreign { .. }
            | CheckpointFinding::Left => None,
        }
    }
}
