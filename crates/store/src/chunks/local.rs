//! Streams in a folder: `<task>/attempt-<n>/rank-<r>/<kind>.<segment>`.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use fermi_domain::{disk::GapReason, ids::TaskId};

use super::{
    AppendError, ChunkStore, Discarded, Gap, StreamKind, StreamName,
    handles::{Handle, Handles},
    lengths::Lengths,
    name::{is_plain, task_folder},
    segment::{Segments, Tail, segment_number},
    usage::Usage,
};

const SEGMENT: u64 = 64 << 20;
const OPEN_FILES: usize = 256;
/// Folders that are on their way out begin so; no task's name does.
const DELETED: &str = ".deleted-";

/// A folder of streams. Streams are written in parallel, each by one at a time.
#[derive(Debug)]
pub struct LocalChunks {
    root: PathBuf,
    segment: u64,
    handles: Handles,
    lengths: Lengths,
    usage: Usage,
    deletions: AtomicU64,
}

impl LocalChunks {
    /// Opens a folder, and makes it where there is none. What the disk has is what the streams are.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Self::open_with(folder, SEGMENT, OPEN_FILES)
    }

    fn open_with(folder: &Path, segment: u64, open_files: usize) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
            // What is in it is safe only if it is itself.
            File::open(above)?.sync_all()?;
        }
        for name in names(folder)?.iter().filter(|name| name.starts_with(DELETED)) {
            fs::remove_dir_all(folder.join(name))?;
        }
        let handles = Handles::new(open_files);
        Ok(Self {
            root: folder.to_owned(),
            segment,
            handles,
            lengths: Lengths::default(),
            usage: Usage::default(),
            deletions: AtomicU64::new(0),
        })
    }

    fn segments(&self) -> Segments<'_> {
        Segments { root: &self.root, size: self.segment }
    }

    fn handle(&self, name: &StreamName) -> io::Result<Arc<Handle>> {
        self.handles.get(name, || self.segments().length(name))
    }

    /// Lets the next writer measure a stream anew whose last write failed, whether or not this cut goes well.
    fn give_up(&self, name: &StreamName, handle: &Handle, tail: &mut Option<Tail>, have: u64) {
        *tail = None;
        let _ = self.segments().cut(name, have);
        handle.give_up();
        self.lengths.forget(&name.task);
    }

    /// What the disk says of a task's streams.
    fn scan(&self, task: &TaskId) -> io::Result<BTreeMap<StreamName, u64>> {
        let folder = task_folder(&self.root, task)?;
        let mut streams = BTreeMap::new();
        for (attempt, folder) in numbered(&folder, "attempt-")? {
            for (rank, folder) in numbered(&folder, "rank-")? {
                let files = names(&folder)?;
                for kind in StreamKind::ALL {
                    if files.iter().any(|file| segment_number(file, kind.as_str()).is_some()) {
                        let name = StreamName { task: task.clone(), attempt, rank, kind };
                        let length = self.segments().length(&name)?;
                        streams.insert(name, length);
                    }
                }
            }
        }
        Ok(streams)
    }

    fn measure(&self, task: &TaskId) -> io::Result<u64> {
        let mut bytes = 0;
        for (name, length) in self.scan(task)? {
            let gaps: u64 = self.segments().gaps(&name)?.iter().map(|gap| gap.length).sum();
            bytes += length.saturating_sub(gaps);
        }
        Ok(bytes)
    }

    /// Runs `work` with the right to write to a stream.
    fn write<T>(
        &self,
        name: &StreamName,
        mut work: impl FnMut(&Handle, &mut Option<Tail>) -> Result<T, AppendError>,
    ) -> Result<T, AppendError> {
        loop {
            let handle = self.handle(name)?;
            let mut write_lock = handle.write_lock();
            // The last holder of the write lock may have left the stream behind; then there is a new handle.
            if !handle.is_stale() {
                return work(&handle, &mut write_lock);
            }
        }
    }
}

impl ChunkStore for LocalChunks {
    fn length(&self, name: &StreamName) -> io::Result<u64> {
        self.handles.length(name).map_or_else(|| self.segments().length(name), Ok)
    }

    fn append(&self, name: &StreamName, offset: u64, bytes: &[u8]) -> Result<u64, AppendError> {
        self.write(name, |handle, tail| {
            let have = handle.length();
            if offset > have {
                return Err(AppendError::Offset { have });
            }
            let known = usize::try_from(have - offset).unwrap_or(usize::MAX);
            let Some(news) = bytes.get(known..).filter(|news| !news.is_empty()) else { return Ok(have) };
            match self.segments().append(name, tail, have, news) {
                Ok(length) => {
                    handle.set_length(length);
                    self.lengths.set(name, length);
                    self.usage.add(&name.task, news.len() as u64);
                    Ok(length)
                }
                Err(error) => {
                    self.give_up(name, handle, tail, have);
                    Err(error.into())
                }
            }
        })
    }

    fn skip(&self, name: &StreamName, offset: u64, bytes: u64, reason: GapReason) -> Result<u64, AppendError> {
        self.write(name, |handle, tail| {
            let have = handle.length();
            let end = offset.saturating_add(bytes);
            if offset > have {
                return Err(AppendError::Offset { have });
            }
            if end <= have {
                return Ok(have);
            }
            // The hole comes first: a gap that is noted and not there would hide bytes that come later.
            let segments = self.segments();
            let skipped = segments.extend(name, tail, have, end);
            let noted =
                skipped.and_then(|()| segments.note_gap(name, Gap { offset: have, length: end - have, reason }));
            match noted {
                Ok(()) => {
                    handle.set_length(end);
                    self.lengths.set(name, end);
                    Ok(end)
                }
                Err(error) => {
                    self.give_up(name, handle, tail, have);
                    Err(error.into())
                }
            }
        })
    }

    fn gaps(&self, name: &StreamName) -> io::Result<Vec<Gap>> {
        self.segments().gaps(name)
    }

    fn usage(&self, task: &TaskId) -> io::Result<u64> {
        self.usage.of(task, || self.measure(task))
    }

    fn usage_in_all(&self) -> u64 {
        self.usage.in_all()
    }

    fn read_into(&self, name: &StreamName, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        self.segments().read_into(name, offset, bytes)
    }

    fn streams(&self, task: &TaskId) -> io::Result<Vec<(StreamName, u64)>> {
        self.lengths.of(task, || self.scan(task))
    }

    fn tasks(&self) -> io::Result<Vec<TaskId>> {
        let mut tasks = names(&self.root)?;
        tasks.retain(|name| is_plain(name));
        tasks.sort_unstable();
        Ok(tasks.into_iter().map(TaskId).collect())
    }

    fn set_aside(&self, task: &TaskId) -> io::Result<Discarded> {
        let folder = task_folder(&self.root, task)?;
        let number = self.deletions.fetch_add(1, Relaxed);
        let aside = self.root.join(format!("{DELETED}{number}-{task}"));
        let moved = self.handles.without(task, || fs::rename(folder, &aside));
        self.lengths.forget(task);
        self.usage.forget(task);
        match moved {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Discarded(None)),
            Err(error) => Err(error),
            Ok(()) => Ok(Discarded(Some(aside))),
        }
    }
}

/// The names in a folder; none where there is no folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string().ok());
    }
    Ok(names)
}

/// The folders that are named by a number behind a prefix.
fn numbered(folder: &Path, prefix: &str) -> io::Result<Vec<(u32, PathBuf)>> {
    let number = |name: String| Some((name.strip_prefix(prefix)?.parse().ok()?, folder.join(name)));
    Ok(names(folder)?.into_iter().filter_map(number).collect())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
