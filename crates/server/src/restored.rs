//! What is held back after an older state of the database was put back: runs that it has never launched, and tasks that a
//! machine may be running which has not come yet.

use fermi_domain::environment::{Environment, EnvironmentStatus};
use fermi_domain::fleet::{self, Conclusion, Heard, History, Hold, KnownRun, StrayRun};
use fermi_domain::ids::{EnvironmentId, TaskId};
use fermi_domain::language::Text;
use fermi_domain::principal::Principal;
use fermi_domain::task::{RunKey, Task};
use fermi_store::events::NewEvent;
use fermi_store::trailing::TrailingRun;
use fermi_store::{StoreError, Transaction, UpdateError, View, WriteError};

use crate::agents::owner;
use crate::core::Core;

/// How many names a sentence lists.
const NAMED: usize = 3;
/// An agent that names a task this far beyond the last one is not believed.
const MOST_LOST: u64 = 10_000_000;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    pub history: History,
    pub strays: Vec<StrayRun>,
}

impl Restored {
    /// The stray of this name, and whether an operator has asked for its end.
    pub fn stray(&self, run: &RunKey) -> Option<&StrayRun> {
        self.strays.iter().find(|stray| stray.run == *run)
    }

    /// An environment as the queue may see it: none is picked on which a run may live that the database does not know.
    pub fn bar(&self, environment: &mut Environment) {
        if self.strays.iter().any(|stray| stray.alive && stray.environment == environment.id) {
            environment.status = EnvironmentStatus::Suspect;
        }
    }
}

impl Core {
    /// Why the ranks of a task are not started; `uses` says of an environment whether the task has workers there.
    pub fn hold(&self, task: &TaskId, uses: impl Fn(&EnvironmentId) -> bool) -> Option<Text> {
        let Restored { history, strays } = &*self.restored();
        let known = self.known_environments();
        let name_of = |id: &EnvironmentId| {
            known.iter().find(|known| known.id == *id).map_or_else(|| id.to_string(), |known| known.name.clone())
        };
        Some(match history.hold(strays, task, uses)? {
            Hold::Stray(stray) => fleet::waits_for_stray(&stray.run, &name_of(&stray.environment)),
            Hold::Unheard => {
                let names: Vec<String> = history.unheard.iter().take(NAMED).map(name_of).collect();
                let more = if history.unheard.len() > NAMED { " …" } else { "" };
                fleet::waits_for_unheard(&format!("{}{more}", names.join(", ")))
            }
        })
    }

    /// The same of a whole task.
    pub fn hold_of(&self, task: &Task) -> Option<Text> {
        self.hold(&task.id, |id| task.nodes.iter().any(|node| node.environment == *id))
    }
}

/// What an agent's hello leads to.
pub struct Comparison {
    pub conclusions: Vec<Conclusion>,
    /// The highest number that a task of the database has been given.
    pub last_task: u64,
    /// Whether a task has a part on its node, or may have.
    pub has_tasks: bool,
    /// Runs of which bytes were to come and that the agent does not have any more.
    pub settled: Vec<RunKey>,
}

