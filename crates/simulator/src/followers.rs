//! Those who follow the event log: what they have seen, and that nothing was missing in between.

use std::collections::BTreeMap;

use fermi_domain::ids::TaskId;
use fermi_domain::phase::TaskPhase;

use crate::server::Server;
use crate::truth::Truth;

/// A follower that goes on behind its cursor whenever it reads.
#[derive(Debug, Default)]
pub struct Follower {
    cursor: u64,
    epoch: u64,
    phases: BTreeMap<TaskId, TaskPhase>,
}

impl Follower {
    /// Reads what is new.
    pub fn read(&mut self, server: &Server, truth: &mut Truth, now: u64) {
        let database = &server.database;
        let last = database.events.last().map_or(0, |event| event.cursor);
        let epoch = database.history.epoch;
        if epoch != self.epoch {
            // Tasks are as they were at the backup: it looks at them anew, and goes on behind all that it was told.
            self.epoch = epoch;
            self.phases = database.tasks.iter().map(|(id, task)| (id.clone(), task.phase)).collect();
            self.cursor = self.cursor.max(last);
            return;
        }
        if last <= self.cursor {
            return;
        }
        let first = database.events.partition_point(|event| event.cursor <= self.cursor);
        let mut touched = Vec::new();
        for event in &database.events[first..] {
            let is_next = event.cursor == self.cursor + 1 || self.cursor >> 32 != event.cursor >> 32;
            let known = self.phases.entry(event.task.clone()).or_insert(TaskPhase::Initializing);
            if !is_next || *known != event.change.from {
                let (cursor, change) = (event.cursor, event.change);
                let what = format!("behind {} comes {cursor}: {} was {known:?}, {change:?}", self.cursor, event.task);
                truth.broken(now, "cursors without gaps", what);
                return;
            }
            *known = event.change.to;
            self.cursor = event.cursor;
            touched.push(&event.task);
        }
        for id in touched {
            let phase = database.tasks.get(id).map(|task| task.phase);
            if phase.is_some_and(|phase| Some(&phase) != self.phases.get(id)) {
                let what = format!("{id} is {phase:?}, and the event log says {:?}", self.phases.get(id));
                truth.broken(now, "cursors without gaps", what);
                return;
            }
        }
    }

    /// Whether all that it knows is how things are.
    pub fn check(&self, server: &Server, truth: &mut Truth, now: u64) {
        for (id, task) in &server.database.tasks {
            let known = self.phases.get(id).copied().unwrap_or(TaskPhase::Initializing);
            if known != task.phase {
                let what = format!("{id} is {:?}, and the event log says {known:?}", task.phase);
                truth.broken(now, "cursors without gaps", what);
            }
        }
    }
}
