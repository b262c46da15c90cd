//! What the server lets go of, by the real rules and with ages and sizes that fit a history of minutes.

use std::collections::BTreeMap;

use fermi_domain::disk::{DiskReserve, DiskSpace};
use fermi_domain::ids::TaskId;
use fermi_domain::retention::{self, BelievedClock, KeptLogs, LogOwner, RetentionPolicy};

use super::Server;
use crate::truth::Truth;

const POLICY: RetentionPolicy = RetentionPolicy {
    logs_ms: 90_000,
    snapshots_ms: 0,
    events_ms: 0,
    most_events: 0,
    answers_ms: 0,
    leftovers_ms: 20_000,
    grace_ms: 3_000,
};
/// A few attempts of a few tasks.
const BUDGET_BYTES: u64 = 1_000;
const ROOMY: DiskSpace = DiskSpace { free: 1 << 40, size: 1 << 40 };

/// What the loop remembers until the server ends.
#[derive(Debug, Default)]
pub(super) struct Retention {
    clock: Option<BelievedClock>,
    /// Since when logs without a task have been seen.
    ownerless: BTreeMap<TaskId, u64>,
}

impl Server {
    /// One look at what is kept.
    pub fn let_go(&mut self, now: u64, truth: &mut Truth) {
        let Some(now_ms) = self.believed(now) else { return };
        let mut sizes: BTreeMap<TaskId, u64> = BTreeMap::new();
        for ((task, ..), bytes) in &self.streams {
            *sizes.entry(task.clone()).or_default() += bytes.len() as u64;
        }
        let (tasks, trailing) = (&self.database.tasks, &self.database.trailing);
        // What would be let go of now would come once more, from its beginning.
        let trails = |id: &TaskId| trailing.keys().any(|run| run.task == *id);
        self.retention.ownerless.retain(|task, _| !tasks.contains_key(task));
        let mut owner = |id: &TaskId| match tasks.get(id) {
            None => LogOwner::Gone { since_ms: *self.retention.ownerless.entry(id.clone()).or_insert(now_ms) },
            Some(task) if task.phase.is_final() && task.is_swept() && !trails(id) => {
                LogOwner::Over { ended_ms: task.ended_ms.unwrap_or_default() }
            }
            Some(_) => LogOwner::Live,
        };
        let kept: Vec<KeptLogs> =
            sizes.iter().map(|(task, bytes)| KeptLogs { bytes: *bytes, owner: owner(task) }).collect();
        let in_all = kept.iter().map(|logs| logs.bytes).sum();
        let excess = retention::excess(in_all, BUDGET_BYTES, ROOMY, DiskReserve(0));
        let goes = retention::logs_to_drop(&kept, excess, &POLICY, now_ms);
        let ids: Vec<&TaskId> = sizes.keys().collect();
        for (index, _) in goes {
            let Some(id) = ids.get(index) else { continue };
            self.streams.retain(|(task, ..), _| task != *id);
            let task = self.database.tasks.get(*id);
            truth.let_go(now, id, task.is_some_and(|task| !task.phase.is_final()));
        }
    }

    /// The time by which ages are judged.
    fn believed(&mut self, now: u64) -> Option<u64> {
        let wall = self.wall(now);
        let last = self.database.believed_ms;
        let clock = self.retention.clock.get_or_insert_with(|| BelievedClock::begin(last, wall, now));
        let believed_ms = clock.advance(wall, now);
        self.write(now).ok()?;
        self.database.believed_ms = Some(believed_ms);
        Some(believed_ms)
    }
}
