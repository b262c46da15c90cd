//! What is kept for a task that is first in line.

use super::moment::Latest;
use crate::ids::{TaskId, WorkerId};

/// The workers that are kept for a task, and when it starts at the latest: never later than was said before, unless a
/// task of higher priority comes, a task outstays its limit, or an environment is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    pub task: TaskId,
    /// None where that is not decided yet.
    pub workers: Vec<WorkerId>,
    pub from: Latest,
}