/// Compares an agent's hello with what is stored.
pub fn compare(
    view: &View<'_>,
    environment: &EnvironmentId,
    known: &[KnownRun],
    seen: Option<&[RunKey]>,
) -> Result<Comparison, StoreError> {
    let (history, strays, last) = (view.history()?, view.strays()?, view.last_task_number()?);
    let mut tasks: Vec<Task> = view.live_tasks_on(environment)?.into_iter().map(|task| task.value).collect();
    let live = tasks.len();
    let is_first = history.unheard.contains(environment);
    let heard = if is_first { Heard::FirstSinceRestore } else { Heard::Before };
    for KnownRun { run, .. } in known {
        if !tasks.iter().any(|task| task.id == run.task) {
            tasks.extend(view.task(&run.task)?.map(|task| task.value));
        }
    }
    let task_of = |run: &RunKey| tasks.iter().find(|task| task.id == run.task);
    let origin = |run: &RunKey| history.origin(run, &strays, task_of(run), last);
    let is_unreadable = |run: &RunKey| match task_of(run) {
        Some(_) => Ok(false),
        None => view.task_exists(&run.task),
    };
    let mut conclusions = fleet::compare(&tasks[..live], environment, known, seen, heard, origin);
    // What cannot be read cannot say that it wants nothing.
    let mut error = None;
    conclusions.retain(|conclusion| match conclusion {
        Conclusion::Kill(run) => !is_unreadable(run).unwrap_or_else(|failed| {
            error = Some(failed);
            true
        }),
        // Its agent says when all that was written has come, and is told to forget it then.
        Conclusion::Forget(run) => match (is_unreadable(run), owner::environment_of(view, run)) {
            (Ok(is_unreadable), Ok(of_run)) => !is_unreadable && of_run.as_ref() != Some(environment),
            (Err(failed), _) | (_, Err(failed)) => {
                error = Some(failed);
                true
            }
        },
        _ => true,
    });
    let is_settled = |trailing: &TrailingRun| {
        trailing.environment == *environment && !known.iter().any(|known| known.run == trailing.run)
    };
    let settled = view.trailing()?.into_iter().filter(is_settled).map(|trailing| trailing.run).collect();
    let has_tasks = live > 0 || !known.is_empty();
    error.map_or(Ok(Comparison { conclusions, last_task: last, has_tasks, settled }), Err)
}

/// What a hello tells of tasks that the database may not know.
pub struct Told {
    /// Runs that the database has never launched.
    pub strays: Vec<KnownRun>,
    /// A task with a folder there whose number the database has never given.
    pub later_task: Option<TaskId>,
    /// Whether the agent has said whose runs these are: one of an earlier release may mean another server's.
    pub names_cluster: bool,
    /// Whether something was concluded from what it believes to run: one that finds out an older database is judged at its next
    /// hello, as one that was not heard since.
    pub is_compared: bool,
}

impl Told {
    /// The highest number of a task that the agent can be believed to have been given, by a database whose last one is this.
    fn highest(&self, last: u64) -> u64 {
        let tasks = self.strays.iter().map(|known| &known.run.task).chain(&self.later_task);
        tasks.filter_map(fleet::number).filter(|number| *number < last.saturating_add(MOST_LOST)).max().unwrap_or(0)
    }

    /// Whether a database whose last task is this is found out by it to be older than it knew.
    pub fn is_ahead_of(&self, last: u64) -> bool {
        self.names_cluster && self.highest(last) > last
    }
}

/// Stores that an environment has been heard since the last restore, with the runs there that the database has never
/// launched. A database that was put back by hand is found out by them, or by a task that has left a folder there.
pub async fn note_hello(core: &Core, environment: &EnvironmentId, told: Told) -> Result<(), StoreError> {
    let restored = core.restored();
    let is_expected = restored.history.unheard.contains(environment);
    let are_known = told.later_task.is_none()
        && told.strays.iter().all(|known| {
            let stray = restored.stray(&known.run);
            stray.is_some_and(|stray| stray.environment == *environment && stray.alive == known.alive)
        });
    if !is_expected && are_known {
        return Ok(());
    }
    let (at, now_ms) = (environment.clone(), core.now_ms());
    let noted = core.store().write(move |tx| note(tx, &at, &told, now_ms)).await;
    let is_found_out = noted.map_err(WriteError::<StoreError>::flatten)?;
    core.refresh_environments().await?;
    if is_found_out {
        // What they have said was to a database that did not know how old it is, and what they send is of the epoch that it
        // had: all say hello again.
        for known in core.known_environments().iter() {
            core.hub().hang_up(&known.id);
        }
    }
    core.ring();
    Ok(())
}

