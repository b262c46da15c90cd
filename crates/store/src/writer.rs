//! The one writer: it takes all that is queued, does it in one transaction, and answers when the disk has it.
//!
//! A sync of the disk costs milliseconds whatever it carries, so that writes which wait for one share the next.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
};

use rusqlite::Connection;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::{StoreError, Transaction, WriteError, ballast::Ballast, events::StoredEvent, metrics::Counters};

/// How many writes wait before whoever comes next has to.
pub(crate) const QUEUE: usize = 4096;
/// How many writes share a commit at most.
const BATCH: usize = 512;

/// What the writer finds in its queue.
pub(crate) enum WriteRequest {
    Write(Write),
    /// Finish what is queued, then end.
    Close,
}

pub(crate) type Write = Box<dyn FnOnce(&mut Transaction<'_>) -> Done + Send>;

/// A closure has run; its answer waits for the commit.
pub(crate) struct Done {
    is_kept: bool,
    answer: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

/// Wraps a closure of any type, and gives the place where its answer will be.
pub(crate) fn prepare<T, E, F>(work: F) -> (Write, oneshot::Receiver<Result<T, WriteError<E>>>)
where
    F: FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let write = Box::new(move |transaction: &mut Transaction<'_>| {
        let result = catch_unwind(AssertUnwindSafe(|| work(transaction)))
            .map_or(Err(WriteError::Failed(StoreError::Panicked)), |result| result.map_err(WriteError::Refused));
        let is_kept = result.is_ok();
        let answer = Box::new(move |committed: Result<(), StoreError>| {
            let result = match (result, committed) {
                // What was refused stays refused, whatever became of the others.
                (Ok(_), Err(error)) => Err(WriteError::Failed(error)),
                (result, _) => result,
            };
            // Nobody may be waiting any more; the write stands all the same.
            let _ = sender.send(result);
        });
        Done { is_kept, answer: answer as Box<_> }
    });
    (write, receiver)
}

/// The writer's thread.
pub(crate) struct Writer {
    pub connection: Connection,
    pub ballast: Ballast,
    pub requests: mpsc::Receiver<WriteRequest>,
    pub events: broadcast::Sender<Arc<StoredEvent>>,
    pub changes: watch::Sender<u64>,
    pub counters: Arc<Counters>,
}

