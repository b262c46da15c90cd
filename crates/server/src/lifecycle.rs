//! The one way in which a task changes: something happens to it, and what that makes of it is stored with its events in
//! one transaction.

use fermi_domain::ids::TaskId;
use fermi_domain::language::Text;
use fermi_domain::messages::RequestRefusal;
use fermi_domain::phase::TaskPhase;
use fermi_domain::principal::Principal;
use fermi_domain::task::{EventText, PhaseChange, Release, Source, Task, TaskInput, TaskSpec};
use fermi_store::events::NewEvent;
use fermi_store::snapshots;
use fermi_store::{StoreError, Transaction, UpdateError, View, WriteError};
use tracing::Instrument;

use crate::access::vault;
use crate::core::Core;

/// Why a task could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum LifecycleError {
    #[error("there is no task {0}")]
    NotFound(TaskId),
    #[error(transparent)]
    Update(#[from] UpdateError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// On whose behalf something happens, and when.
#[derive(Clone, Debug)]
pub struct Cause {
    pub principal: Principal,
    pub now_ms: u64,
}

/// A task after something happened to it.
#[derive(Debug)]
pub struct Changed {
    pub task: Task,
    /// Its phases on the way, in their order.
    pub phases: Vec<PhaseChange>,
    /// Whether anything about it is other than before.
    pub has_changed: bool,
    /// Workers of it may be leased by others now.
    pub has_freed: bool,
    pub principal: Principal,
}

impl Changed {
    /// One line per change of phase. To be called once the change is on disk.
    pub fn log(&self) {
        let task = &self.task;
        let attempt = task.attempt().map(|attempt| attempt.number.get());
        for PhaseChange { from, to } in &self.phases {
            // What is noted on the task belongs to the phase that it has now.
            let is_last = *to == task.phase;
            let verdict = task.verdict.as_ref().filter(|_| is_last && to.is_final());
            let reason = verdict.map(|verdict| verdict.headline()).or_else(|| task.reason.clone().filter(|_| is_last));
            tracing::info!(
                task = %task.id,
                attempt,
                generation = task.generation.0,
                from = %from.text().en,
                to = %to.text().en,
                reason = reason.as_ref().map(|reason| &*reason.en),
                principal = %self.principal,
                "a task's phase has changed"
            );
        }
    }
}

/// Lets something happen to a task inside a transaction. Answers with the task as it is then.
pub fn apply(
    tx: &mut Transaction<'_>,
    id: &TaskId,
    inputs: impl IntoIterator<Item = TaskInput>,
    cause: &Cause,
) -> Result<Changed, LifecycleError> {
    let Some(found) = tx.task(id)? else { return Err(LifecycleError::NotFound(id.clone())) };
    let (mut task, revision) = (found.value, found.revision);
    let before = task.clone();
    let mut notes = Vec::new();
    let mut is_told_once = false;
    for input in inputs {
        is_told_once |= matches!(input, TaskInput::Journal { .. });
        let generation = task.generation;
        notes.extend(task.apply(input, cause.now_ms));
        if task.generation > generation {
            task.pass_over_lost_launches(generation, &tx.history()?);
        }
    }
    let mut phases = Vec::new();
    let mut has_freed = false;
    let has_changed = task != before;
    if has_changed {
        tx.update_task(&task, revision, cause.now_ms)?;
        if let (Some(now), Some(then)) = (&task.ledger, &before.ledger) {
            for time in now.settled_since(then) {
                tx.add_spent(time.cause.name(), time.ms)?;
            }
        }
    }
    // A line of a journal comes once, and is told though it changes nothing; anything else may be said again and again.
    if has_changed || is_told_once {
        for note in notes {
            phases.extend(note.detail.as_ref().and_then(|detail| detail.phase));
            tx.append_event(event_of(&task, note, cause))?;
        }
    }
    if has_changed {
        has_freed = release(tx, &task)?;
    }
    Ok(Changed { task, phases, has_changed, has_freed, principal: cause.principal.clone() })
}

/// Gives back the leases that the task needs no more. Says whether there were any.
fn release(tx: &mut Transaction<'_>, task: &Task) -> Result<bool, StoreError> {
    let mut freed = 0;
    match task.releasable() {
        Release::Nothing => {}
        Release::All => freed = tx.release(&task.id)?,
        Release::Environments(environments) => {
            for environment in environments {
                freed += tx.release_environment(&task.id, environment)?;
            }
        }
    }
    Ok(freed > 0)
}

/// Writes a sentence about a task into its events.
pub fn note(
    tx: &mut Transaction<'_>,
    task: &Task,
    kind: &'static str,
    text: Text,
    cause: &Cause,
) -> Result<(), StoreError> {
    tx.append_event(event_of(task, EventText::said(kind, text), cause)).map(|_| ())
}

fn event_of(task: &Task, note: EventText, cause: &Cause) -> NewEvent {
    let event = NewEvent::new(cause.now_ms, note.kind, note.text, cause.principal.clone()).about_task(&task.id);
    NewEvent { attempt: task.attempt().map(|attempt| attempt.number.get()), detail: note.detail, ..event }
}

/// Stores a new task with its first event.
pub fn create(tx: &mut Transaction<'_>, spec: TaskSpec, notes: Vec<Text>, cause: &Cause) -> Result<Task, CreateError> {
    check_references(tx, &spec, &cause.principal)?;
    let task = tx.insert_task(spec, &cause.principal, cause.now_ms)?;
    let name = &task.spec.name;
    let created = Text::new(format!("任务“{name}”已创建"), format!("the task '{name}' was created"));
    tx.append_event(event_of(&task, EventText::said("task.created", created), cause))?;
    for text in notes {
        tx.append_event(event_of(&task, EventText::said("task.note", text), cause))?;
    }
    Ok(task)
}

/// A task that was made, for the line that says so once it is on disk.
#[derive(Debug)]
pub struct CreatedLine {
    pub task: TaskId,
    pub name: String,
    pub principal: Principal,
}

impl CreatedLine {
    pub fn log(&self) {
        let Self { task, name, principal } = self;
        tracing::info!(%task, name, to = %TaskPhase::Initializing.text().en, %principal, "a task was created");
    }
}

/// Why a task could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error(transparent)]
    Refused(#[from] RequestRefusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a task names must exist when it is stored; its secrets for the one who asks for it.
pub fn check_references(tx: &View<'_>, spec: &TaskSpec, by: &Principal) -> Result<(), CreateError> {
    if let Some(dataset) = &spec.dataset {
        if tx.dataset(&dataset.dataset_id)?.is_none() {
            return Err(RequestRefusal::DatasetUnknown { id: dataset.dataset_id.clone() }.into());
        }
        let version = tx.version(&dataset.dataset_version_id)?;
        if version.is_none_or(|version| version.dataset_id != dataset.dataset_id) {
            return Err(RequestRefusal::DatasetVersionUnknown { id: dataset.dataset_version_id.clone() }.into());
        }
    }
    // Named ones of a task that is over may have been deleted since.
    for id in spec.distributed.node_ids.iter().chain(spec.distributed.workers.keys()) {
        if tx.environment(id)?.is_none() {
            return Err(RequestRefusal::EnvironmentUnknown { id: id.clone() }.into());
        }
    }
    if let Some(id) = &spec.model_id
        && tx.model(id)?.is_none()
    {
        return Err(RequestRefusal::ModelUnknown { id: id.clone() }.into());
    }
    if let Some(Source::Snapshot(digest)) = &spec.source
        && tx.snapshot(&snapshots::bare(digest))?.is_none()
    {
        return Err(RequestRefusal::SnapshotUnknown { digest: digest.clone() }.into());
    }
    for (_, name) in spec.secrets() {
        if vault::find(tx, by.user(), name)?.is_none() {
            return Err(RequestRefusal::SecretUnknown { name: name.to_owned() }.into());
        }
    }
    Ok(())
}

/// Does it to the end, though the request that waits for it may end early: a client hangs up, a time-out. A write is
/// committed once it is handed in, so that what follows it must not hang on the caller.
pub async fn to_the_end<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    match tokio::spawn(work.in_current_span()).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Nothing aborts it: the runtime ends, and the caller with it.
            Err(_) => std::future::pending().await,
        },
    }
}

