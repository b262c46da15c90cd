//! Lets go of what is too old, too much, or referred to by nothing. What goes is decided in [`fermi_domain::retention`]; this
//! loop finds out what there is, and carries it out in steps that hold nothing up.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fermi_domain::ids::TaskId;
use fermi_domain::retention::{self, BelievedClock, Expiry, KeptLogs, LogOwner, RetentionPolicy};
use fermi_store::events::PRUNE_AT_ONCE;
use fermi_store::snapshots::Snapshot;
use fermi_store::{StoreError, Transaction, WriteError};

use crate::background::BackgroundLoop;
use crate::core::Core;
use crate::kept::Kind;

/// A run ends by then, and the next one goes on where it ended.
const LONGEST_RUN: Duration = Duration::from_secs(15);

pub struct Retention {
    core: Core,
    policy: RetentionPolicy,
    began: Instant,
    clock: Option<BelievedClock>,
    /// Since when logs without a task have been seen, by the believed clock.
    ownerless: HashMap<TaskId, u64>,
    has_more: bool,
}

impl Retention {
    pub fn new(core: &Core) -> Self {
        Self {
            core: core.clone(),
            policy: core.retention(),
            began: Instant::now(),
            clock: None,
            ownerless: HashMap::new(),
            has_more: false,
        }
    }

    /// The time by which ages are judged.
    async fn now_ms(&mut self) -> Result<u64, StoreError> {
        let monotonic_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let wall_ms = self.core.now_ms();
        let clock = match &mut self.clock {
            Some(clock) => clock,
            None => {
                let last: Option<u64> = self.core.store().read(|view| view.believed_ms()).await?;
                self.clock.insert(BelievedClock::begin(last, wall_ms, monotonic_ms))
            }
        };
        let now_ms = clock.advance(wall_ms, monotonic_ms);
        self.core.account().believe(now_ms);
        let noted = self.core.store().write(move |tx| tx.put_believed_ms(now_ms)).await;
        noted.map_err(WriteError::<StoreError>::flatten)?;
        Ok(now_ms)
    }

    /// Deletes rows in small transactions until there are no more, or the run has taken its time.
    async fn rows(
        &mut self,
        kind: Kind,
        until: Instant,
        step: impl Fn(&mut Transaction<'_>) -> Result<usize, StoreError> + Copy + Send + 'static,
    ) -> Result<(), StoreError> {
        loop {
            let removed = self.core.store().write(step).await.map_err(WriteError::flatten)?;
            self.core.account().removed(kind, removed as u64, 0);
            if removed < PRUNE_AT_ONCE {
                return Ok(());
            }
            if Instant::now() > until {
                self.has_more = true;
                return Ok(());
            }
        }
    }

    async fn logs(&mut self, now_ms: u64, until: Instant) -> Result<(), StoreError> {
        let core = self.core.clone();
        let listed = tokio::task::spawn_blocking(move || list_logs(&core)).await;
        let listed = listed.map_err(io::Error::other).and_then(|listed| listed);
        let Ok(listed) = listed.inspect_err(|error| tracing::warn!(%error, "the logs that are kept cannot be listed"))
        else {
            return Ok(());
        };
        // Who owns them is asked after they were listed: a task whose logs were found was there before.
        let owners = self.core.store().read(|view| view.log_owners()).await?;
        self.ownerless.retain(|task, _| !owners.contains_key(task));
        let mut owner = |task: &TaskId| {
            let gone = || LogOwner::Gone { since_ms: *self.ownerless.entry(task.clone()).or_insert(now_ms) };
            owners.get(task).copied().unwrap_or_else(gone)
        };
        let kept: Vec<KeptLogs> =
            listed.iter().map(|(task, bytes)| KeptLogs { bytes: *bytes, owner: owner(task) }).collect();
        let disk = self.core.disk();
        let in_all: u64 = kept.iter().map(|logs| logs.bytes).sum();
        let excess = retention::excess(in_all, disk.budgets().in_all, disk.space(), disk.reserve());
        let goes = retention::logs_to_drop(&kept, excess, &self.policy, now_ms);
        let (mut count, mut bytes) = (kept.len() as u64, in_all);
        for (index, expiry) in goes {
            if Instant::now() > until {
                self.has_more = true;
                break;
            }
            let (Some((task, size)), Some(logs)) = (listed.get(index).cloned(), kept.get(index)) else { continue };
            match let_go(&self.core, &task, logs.owner).await? {
                Ok(false) => {}
                Ok(true) => {
                    if expiry != Expiry::Unused {
                        tracing::info!(%task, size, ?expiry, "the logs of a task were let go");
                    }
                    self.ownerless.remove(&task);
                    (count, bytes) = (count - 1, bytes - size);
                    self.core.account().removed(Kind::Logs, 1, size);
                }
                Err(error) => tracing::warn!(%task, %error, "logs could not be removed"),
            }
        }
        self.core.account().found(Kind::Logs, count, Some(bytes));
        Ok(())
    }

    async fn snapshots(&mut self, now_ms: u64) -> Result<(), StoreError> {
        let all: Vec<Snapshot> = self.core.store().read(|view| view.snapshots()).await?;
        let policy = self.policy;
        let is_candidate = |kept: &Snapshot| retention::snapshot_goes(kept.created_ms, false, &policy, now_ms);
        let (mut count, mut bytes) = (all.len() as u64, all.iter().map(|kept| kept.bytes).sum::<u64>());
        if all.iter().any(is_candidate) {
            let used = self.core.store().read(|view| view.used_snapshots()).await?;
            for kept in all {
                if !retention::snapshot_goes(kept.created_ms, used.contains(&kept.digest), &policy, now_ms) {
                    continue;
                }
                let Snapshot { digest, bytes: size, created_ms, .. } = kept;
                let file = self.core.snapshots().join(format!("{digest}.tar.gz"));
                // The row goes first: one that says of bytes which are gone that they are here would be believed.
                let forgotten = self.core.store().write(move |tx| tx.delete_snapshot(&digest, created_ms)).await;
                if forgotten.map_err(WriteError::<StoreError>::flatten)? {
                    if let Err(error) = fs::remove_file(&file) {
                        tracing::warn!(%error, file = %file.display(), "code that nothing refers to could not be removed");
                    }
                    (count, bytes) = (count - 1, bytes - size);
                    self.core.account().removed(Kind::Snapshots, 1, size);
                }
            }
        }
        self.core.account().found(Kind::Snapshots, count, Some(bytes));
        Ok(())
    }

    fn leftovers(&self, now_ms: u64) {
        let found = leftovers(&self.core.snapshots());
        let (mut count, mut bytes) = (0, 0);
        for (path, size, modified_ms) in found {
            if now_ms.saturating_sub(modified_ms) > self.policy.leftovers_ms && fs::remove_file(&path).is_ok() {
                self.core.account().removed(Kind::Leftovers, 1, size);
            } else {
                (count, bytes) = (count + 1, bytes + size);
            }
        }
        self.core.account().found(Kind::Leftovers, count, Some(bytes));
    }
}

impl BackgroundLoop for Retention {
    const NAME: &'static str = "retention";
    const PERIOD: Duration = Duration::from_secs(60);

