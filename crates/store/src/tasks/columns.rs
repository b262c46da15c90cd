//! What of a task is kept beside its document: what is searched or sorted, and what a list shows.

use std::collections::BTreeMap;

use fermi_domain::{
    framework::Framework,
    ids::{EnvironmentId, GroupId, TaskId},
    language::Text,
    phase::TaskPhase,
    principal::Principal,
    task::{DatasetChoice, Task},
};
use rusqlite::Row;
use serde::{Deserialize, Serialize};

use super::task_id;
use crate::{
    StoreError,
    row::{document, unsigned},
};

/// A task as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    pub id: TaskId,
    pub name: String,
    pub phase: TaskPhase,
    pub priority: i32,
    pub generation: u64,
    pub revision: u64,
    pub created_ms: u64,
    pub updated_ms: u64,
    pub ended_ms: Option<u64>,
    pub brief: TaskBrief,
}

/// The part of the document that lists show; the document itself grows with ranks and attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskBrief {
    #[serde(default)]
    pub reason: Option<Text>,
    /// One line of the verdict.
    #[serde(default)]
    pub headline: Option<Text>,
    #[serde(default)]
    pub started_ms: Option<u64>,
    #[serde(default)]
    pub dataset: Option<DatasetChoice>,
    #[serde(default)]
    pub model_id: Option<String>,
    /// The group that it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupId>,
    #[serde(default)]
    pub framework: Option<Framework>,
    #[serde(default)]
    pub environments: Vec<EnvironmentId>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// 0 until workers are leased.
    #[serde(default)]
    pub world_size: u32,
    /// The number of the newest attempt; 0 before the first.
    #[serde(default)]
    pub attempt: u32,
    #[serde(default)]
    pub restarts_used: u32,
    /// Who asked for it.
    #[serde(default)]
    pub created_by: Option<Principal>,
}

impl TaskBrief {
    pub(super) fn of(task: &Task) -> Self {
        Self {
            reason: task.reason.clone(),
            headline: task.verdict.as_ref().map(|verdict| verdict.headline()),
            started_ms: task.started_ms,
            dataset: task.spec.dataset.clone(),
            model_id: task.spec.model_id.clone(),
            group: task.spec.selection.group().cloned(),
            framework: task.spec.distributed.framework,
            environments: task.environments().into_iter().cloned().collect(),
            labels: task.spec.labels.clone(),
            world_size: task.world_size(),
            attempt: task.newest_attempt(),
            restarts_used: task.restarts_used,
            created_by: task.created_by.clone(),
        }
    }
}

/// Whether more may come of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    Going,
    /// It is over, and processes of it may still write, or what they wrote is still to come.
    Ending,
    /// Nothing will come any more; also of a task that was deleted.
    Over,
}

/// Who has to look at a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nobody: it is over and swept.
    Resting = 0,
    /// Whoever places tasks.
    Queued = 1,
    /// The reconcilers, which carry its desired states out.
    Live = 2,
}

impl Standing {
    pub fn of(task: &Task) -> Self {
        match task.phase {
            TaskPhase::Initializing | TaskPhase::Queued => Self::Queued,
            phase if phase.is_final() && task.is_swept() => Self::Resting,
            _ => Self::Live,
        }
    }
}

/// What the column holds. Codes are never given to another phase.
pub(crate) fn phase_code(phase: TaskPhase) -> i64 {
    match phase {
        TaskPhase::Initializing => 0,
        TaskPhase::Queued => 1,
        TaskPhase::Starting => 2,
        TaskPhase::Running => 3,
        TaskPhase::Restarting => 4,
        TaskPhase::Stopping => 5,
        TaskPhase::Succeeded => 6,
        TaskPhase::Failed => 7,
        TaskPhase::Stopped => 8,
    }
}

pub(super) fn phase_of(code: i64) -> Result<TaskPhase, StoreError> {
    TaskPhase::ALL
        .into_iter()
        .find(|phase| phase_code(*phase) == code)
        .ok_or_else(|| StoreError::Value { noun: "task phase", value: code.to_string() })
}

/// The columns of [`read_row`], in its order.
pub(super) const ROW: &str = "t.seq, t.name, t.phase, t.priority, t.generation, t.revision, t.created_ms, t.updated_ms, \
                              t.ended_ms, t.brief";

pub(super) fn read_row(row: &Row<'_>) -> Result<TaskRow, StoreError> {
    let brief: String = row.get(9)?;
    Ok(TaskRow {
        id: task_id(row.get(0)?),
        name: row.get(1)?,
        phase: phase_of(row.get(2)?)?,
        priority: row.get(3)?,
        generation: unsigned(row.get(4)?),
        revision: unsigned(row.get(5)?),
        created_ms: unsigned(row.get(6)?),
        updated_ms: unsigned(row.get(7)?),
        ended_ms: row.get::<_, Option<i64>>(8)?.map(unsigned),
        brief: document("task", &brief)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_has_a_code_of_its_own() {
        for phase in TaskPhase::ALL {
            assert_eq!(phase_of(phase_code(phase)).unwrap(), phase);
        }
        assert!(phase_of(9).is_err());
    }
}
