//! The handle that everybody holds.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

use fermi_folder_lock::FolderLock;
use tokio::sync::{broadcast, mpsc, watch};

use crate::{
    OpenError, StoreError, StoreMetrics, Transaction, View, WriteError,
    events::StoredEvent,
    metrics::Counters,
    open::{self, Opened},
    reader,
    writer::{self, Writer},
};

/// How many events a listener may lag behind before it has to read them from the table.
const BROADCAST: usize = 4096;

/// One folder's store. Clones are the same store; the last one to go closes it.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    cluster: String,
    writes: mpsc::Sender<writer::WriteRequest>,
    reads: mpsc::Sender<reader::ReadRequest>,
    events: broadcast::Sender<Arc<StoredEvent>>,
    changes: watch::Receiver<u64>,
    counters: Arc<Counters>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Given back last: after the threads have ended.
    lock: Mutex<Option<FolderLock>>,
}

impl Store {
    /// Opens the store of a folder, and makes it where there is none.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        let Opened { lock, ballast, writer: connection, readers, cluster } = open::open(folder, reader::READERS)?;
        let (writes, write_requests) = mpsc::channel(writer::QUEUE);
        let (reads, read_requests) = mpsc::channel(reader::QUEUE);
        let (events, _) = broadcast::channel(BROADCAST);
        let (changes, changed) = watch::channel(0);
        let counters = Arc::new(Counters::default());

        let mut threads = Vec::new();
        let writer = Writer {
            connection,
            ballast,
            requests: write_requests,
            events: events.clone(),
            changes,
            counters: counters.clone(),
        };
        threads.push(spawn("store-writer", move || writer.serve())?);
        let read_requests = Arc::new(Mutex::new(read_requests));
        for connection in readers {
            let (requests, counters) = (read_requests.clone(), counters.clone());
            threads.push(spawn("store-reader", move || reader::serve(&connection, &requests, &counters))?);
        }
        let inner = Inner {
            cluster,
            writes,
            reads,
            events,
            changes: changed,
            counters,
            threads: Mutex::new(threads),
            lock: Mutex::new(Some(lock)),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Four letters or digits that tell this folder from every other.
    pub fn cluster(&self) -> &str {
        &self.inner.cluster
    }

    /// Runs a closure that changes things. Answers once the disk has the change; a closure that says no changes nothing.
    ///
    /// A write that has been queued is done even if nobody waits for its answer any more.
    pub async fn write<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, WriteError<E>> {
        let (write, answer) = writer::prepare(work);
        let closed = || WriteError::Failed(StoreError::Closed);
        self.inner.writes.send(writer::WriteRequest::Write(write)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| WriteError::Failed(StoreError::TransactionLost))?
    }

    /// [`Self::write`] for threads; panics inside an asynchronous task, as it would stop all others there.
    pub fn write_blocking<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, WriteError<E>> {
        let (write, answer) = writer::prepare(work);
        let closed = || WriteError::Failed(StoreError::Closed);
        self.inner.writes.blocking_send(writer::WriteRequest::Write(write)).map_err(|_| closed())?;
        answer.blocking_recv().map_err(|_| WriteError::Failed(StoreError::TransactionLost))?
    }

    /// Runs a closure that looks at one moment of everything, while writes go on.
    pub async fn read<T: Send + 'static, E: From<StoreError> + Send + 'static>(
        &self,
        work: impl FnOnce(&View<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let (read, answer) = reader::prepare(work);
        self.inner.reads.send(read).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// [`Self::read`] for threads.
    pub fn read_blocking<T: Send + 'static, E: From<StoreError> + Send + 'static>(
        &self,
        work: impl FnOnce(&View<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let (read, answer) = reader::prepare(work);
        self.inner.reads.blocking_send(read).map_err(|_| StoreError::Closed)?;
        answer.blocking_recv().map_err(|_| StoreError::Closed)?
    }

    /// Every event from now on, in the order of cursors, each once it is committed.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<StoredEvent>> {
        self.inner.events.subscribe()
    }

    /// Counts commits: who waits for its change learns that something may be different, not what.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.clone()
    }

    pub fn metrics(&self) -> StoreMetrics {
        self.inner.counters.snapshot()
    }

    /// Finishes what is queued, for all clones; later calls are refused. Blocks until it is done.
    pub fn close(&self) {
        self.inner.close();
    }
}

impl Inner {
    fn close(&self) {
        // A full queue is not waited for here: whoever could be blocked by us may be the one who has to empty it.
        let mut threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        if threads.is_empty() {
            return;
        }
        let (writes, reads) = (self.writes.clone(), self.reads.clone());
        let closing = thread::spawn(move || {
            let _ = writes.blocking_send(writer::WriteRequest::Close);
            let _ = reads.blocking_send(reader::ReadRequest::Close);
        });
        threads.push(closing);
        for thread in threads {
            // The last handle may go away on a thread of the store itself, in a closure that held it.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map_err(OpenError::Threads)
}