impl Core {
    /// Applies an input to a task, durably, and wakes the loops that act on it.
    pub async fn apply(&self, id: &TaskId, input: TaskInput, by: Principal) -> Result<Task, LifecycleError> {
        let span = tracing::info_span!("task", task = %id);
        let (id, cause) = (id.clone(), Cause { principal: by, now_ms: self.now_ms() });
        let change = self.change(move |tx| apply(tx, &id, [input], &cause), std::slice::from_ref);
        let changed = change.instrument(span).await;
        Ok(changed.map_err(WriteError::flatten)?.task)
    }

    /// Stores what `work` makes of tasks, and follows up the changes that `changes` finds in its answer.
    pub async fn change<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
        changes: impl FnOnce(&T) -> &[Changed] + Send + 'static,
    ) -> Result<T, WriteError<E>> {
        let core = self.clone();
        to_the_end(async move {
            let done = core.store().write(work).await?;
            core.follow_up(changes(&done)).await;
            Ok(done)
        })
        .await
    }

    /// What has to be done when changes are on disk: they are logged, and the loops that act on them are woken.
    async fn follow_up(&self, changes: &[Changed]) {
        // A loop that is woken for nothing would find the same and wake itself without end.
        if !changes.iter().any(|changed| changed.has_changed) {
            return;
        }
        for changed in changes {
            changed.log();
            self.stir(&changed.task, &changed.phases);
            if changed.phases.iter().any(|change| change.to.is_final()) {
                self.bells().webhooks.notify_one();
            }
        }
        if changes.iter().any(|changed| changed.has_freed)
            && let Err(error) = self.refresh_environments().await
        {
            tracing::error!(%error, "environments could not be read");
        }
        self.ring();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn work_goes_on_to_its_end_when_nobody_waits_for_it_any_more() {
        let (go, gone) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        let waiting = to_the_end(async move {
            let _ = gone.await;
            let _ = done.send(7);
        });
        // Polled once, as the future of a request is before its client hangs up; then dropped.
        assert!(waiting.now_or_never().is_none());
        go.send(()).unwrap();
        assert_eq!(is_done.await, Ok(7));
    }
}