/// Says whether the database was found out to be older than it knew.
fn note(tx: &mut Transaction<'_>, at: &EnvironmentId, told: &Told, now_ms: u64) -> Result<bool, StoreError> {
    let last = tx.last_task_number()?;
    let highest = told.highest(last);
    let is_found_out = told.is_ahead_of(last);
    let mut history = if is_found_out { tx.note_restore(highest)? } else { tx.history()? };
    if is_found_out {
        let text = Text::new(
            format!("数据库比节点旧：节点上有 task-{highest}，数据库中没有；按从备份恢复处理"),
            format!(
                "the database is older than a node, which has task-{highest}: it is taken for one that was restored"
            ),
        );
        tx.append_event(NewEvent::new(now_ms, "server.restored", text, Principal::System).about_environment(at))?;
    }
    for known in &told.strays {
        if tx.put_stray(known, at, now_ms)? {
            let run = &known.run;
            let text = Text::new(
                format!(
                    "{run} 不是由这个数据库启动的：数据库被换成了较早的状态；该运行继续，由 fermi server strays 处理"
                ),
                format!(
                    "{run} was not launched by this database, which was put back to an earlier state: the run goes on; \
                     see fermi server strays"
                ),
            );
            tx.append_event(NewEvent::new(now_ms, "run.set_aside", text, Principal::System).about_environment(at))?;
        }
        pass_over(tx, &known.run, now_ms)?;
    }
    if told.is_compared && history.unheard.remove(at) {
        tx.set_history(&history)?;
    }
    Ok(is_found_out)
}

/// The next launch of the task gets a name that no run has.
fn pass_over(tx: &mut Transaction<'_>, run: &RunKey, now_ms: u64) -> Result<(), StoreError> {
    let Some(found) = tx.task(&run.task)? else { return Ok(()) };
    let (mut task, revision) = (found.value, found.revision);
    if !task.pass_over(run) {
        return Ok(());
    }
    match tx.update_task(&task, revision, now_ms) {
        Ok(()) => Ok(()),
        Err(UpdateError::Store(error)) => Err(error),
        // It was read in this very transaction.
        Err(UpdateError::Conflict { .. } | UpdateError::Missing) => Err(StoreError::TransactionLost),
    }
}

/// Nothing is expected of an environment any more: it was declared lost, or is forgotten.
pub fn give_up(tx: &mut Transaction<'_>, environment: &EnvironmentId) -> Result<(), StoreError> {
    tx.remove_strays(environment, None)?;
    for trailing in tx.trailing()? {
        if trailing.environment == *environment {
            tx.remove_trailing(&trailing.run, environment)?;
        }
    }
    let mut history = tx.history()?;
    if history.unheard.remove(environment) {
        tx.set_history(&history)?;
    }
    Ok(())
}

/// Whether the database is known to be behind what is kept beside it; if so, that is noted, as after a restore.
pub async fn find_out(core: &Core) -> Result<(), StoreError> {
    let chunks = core.chunks().clone();
    let tasks = tokio::task::spawn_blocking(move || chunks.tasks()).await;
    let highest = tasks.ok().and_then(Result::ok).unwrap_or_default();
    let highest = highest.iter().filter_map(fleet::number).max().unwrap_or(0);
    let now_ms = core.now_ms();
    let noted = core.store().write(move |tx| {
        if highest <= tx.last_task_number()? {
            return Ok(());
        }
        tx.note_restore(highest)?;
        let text = Text::new(
            format!("数据库比日志旧：日志中有 task-{highest}，数据库中没有；按从备份恢复处理"),
            format!(
                "the database is older than the logs, which have task-{highest}: it is taken for one that was restored"
            ),
        );
        tx.append_event(NewEvent::new(now_ms, "server.restored", text, Principal::System)).map(|_| ())
    });
    noted.await.map_err(WriteError::<StoreError>::flatten)
}

/// Whether nothing is to be done about a run, since the operator has not decided.
pub fn is_set_aside(core: &Core, run: &RunKey) -> bool {
    core.restored().stray(run).is_some_and(|stray| !stray.ending)
}
