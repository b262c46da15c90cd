//! The streams of tasks that are being read, with their lengths, so that a look at what has grown costs no look at the disk.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use fermi_domain::ids::TaskId;

use super::StreamName;

/// So many tasks are known at once; the one that was asked for least recently goes.
const TASKS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Lengths {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    tasks: HashMap<TaskId, Task>,
    asked: u64,
}

#[derive(Debug, Default)]
struct Task {
    streams: BTreeMap<StreamName, u64>,
    asked: u64,
}

impl Lengths {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The streams of a task. `scan` finds them where nobody has asked lately; it must take no other lock of the store,
    /// because writers wait here meanwhile, each with its stream held.
    pub fn of(
        &self,
        task: &TaskId,
        scan: impl FnOnce() -> io::Result<BTreeMap<StreamName, u64>>,
    ) -> io::Result<Vec<(StreamName, u64)>> {
        let mut known = self.known();
        known.asked += 1;
        let now = known.asked;
        if let Some(found) = known.tasks.get_mut(task) {
            found.asked = now;
            return Ok(found.listed());
        }
        let found = Task { streams: scan()?, asked: now };
        let listed = found.listed();
        // Nothing is kept of a task that has no streams, so that none is kept of one that does not exist.
        if !listed.is_empty() {
            known.insert(task, found);
        }
        Ok(listed)
    }

    /// A stream has this length now.
    pub fn set(&self, name: &StreamName, length: u64) {
        if let Some(task) = self.known().tasks.get_mut(&name.task) {
            task.streams.insert(name.clone(), length);
        }
    }

    /// What is known of a task may be wrong.
    pub fn forget(&self, task: &TaskId) {
        self.known().tasks.remove(task);
    }
}

impl Known {
    fn insert(&mut self, task: &TaskId, found: Task) {
        if self.tasks.len() >= TASKS {
            let oldest = self.tasks.iter().min_by_key(|(_, task)| task.asked).map(|(id, _)| id.clone());
            oldest.map(|oldest| self.tasks.remove(&oldest));
        }
        self.tasks.insert(task.clone(), found);
    }
}

impl Task {
    fn listed(&self) -> Vec<(StreamName, u64)> {
        self.streams.iter().map(|(name, length)| (name.clone(), *length)).collect()
    }
}
