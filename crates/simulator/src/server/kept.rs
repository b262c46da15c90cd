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
    /// What the last look has found to go, with its owner of then: it is removed a while later.
    doomed: Vec<(TaskId, LogOwner)>,
}

impl Server {
    /// Removes what the last look has found, as far as it is still so, and looks at what is kept.
    pub fn let_go(&mut self, now: u64, truth: &mut Truth) {
        for (id, found) in std::mem::take(&mut self.retention.doomed) {
            if found.is_still(self.owner_of(&id)) {
                self.streams.retain(|(task, ..), _| *task != id);
                let task = self.database.tasks.get(&id);
                truth.let_go(now, &id, task.is_some_and(|task| !task.phase.is_final()));
            }
        }
        let Some(now_ms) = self.believed(now) else { return };
        let mut sizes: BTreeMap<TaskId, u64> = BTreeMap::new();
        for ((task, ..), bytes) in &self.streams {
            *sizes.entry(task.clone()).or_default() += bytes.len() as u64;
        }
        let mut ownerless = std::mem::take(&mut self.retention.ownerless);
        ownerless.retain(|task, _| !self.database.tasks.contains_key(task));
        let mut owner = |id: &TaskId| {
            let gone = || LogOwner::Gone { since_ms: *ownerless.entry(id.clone()).or_insert(now_ms) };
            self.owner_of(id).unwrap_or_else(gone)
        };
        let kept: Vec<KeptLogs> =
            sizes.iter().map(|(task, bytes)| KeptLogs { bytes: *bytes, owner: owner(task) }).collect();
        self.retention.ownerless = ownerless;
        let in_all = kept.iter().map(|logs| logs.bytes).sum();
        let excess = retention::excess(in_all, BUDGET_BYTES, ROOMY, DiskReserve(0));
        let goes = retention::logs_to_drop(&kept, excess, &POLICY, now_ms);
        let found: Vec<(TaskId, LogOwner)> = sizes.into_keys().zip(kept.iter().map(|logs| logs.owner)).collect();
        self.retention.doomed = goes.iter().filter_map(|(index, _)| found.get(*index).cloned()).collect();
    }

    /// How a task stands; none where there is none.
    fn owner_of(&self, id: &TaskId) -> Option<LogOwner> {
        let task = self.database.tasks.get(id)?;
        // What would be let go of now would come once more, from its beginning.
        let trails = self.database.trailing.keys().any(|run| run.task == *id);
        Some(match task.phase.is_final() && task.is_swept() && !trails {
            true => LogOwner::Over { ended_ms: task.ended_ms.unwrap_or_default() },
            false => LogOwner::Live,
        })
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