    async fn woken(&mut self) {
        if !self.has_more {
            std::future::pending::<()>().await;
        }
    }

    async fn run(&mut self) -> Result<(), StoreError> {
        self.has_more = false;
        let until = Instant::now() + LONGEST_RUN;
        let now_ms = self.now_ms().await?;
        let policy = self.policy;
        let (events_from, answers_from) =
            (now_ms.saturating_sub(policy.events_ms), now_ms.saturating_sub(policy.answers_ms));
        self.rows(Kind::Events, until, move |tx| tx.prune_events(events_from, policy.most_events)).await?;
        self.rows(Kind::Answers, until, move |tx| tx.forget_older_than(answers_from)).await?;
        self.logs(now_ms, until).await?;
        self.snapshots(now_ms).await?;
        self.leftovers(now_ms);
        let counts = self.core.store().read(|view| view.row_counts()).await?;
        let account = self.core.account();
        account.found(Kind::Events, counts.events, None);
        account.found(Kind::Answers, counts.answers, None);
        let (files, bytes) = database(self.core.folder());
        account.found(Kind::Database, files, Some(bytes));
        Ok(())
    }
}

/// Removes the logs of a task, if it still is as it was found: a round takes many seconds, in which somebody may have restarted it.
/// Says whether they are gone.
async fn let_go(core: &Core, task: &TaskId, found: LogOwner) -> Result<io::Result<bool>, StoreError> {
    let (chunks, id) = (core.chunks().clone(), task.clone());
    // Within a transaction nobody restarts it, and what the next attempt writes comes after that.
    let aside = core.store().write(move |tx| {
        let may_go = found.is_still(tx.log_owner(&id)?);
        Ok::<_, StoreError>(may_go.then(|| chunks.set_aside(&id)))
    });
    let discarded = match aside.await.map_err(WriteError::flatten)? {
        None => return Ok(Ok(false)),
        Some(Err(error)) => return Ok(Err(error)),
        Some(Ok(discarded)) => discarded,
    };
    let removed = tokio::task::spawn_blocking(move || discarded.remove()).await;
    Ok(removed.map_err(io::Error::other).and_then(|removed| removed).map(|()| true))
}

fn list_logs(core: &Core) -> io::Result<Vec<(TaskId, u64)>> {
    let chunks = core.chunks();
    chunks.tasks()?.into_iter().map(|task| chunks.usage(&task).map(|bytes| (task, bytes))).collect()
}

/// Files that were left half written, with their size and when they were last written to.
fn leftovers(folder: &Path) -> Vec<(std::path::PathBuf, u64, u64)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let parts = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".part-"));
    let about = |entry: fs::DirEntry| {
        let about = entry.metadata().ok()?;
        let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH).duration_since(UNIX_EPOCH).ok()?;
        Some((entry.path(), about.len(), u64::try_from(modified.as_millis()).ok()?))
    };
    parts.filter_map(about).collect()
}

