//! Tasks: `record` keeps one, `list` pages through all, `queue` finds those that something is due for.

mod columns;
mod list;
mod queue;
mod record;

pub(crate) use columns::Standing;
pub use columns::{Activity, TaskBrief, TaskRow};
pub use list::{LabelFilter, ListError, TaskFilter, TaskOrder, TaskSort};
pub use queue::QueueCursor;
pub(crate) use record::read_task;

use fermi_domain::ids::TaskId;

use crate::numbered;

/// The id of the task with this number.
pub fn task_id(seq: i64) -> TaskId {
    TaskId(numbered::TASK.write(seq))
}

/// The number of a task, unless the text was never an id of ours.
pub fn task_seq(id: &TaskId) -> Option<i64> {
    numbered::TASK.read(id.as_str())
}
