//! The one way in which a task changes: something happens to it, and what that makes of it is stored with its events in
//! one transaction.

use fermi_domain::ids::TaskId;
use fermi_domain::language::Text;
use fermi_domain::messages::Refusal;
use fermi_domain::phase::TaskPhase;
use fermi_domain::task::{Happening, NodeRunState, Note, Task, TaskSpec};
use fermi_store::events::NewEvent;
use fermi_store::{StoreError, Transaction, UpdateError, WriteError};

use crate::core::Core;

/// Why a task could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum CourseError {
    #[error("there is no task {0}")]
    NotFound(TaskId),
    #[error(transparent)]
    Update(#[from] UpdateError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Lets something happen to a task inside a transaction. Answers with the task as it is then.
pub fn happen(
    tx: &mut Transaction<'_>,
    id: &TaskId,
    happenings: impl IntoIterator<Item = Happening>,
    now_ms: u64,
) -> Result<Task, CourseError> {
    let Some(found) = tx.task(id)? else { return Err(CourseError::NotFound(id.clone())) };
    let (mut task, revision) = (found.value, found.revision);
    let before = task.clone();
    let mut notes = Vec::new();
    for happening in happenings {
        notes.extend(task.apply(happening, now_ms));
    }
    if task == before {
        return Ok(task);
    }
    tx.update_task(&task, revision, now_ms)?;
    for note in notes {
        tx.append_event(event_of(&task, note, now_ms))?;
    }
    release_what_is_free(tx, &task)?;
    Ok(task)
}

/// Workers are free again as soon as nothing of a task that is over, or back in the queue, can be left on them.
fn release_what_is_free(tx: &mut Transaction<'_>, task: &Task) -> Result<(), StoreError> {
    let holds = !task.phase.is_final() && !matches!(task.phase, TaskPhase::Initializing | TaskPhase::Queued);
    if holds {
        return Ok(());
    }
    if task.is_swept() {
        tx.release(&task.id)?;
        return Ok(());
    }
    for node in &task.nodes {
        if matches!(node.state, NodeRunState::Waiting | NodeRunState::Gone) {
            tx.release_environment(&task.id, &node.environment)?;
        }
    }
    Ok(())
}

fn event_of(task: &Task, note: Note, now_ms: u64) -> NewEvent {
    NewEvent {
        time_ms: now_ms,
        task: Some(task.id.clone()),
        environment: None,
        kind: note.kind.to_owned(),
        attempt: task.attempt().map(|attempt| attempt.number.get()),
        rank: None,
        text: note.text,
        data: None,
    }
}

/// Stores a new task with its first event.
pub fn create(tx: &mut Transaction<'_>, spec: TaskSpec, notes: Vec<Text>, now_ms: u64) -> Result<Task, CreateError> {
    check_references(tx, &spec)?;
    let task = tx.insert_task(spec, now_ms)?;
    let created = Note {
        kind: "task.created",
        text: Text::new(
            format!("任务“{}”已创建", task.spec.name),
            format!("the task '{}' was created", task.spec.name),
        ),
    };
    tx.append_event(event_of(&task, created, now_ms))?;
    for text in notes {
        tx.append_event(event_of(&task, Note { kind: "task.note", text }, now_ms))?;
    }
    Ok(task)
}

/// Why a task could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a task names must exist when it is stored.
fn check_references(tx: &Transaction<'_>, spec: &TaskSpec) -> Result<(), CreateError> {
    if let Some(dataset) = &spec.dataset {
        if tx.dataset(&dataset.dataset_id)?.is_none() {
            return Err(Refusal::DatasetUnknown { id: dataset.dataset_id.clone() }.into());
        }
        let version = tx.version(&dataset.dataset_version_id)?;
        if version.is_none_or(|version| version.dataset_id != dataset.dataset_id) {
            return Err(Refusal::DatasetVersionUnknown { id: dataset.dataset_version_id.clone() }.into());
        }
    }
    if let Some(id) = &spec.model_id
        && tx.model(id)?.is_none()
    {
        return Err(Refusal::ModelUnknown { id: id.clone() }.into());
    }
    Ok(())
}

impl Core {
    /// Lets something happen to a task, durably, and wakes whoever has to act on it.
    pub async fn happen(&self, id: &TaskId, happening: Happening) -> Result<Task, CourseError> {
        let (id, now_ms) = (id.clone(), self.now_ms());
        let task =
            self.store().write(move |tx| happen(tx, &id, [happening], now_ms)).await.map_err(WriteError::flatten)?;
        self.ring();
        Ok(task)
    }
}