impl Writer {
    /// Serves until the queue is closed and empty.
    pub fn serve(mut self) {
        let mut batch = Vec::new();
        while let Some(request) = self.requests.blocking_recv() {
            self.take(request, &mut batch);
            while batch.len() < BATCH
                && let Ok(request) = self.requests.try_recv()
            {
                self.take(request, &mut batch);
            }
            if !batch.is_empty() {
                self.write(std::mem::take(&mut batch));
            }
        }
        // Only tidiness: the next opener would read the log as well.
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    fn take(&mut self, request: WriteRequest, batch: &mut Vec<Write>) {
        match request {
            WriteRequest::Write(write) => batch.push(write),
            WriteRequest::Close => self.requests.close(),
        }
    }

    fn write(&mut self, batch: Vec<Write>) {
        let size = batch.len() as u64;
        self.counters.batches.fetch_add(1, Relaxed);
        self.counters.writes.fetch_add(size, Relaxed);
        self.counters.last_batch.store(size, Relaxed);
        let mut done = Vec::with_capacity(batch.len());
        self.ballast.tend();
        match self.run(batch, &mut done) {
            Ok(events) => {
                self.counters.syncs.fetch_add(1, Relaxed);
                for event in events {
                    // An event that nobody listens to is in the table.
                    let _ = self.events.send(event);
                }
                self.changes.send_modify(|changes| *changes += 1);
                done.into_iter().for_each(|done| (done.answer)(Ok(())));
            }
            Err(error) => {
                self.counters.failed_batches.fetch_add(1, Relaxed);
                if !self.connection.is_autocommit() {
                    // If even this fails, the next transaction does, and says so.
                    let _ = self.connection.execute_batch("ROLLBACK");
                }
                self.make_room();
                // Whoever has not run hears of it by the end of his channel.
                done.into_iter().for_each(|done| (done.answer)(Err(error.clone())));
            }
        }
    }

    /// What failed may have found the disk full: the next batch shall not.
    fn make_room(&mut self) {
        self.ballast.release();
        // The log of the database goes into the database, which gives back what it took on the disk.
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    /// All of a batch in one transaction, each in a savepoint of its own.
    fn run(&self, batch: Vec<Write>, done: &mut Vec<Done>) -> Result<Vec<Arc<StoredEvent>>, StoreError> {
        self.execute("BEGIN IMMEDIATE")?;
        let mut events = Vec::new();
        for write in batch {
            self.execute("SAVEPOINT one")?;
            let mut transaction = Transaction::new(&self.connection);
            let outcome = write(&mut transaction);
            let is_kept = outcome.is_kept;
            let told = transaction.events;
            done.push(outcome);
            if self.connection.is_autocommit() {
                return Err(StoreError::TransactionLost);
            }
            if is_kept {
                events.extend(told);
            } else {
                self.execute("ROLLBACK TO one")?;
            }
            self.execute("RELEASE one")?;
        }
        self.execute("COMMIT").map_err(|error| match error {
            StoreError::Sql(source) => StoreError::Commit(source),
            other => other,
        })?;
        Ok(events)
    }

    fn execute(&self, sql: &str) -> Result<(), StoreError> {
        Ok(self.connection.prepare_cached(sql)?.raw_execute().map(|_| ())?)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Store, StoreError, WriteError, datasets::NewDataset, events::EventFilter, snapshots::Snapshot};

    fn snapshot(number: usize) -> Snapshot {
        Snapshot { digest: format!("{number}"), name: "x".repeat(20_000), bytes: 1, created_ms: 1 }
    }

    #[test]
    fn a_full_disk_answers_the_truth_and_the_writer_lives_on() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let limit = |more: Option<i64>| {
            let set = store.write_blocking(move |tx| {
                let pages: i64 = tx.connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
                let most = more.map_or(1 << 30, |more| pages + more);
                tx.connection.query_row(&format!("PRAGMA max_page_count = {most}"), [], |_| Ok(()))
            });
            set.unwrap();
        };
        limit(Some(20));
        let writers: Vec<_> = (0..40)
            .map(|number| {
                let store = store.clone();
                std::thread::spawn(move || {
                    let kept = store.write_blocking(move |tx| {
                        let result = tx.put_snapshot(&snapshot(number));
                        // Some do not even notice that they failed, and can only be told by the writer.
                        if number % 2 == 0 { result } else { Ok(()) }
                    });
                    (number, kept)
                })
            })
            .collect();
        let mut failures = 0;
        for writer in writers {
            let (number, kept) = writer.join().unwrap();
            let is_there = store.read_blocking(move |view| view.snapshot(&number.to_string())).unwrap().is_some();
            match kept {
                Ok(()) if number % 2 == 0 => assert!(is_there, "{number} was acknowledged"),
                // A statement that failed alone is undone alone; its closure chose to go on.
                Ok(()) => {}
                Err(_) => assert!(!is_there, "{number} was refused"),
            }
            failures += usize::from(!is_there);
        }
        assert!(failures > 20, "the disk was never full");
        limit(None);
        store.write_blocking(|tx| tx.put_snapshot(&snapshot(99))).unwrap();
        assert!(store.read_blocking(|view| view.snapshot("99")).unwrap().is_some());
    }

    #[test]
    fn a_commit_that_fails_fails_every_write_of_its_batch() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let broken = store.write_blocking(|tx| {
            // A reference into nothing that is only looked at when the transaction ends.
            tx.connection.pragma_update(None, "defer_foreign_keys", true)?;
            tx.connection.execute(
                "INSERT INTO dataset_versions (dataset_seq, version, path, created_ms) VALUES (99, '', '', 0)",
                [],
            )?;
            tx.create_dataset(&NewDataset { name: "lost".into(), ..Default::default() }, 1).unwrap();
            Ok::<_, StoreError>(())
        });
        assert!(matches!(broken, Err(WriteError::Failed(StoreError::Commit(_)))), "{broken:?}");
        assert_eq!(store.metrics().failed_batches, 1);
        assert_eq!(store.read_blocking(|view| view.list_datasets(None, 10, None)).unwrap().rows, []);
        store
            .write_blocking(|tx| tx.create_dataset(&NewDataset { name: "kept".into(), ..Default::default() }, 1))
            .unwrap();
        assert_eq!(store.read_blocking(|view| view.events(0, &EventFilter::default(), 9)).unwrap(), []);
    }
}
