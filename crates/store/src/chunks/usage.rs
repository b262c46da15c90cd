//! How many bytes the streams of each task take, known without looking at the disk each time.

use std::{
    collections::HashMap,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use fermi_domain::ids::TaskId;

#[derive(Debug, Default)]
pub(super) struct Usage {
    tasks: Mutex<HashMap<TaskId, u64>>,
}

impl Usage {
    fn tasks(&self) -> MutexGuard<'_, HashMap<TaskId, u64>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a task has; `measure` says it where nobody has asked before.
    pub fn of(&self, task: &TaskId, measure: impl FnOnce() -> io::Result<u64>) -> io::Result<u64> {
        if let Some(bytes) = self.tasks().get(task) {
            return Ok(*bytes);
        }
        let bytes = measure()?;
        Ok(*self.tasks().entry(task.clone()).or_insert(bytes))
    }

    /// More was written. A task that was never measured stays so.
    pub fn add(&self, task: &TaskId, bytes: u64) {
        if let Some(known) = self.tasks().get_mut(task) {
            *known += bytes;
        }
    }

    pub fn forget(&self, task: &TaskId) {
        self.tasks().remove(task);
    }

    /// What all tasks have that were measured.
    pub fn in_all(&self) -> u64 {
        self.tasks().values().sum()
    }
}
