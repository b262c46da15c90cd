//! A task that has workers, as far as the queue must know it.

use super::moment::Latest;
use super::request::Request;
use crate::ids::{TaskId, WorkerId};

/// A task with its workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    pub request: Request,
    pub workers: Vec<WorkerId>,
    pub started_ms: u64,
    pub stopping: Stopping,
}

/// Whether its end was asked for in favour of another task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stopping {
    #[default]
    No,
    /// It has the checkpoint signal and ends by then.
    By(u64),
}

/// A task as sentences name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskName {
    pub task: TaskId,
    pub name: String,
}

impl Running {
    /// When it has ended at the latest.
    pub fn until(&self) -> Latest {
        let limit = Latest::after(self.started_ms, self.request.limit_ms());
        match self.stopping {
            Stopping::No => limit,
            Stopping::By(at) => limit.min(Latest::At(at)),
        }
    }
}

impl TaskName {
    pub fn of(request: &Request) -> Self {
        Self { task: request.task.clone(), name: request.name.clone() }
    }
}

impl std::fmt::Display for TaskName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.name.is_empty() || self.name == self.task.as_str() {
            return self.task.fmt(f);
        }
        write!(f, "{} ({})", self.task, self.name)
    }
}
