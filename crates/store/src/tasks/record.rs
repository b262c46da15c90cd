//! One task: insert, look up, change, delete.

use fermi_domain::{
    ids::TaskId,
    principal::Principal,
    task::{Task, TaskSpec},
};
use rusqlite::{OptionalExtension, Row, params};

use super::{
    columns::{Activity, Standing, TaskBrief, phase_code, phase_of},
    task_id, task_seq,
};
use crate::{
    StoreError, Transaction, UpdateError, Versioned, View,
    row::{document, json, readable, signed, unsigned},
};

impl View<'_> {
    /// A task with the revision that [`Transaction::update_task`] wants.
    pub fn task(&self, id: &TaskId) -> Result<Option<Versioned<Task>>, StoreError> {
        let Some(seq) = task_seq(id) else { return Ok(None) };
        let mut statement = self.connection.prepare_cached("SELECT revision, document FROM tasks WHERE seq = ?1")?;
        statement.query_row([seq], |row| Ok(read_task(row))).optional()?.transpose()
    }

    /// Those of the tasks that exist and can be read.
    pub fn readable_tasks(&self, ids: &[TaskId]) -> Result<Vec<Task>, StoreError> {
        let mut tasks = Vec::with_capacity(ids.len());
        for id in ids {
            tasks.extend(readable(self.task(id))?.flatten().map(|task| task.value));
        }
        Ok(tasks)
    }

    /// Whether there is such a task, without reading it.
    pub fn task_exists(&self, id: &TaskId) -> Result<bool, StoreError> {
        task_seq(id).map_or(Ok(false), |seq| self.has_task(seq))
    }

    pub(crate) fn has_task(&self, seq: i64) -> Result<bool, StoreError> {
        Ok(self.connection.prepare_cached("SELECT 1 FROM tasks WHERE seq = ?1")?.exists([seq])?)
    }

    /// How far a task is from having said its last, without reading it.
    pub fn task_activity(&self, id: &TaskId) -> Result<Activity, StoreError> {
        let Some(seq) = task_seq(id) else { return Ok(Activity::Over) };
        let mut statement = self.connection.prepare_cached("SELECT phase, standing FROM tasks WHERE seq = ?1")?;
        let found: Option<(i64, i64)> = statement.query_row([seq], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((phase, standing)) = found else { return Ok(Activity::Over) };
        Ok(match (phase_of(phase)?.is_final(), standing == Standing::Resting as i64) {
            (false, _) => Activity::Going,
            (true, true) if self.trailing_of(id)?.is_empty() => Activity::Over,
            (true, _) => Activity::Ending,
        })
    }
}

/// Reads the columns `revision, document`.
pub(crate) fn read_task(row: &Row<'_>) -> Result<Versioned<Task>, StoreError> {
    let json: String = row.get(1)?;
    Ok(Versioned { value: document("task", &json)?, revision: unsigned(row.get(0)?) })
}

impl Transaction<'_> {
    /// Keeps a new task and gives it its id. Its revision is 1.
    pub fn insert_task(&mut self, spec: TaskSpec, by: &Principal, now_ms: u64) -> Result<Task, StoreError> {
        // There is one writer, so that the next number is known before the row is there.
        let mut last = self.connection.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'tasks'")?;
        let seq = last.query_row([], |row| row.get::<_, i64>(0)).optional()?.unwrap_or(0) + 1;
        let mut task = Task::new(task_id(seq), spec, now_ms);
        task.created_by = Some(by.clone());
        self.connection
            .prepare_cached(
                "INSERT INTO tasks (seq, name, name_folded, phase, standing, priority, generation, revision, \
                 created_ms, updated_ms, brief, document, created_by) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, ?8, ?9, ?10, ?11)",
            )?
            .execute(params![
                seq,
                task.spec.name,
                task.spec.name.to_lowercase(),
                phase_code(task.phase),
                Standing::of(&task) as i64,
                task.spec.priority,
                signed(task.generation.0),
                signed(now_ms),
                json("task", &TaskBrief::of(&task))?,
                json("task", &task)?,
                by.to_string(),
            ])?;
        for (key, value) in &task.spec.labels {
            self.connection
                .prepare_cached("INSERT INTO task_labels (key, value, task_seq) VALUES (?1, ?2, ?3)")?
                .execute(params![key, value, seq])?;
        }
        self.keep_environments(&task, seq)?;
        Ok(task)
    }

    /// Keeps a task as it is now, if nobody changed it since it was read at this revision. Its specification, and so its
    /// labels and its name, never change.
    pub fn update_task(&mut self, task: &Task, revision: u64, now_ms: u64) -> Result<(), UpdateError> {
        let seq = task_seq(&task.id).ok_or(UpdateError::Missing)?;
        let changed = self
            .connection
            .prepare_cached(
                "UPDATE tasks SET phase = ?3, standing = ?4, generation = ?5, revision = revision + 1, \
                 updated_ms = ?6, ended_ms = ?7, brief = ?8, document = ?9 \
                 WHERE seq = ?1 AND revision = ?2",
            )?
            .execute(params![
                seq,
                signed(revision),
                phase_code(task.phase),
                Standing::of(task) as i64,
                signed(task.generation.0),
                signed(now_ms),
                task.ended_ms.map(signed),
                json("task", &TaskBrief::of(task))?,
                json("task", task)?,
            ])?;
        if changed == 0 {
            let mut statement = self.connection.prepare_cached("SELECT revision FROM tasks WHERE seq = ?1")?;
            let found: Option<i64> = statement.query_row([seq], |row| row.get(0)).optional()?;
            let found = unsigned(found.ok_or(UpdateError::Missing)?);
            return Err(UpdateError::Conflict { expected: revision, found });
        }
        Ok(self.keep_environments(task, seq)?)
    }

    /// Forgets a task with its events, runs and leases. Says whether there was one.
    pub fn delete_task(&mut self, id: &TaskId) -> Result<bool, StoreError> {
        let Some(seq) = task_seq(id) else { return Ok(false) };
        self.connection.prepare_cached("DELETE FROM events WHERE task_seq = ?1")?.execute([seq])?;
        for trailing in self.trailing_of(id)? {
            self.remove_trailing(&trailing.run, &trailing.environment)?;
        }
        // Everything else refers to the task and goes with it.
        Ok(self.connection.prepare_cached("DELETE FROM tasks WHERE seq = ?1")?.execute([seq])? > 0)
    }

    fn keep_environments(&mut self, task: &Task, seq: i64) -> Result<(), StoreError> {
        let wanted: Vec<&str> = task.environments().into_iter().map(|id| id.as_str()).collect();
        let mut statement = self
            .connection
            .prepare_cached("SELECT environment_id FROM task_nodes WHERE task_seq = ?1 ORDER BY environment_id")?;
        let kept: Vec<String> = statement.query_map([seq], |row| row.get(0))?.collect::<Result<_, _>>()?;
        if kept == wanted {
            return Ok(());
        }
        self.connection.prepare_cached("DELETE FROM task_nodes WHERE task_seq = ?1")?.execute([seq])?;
        for environment in wanted {
            self.connection
                .prepare_cached("INSERT INTO task_nodes (environment_id, task_seq) VALUES (?1, ?2)")?
                .execute(params![environment, seq])?;
        }
        Ok(())
    }
}
