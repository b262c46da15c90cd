//! The tasks that something is due for: those that wait for workers, and those that run.

use std::collections::{HashMap, HashSet};

use fermi_domain::{
    ids::{EnvironmentId, GroupId, TaskId},
    phase::TaskPhase,
    task::Task,
};
use rusqlite::{Params, params};

use super::{
    columns::{phase_code, phase_of},
    record::read_task,
    task_id, task_seq,
};
use crate::{
    StoreError, Versioned, View,
    row::{readable, signed, unsigned},
};

/// Where a reader of the queue is, to go on behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueCursor {
    priority: i32,
    seq: i64,
}

impl QueueCursor {
    /// Where a task stands, if it stands in the queue at all.
    pub fn of(task: &Task) -> Option<Self> {
        task_seq(&task.id).map(|seq| Self { priority: task.spec.priority, seq })
    }
}

impl View<'_> {
    /// The queue in the order in which tasks are placed: higher priority first, then first come. It holds those that
    /// initialize as well as those that wait.
    pub fn queued_tasks(&self, after: Option<QueueCursor>, limit: usize) -> Result<Vec<Versioned<Task>>, StoreError> {
        let limit = signed(limit as u64);
        match after {
            None => self.tasks_by(
                "SELECT revision, document FROM tasks WHERE standing = 1 ORDER BY priority DESC, seq LIMIT ?1",
                [limit],
            ),
            Some(QueueCursor { priority, seq }) => self.tasks_by(
                "SELECT revision, document FROM tasks WHERE standing = 1 AND priority <= ?2 \
                 AND (priority < ?2 OR seq > ?3) ORDER BY priority DESC, seq LIMIT ?1",
                params![limit, priority, seq],
            ),
        }
    }

    /// The tasks in the queue, by number, in no order.
    pub fn queued_ids(&self) -> Result<HashSet<TaskId>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT seq FROM tasks WHERE standing = 1")?;
        Ok(statement.query_map([], |row| Ok(task_id(row.get(0)?)))?.collect::<Result<_, _>>()?)
    }

    /// The tasks that ended last, with what they have used.
    pub fn ended_tasks(&self, limit: usize) -> Result<Vec<Versioned<Task>>, StoreError> {
        let sql = "SELECT revision, document FROM tasks WHERE ended_ms IS NOT NULL ORDER BY ended_ms DESC LIMIT ?1";
        self.tasks_by(sql, [signed(limit as u64)])
    }

    /// The tasks of the queue that nobody has looked at yet, first come first.
    pub fn initializing_tasks(&self, limit: usize) -> Result<Vec<Versioned<Task>>, StoreError> {
        self.tasks_by(
            "SELECT revision, document FROM tasks WHERE standing = 1 AND phase = ?2 ORDER BY seq LIMIT ?1",
            params![signed(limit as u64), phase_code(TaskPhase::Initializing)],
        )
    }

    /// All tasks that may have processes somewhere: those that left the queue, until they are over and swept.
    pub fn live_tasks(&self) -> Result<Vec<Versioned<Task>>, StoreError> {
        self.tasks_by("SELECT revision, document FROM tasks WHERE standing = 2 ORDER BY seq", [])
    }

    /// Those of them that name this environment, or were given workers of it.
    pub fn live_tasks_on(&self, environment: &EnvironmentId) -> Result<Vec<Versioned<Task>>, StoreError> {
        self.tasks_by(
            "SELECT t.revision, t.document FROM task_nodes n CROSS JOIN tasks t ON t.seq = n.task_seq \
             WHERE n.environment_id = ?1 AND t.standing = 2 ORDER BY t.seq",
            [environment.as_str()],
        )
    }

    /// How many tasks are in each phase; a phase without any is there with 0.
    pub fn count_by_phase(&self) -> Result<HashMap<TaskPhase, u64>, StoreError> {
        let mut counts: HashMap<TaskPhase, u64> = TaskPhase::ALL.into_iter().map(|phase| (phase, 0)).collect();
        let mut statement = self.connection.prepare_cached("SELECT phase, number FROM task_counts")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            counts.insert(phase_of(row.get(0)?)?, unsigned(row.get(1)?));
        }
        Ok(counts)
    }

    fn tasks_by(&self, sql: &str, parameters: impl Params) -> Result<Vec<Versioned<Task>>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(parameters)?;
        let mut tasks = Vec::new();
        while let Some(row) = rows.next()? {
            tasks.extend(readable(read_task(row))?);
        }
        Ok(tasks)
    }
}

/// Who still needs something: tasks that are not over, found in their documents. Rarely asked, so it has no index.
impl View<'_> {
    /// The tasks that are not over and train a dataset.
    pub fn open_tasks_with_dataset(&self, dataset: &str) -> Result<Vec<TaskId>, StoreError> {
        self.open_tasks_with("$.dataset.datasetId", dataset)
    }

    /// The tasks that are not over and start from a model.
    pub fn open_tasks_with_model(&self, model: &str) -> Result<Vec<TaskId>, StoreError> {
        self.open_tasks_with("$.modelId", model)
    }

    /// The tasks that are not over and run on a group, oldest first.
    pub fn open_tasks_on_group(&self, group: &GroupId) -> Result<Vec<Versioned<Task>>, StoreError> {
        self.tasks_by(
            "SELECT revision, document FROM tasks WHERE json_extract(brief, '$.group') = ?1 \
             AND phase IN (0, 1, 2, 3, 4, 5) ORDER BY seq",
            [group.as_str()],
        )
    }

    fn open_tasks_with(&self, path: &str, id: &str) -> Result<Vec<TaskId>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT seq FROM tasks WHERE phase IN (0, 1, 2, 3, 4, 5) AND json_extract(brief, ?1) = ?2 ORDER BY seq",
        )?;
        Ok(statement.query_map([path, id], |row| Ok(task_id(row.get(0)?)))?.collect::<Result<_, _>>()?)
    }
}
