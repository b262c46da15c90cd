//! How busy the writer is, for whoever watches the server.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreMetrics {
    /// Transactions that the writer began.
    pub batches: u64,
    /// Closures that ran in them, refused ones included.
    pub writes: u64,
    /// Commits that returned; each waits for one sync of the log. Syncs of checkpoints are not counted.
    pub syncs: u64,
    /// Closures in the newest batch.
    pub last_batch: u64,
    pub failed_batches: u64,
    pub reads: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub batches: AtomicU64,
    pub writes: AtomicU64,
    pub syncs: AtomicU64,
    pub last_batch: AtomicU64,
    pub failed_batches: AtomicU64,
    pub reads: AtomicU64,
}

impl Counters {
    pub fn snapshot(&self) -> StoreMetrics {
        StoreMetrics {
            batches: self.batches.load(Relaxed),
            writes: self.writes.load(Relaxed),
            syncs: self.syncs.load(Relaxed),
            last_batch: self.last_batch.load(Relaxed),
            failed_batches: self.failed_batches.load(Relaxed),
            reads: self.reads.load(Relaxed),
        }
    }
}
