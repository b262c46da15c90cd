//! The streams that are being written: one lock and one open file each, and not too many of them.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
};

use fermi_domain::ids::TaskId;

use super::{StreamName, segment::Tail};

/// A stream that is being written.
#[derive(Debug)]
pub(super) struct Handle {
    /// The bytes that are safe. Readers look at it without waiting for a writer's disk.
    length: AtomicU64,
    /// The stream was deleted, or it is unknown what the disk has of it: it must be looked up again.
    is_stale: AtomicBool,
    /// The right to write. Nobody who holds one may ask for another handle.
    write_lock: Mutex<Option<Tail>>,
}

impl Handle {
    pub fn length(&self) -> u64 {
        self.length.load(SeqCst)
    }

    pub fn set_length(&self, length: u64) {
        self.length.store(length, SeqCst);
    }

    pub fn write_lock(&self) -> MutexGuard<'_, Option<Tail>> {
        self.write_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_stale(&self) -> bool {
        self.is_stale.load(SeqCst)
    }

    /// Whoever comes next finds out anew how long the stream is.
    pub fn give_up(&self) {
        self.is_stale.store(true, SeqCst);
    }
}

/// All handles, the least recently used of which go first.
#[derive(Debug)]
pub(super) struct Handles {
    most: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    handles: HashMap<StreamName, (Arc<Handle>, u64)>,
    uses: u64,
}

impl Handles {
    pub fn new(most: usize) -> Self {
        Self { most, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The length of a stream that is being written.
    pub fn length(&self, name: &StreamName) -> Option<u64> {
        self.open().handles.get(name).filter(|(handle, _)| !handle.is_stale()).map(|(handle, _)| handle.length())
    }

    /// The handle of a stream; `measure` says how long it is where nobody has written it lately.
    pub fn get(&self, name: &StreamName, measure: impl FnOnce() -> io::Result<u64>) -> io::Result<Arc<Handle>> {
        let mut open = self.open();
        open.uses += 1;
        let now = open.uses;
        if let Some((handle, used)) = open.handles.get_mut(name)
            && !handle.is_stale()
        {
            *used = now;
            return Ok(handle.clone());
        }
        let handle = Arc::new(Handle {
            length: AtomicU64::new(measure()?),
            is_stale: AtomicBool::new(false),
            write_lock: Mutex::default(),
        });
        if open.handles.len() >= self.most {
            // One that somebody holds must stay, or there would be two locks for one stream.
            let idle = open.handles.iter().filter(|(_, (handle, _))| Arc::strong_count(handle) == 1);
            let oldest = idle.min_by_key(|(_, (_, used))| *used).map(|(name, _)| name.clone());
            oldest.map(|oldest| open.handles.remove(&oldest));
        }
        open.handles.insert(name.clone(), (handle.clone(), now));
        Ok(handle)
    }

    /// Lets go of all streams of a task and runs `work` while nobody can take one up.
    pub fn without<T>(&self, task: &TaskId, work: impl FnOnce() -> T) -> T {
        let mut open = self.open();
        for (_, (handle, _)) in open.handles.extract_if(|name, _| name.task == *task) {
            // Waits for whoever writes right now.
            *handle.write_lock() = None;
            handle.give_up();
        }
        work()
    }

    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.open().handles.len()
    }
}
