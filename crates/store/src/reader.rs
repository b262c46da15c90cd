//! The readers: a few threads, each with its connection, each read a snapshot of its own. Reads never wait for writes.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering::Relaxed},
};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::{StoreError, View, metrics::Counters};

pub(crate) const READERS: usize = 3;
pub(crate) const QUEUE: usize = 1024;

pub(crate) enum ReadRequest {
    Read(Box<dyn FnOnce(&Connection) + Send>),
    Close,
}

/// Wraps a closure of any type, and gives the place where its answer will be.
pub(crate) fn prepare<T, E, F>(work: F) -> (ReadRequest, oneshot::Receiver<Result<T, E>>)
where
    F: FnOnce(&View<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let read = move |connection: &Connection| {
        let _ = sender.send(snapshot(connection, work));
    };
    (ReadRequest::Read(Box::new(read)), receiver)
}

fn snapshot<T, E, F>(connection: &Connection, work: F) -> Result<T, E>
where
    F: FnOnce(&View<'_>) -> Result<T, E>,
    E: From<StoreError>,
{
    let execute = |sql| connection.prepare_cached(sql).and_then(|mut statement| statement.raw_execute());
    execute("BEGIN DEFERRED").map_err(StoreError::from)?;
    let result = catch_unwind(AssertUnwindSafe(|| work(&View { connection })));
    let ended = execute("COMMIT").map_err(StoreError::from);
    if !connection.is_autocommit() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    let value = result.unwrap_or_else(|_| Err(StoreError::Panicked.into()))?;
    ended?;
    Ok(value)
}

/// A reader's thread; the queue is shared, and whoever is free takes the next.
pub(crate) fn serve(connection: &Connection, requests: &Mutex<mpsc::Receiver<ReadRequest>>, counters: &Arc<Counters>) {
    loop {
        let request = {
            let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
            let request = requests.blocking_recv();
            // Before anybody else waits in the queue, who would not see it close.
            if matches!(request, Some(ReadRequest::Close)) {
                requests.close();
            }
            request
        };
        match request {
            Some(ReadRequest::Read(read)) => {
                counters.reads.fetch_add(1, Relaxed);
                read(connection);
            }
            Some(ReadRequest::Close) => {}
            None => return,
        }
    }
}