/// The files of the database, and their bytes.
fn database(folder: &Path) -> (u64, u64) {
    let sizes = ["fermi.db", "fermi.db-wal", "fermi.db-shm"].map(|name| fs::metadata(folder.join(name)));
    sizes.into_iter().flatten().fold((0, 0), |(files, bytes), about| (files + 1, bytes + about.len()))
}

#[cfg(test)]
mod tests {
    use fermi_domain::phase::TaskPhase;
    use fermi_domain::principal::Principal;
    use fermi_domain::task::{DistributedConfig, LaunchOptions, Policies, Selection, TaskSpec, Work};
    use fermi_store::Store;
    use fermi_store::chunks::{LocalChunks, StreamKind, StreamName};

    use super::*;
    use crate::access::Vault;
    use crate::core::CoreSettings;

    async fn standing(core: &Core, id: &TaskId, phase: TaskPhase, ended_ms: Option<u64>) {
        let id = id.clone();
        let written = core.store().write(move |tx| {
            let mut task = tx.task(&id).unwrap().unwrap();
            (task.value.phase, task.value.ended_ms) = (phase, ended_ms);
            tx.update_task(&task.value, task.revision, 7)
        });
        written.await.unwrap();
    }

    /// The first removal of a round may take long; meanwhile somebody restarts the task that is next.
    #[tokio::test]
    async fn logs_of_a_task_that_was_restarted_since_the_look_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let chunks = LocalChunks::open(&folder.path().join("streams")).unwrap();
        let (secret, vault) = ("secret".to_owned(), Vault::new("key"));
        let core = Core::new(store, chunks, secret, vault, folder.path().to_owned(), CoreSettings::default());
        let spec = TaskSpec {
            name: "a".to_owned(),
            dataset: None,
            model_id: None,
            selection: Selection::Environments,
            work: Work::Builtin { args: Vec::new() },
            source: None,
            distributed: DistributedConfig::default(),
            options: LaunchOptions::default(),
            policies: Policies::default(),
            priority: 0,
            labels: Default::default(),
        };
        let written = core.store().write(move |tx| tx.insert_task(spec, &Principal::System, 1)).await;
        let id = written.map_err(WriteError::<StoreError>::flatten).unwrap().id;
        let name = StreamName { task: id.clone(), attempt: 1, rank: 0, kind: StreamKind::Stdout };
        standing(&core, &id, TaskPhase::Succeeded, Some(5)).await;
        core.chunks().append(&name, 0, b"of the first launch\n").unwrap();
        let owners: Result<_, StoreError> = core.store().read(|view| view.log_owners()).await;
        let found = owners.unwrap()[&id];
        assert_eq!(found, LogOwner::Over { ended_ms: 5 });

        standing(&core, &id, TaskPhase::Running, None).await;
        let of_now = StreamName { attempt: 2, ..name.clone() };
        core.chunks().append(&of_now, 0, b"of the one that runs\n").unwrap();
        assert!(!let_go(&core, &id, found).await.unwrap().unwrap(), "it lives");
        standing(&core, &id, TaskPhase::Failed, Some(6)).await;
        assert!(!let_go(&core, &id, found).await.unwrap().unwrap(), "its end is another one");
        assert!(!let_go(&core, &id, LogOwner::Gone { since_ms: 1 }).await.unwrap().unwrap(), "a backup has it again");
        assert_eq!(core.chunks().read(&of_now, 0, 99).unwrap(), b"of the one that runs\n");

        assert!(let_go(&core, &id, LogOwner::Over { ended_ms: 6 }).await.unwrap().unwrap());
        assert_eq!(core.chunks().streams(&id).unwrap(), []);
        let gone = TaskId::from("task-99");
        let name = StreamName { task: gone.clone(), ..name };
        core.chunks().append(&name, 0, b"x").unwrap();
        assert!(let_go(&core, &gone, LogOwner::Gone { since_ms: 1 }).await.unwrap().unwrap());
        assert_eq!(std::fs::read_dir(folder.path().join("streams")).unwrap().count(), 0, "nothing is left aside");
    }
}
