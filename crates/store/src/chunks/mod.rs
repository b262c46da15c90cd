//! The bytes that ranks write: streams that grow at their end, addressed by byte offset.
//!
//! [`ChunkStore`] is the port; [`LocalChunks`] keeps streams in a folder. [`read`](ChunkStore::read), [`tail`](ChunkStore::tail)
//! and [`search`](ChunkStore::search) are made of the port's other methods, so that another kind of store has them too. All
//! methods block: call them where blocking is allowed.

mod ahead;
mod gaps;
mod handles;
mod lengths;
mod local;
mod name;
mod needle;
mod search;
mod segment;
mod tail;
mod usage;

use std::fs;
use std::io;
use std::path::PathBuf;

use fermi_domain::{disk::GapReason, ids::TaskId};
use thiserror::Error;

pub use gaps::Gap;
pub use local::LocalChunks;
pub use name::{StreamKind, StreamName};
pub use search::{Case, Match, SearchCursor, SearchPage, SearchQuery};

/// Why bytes were not appended.
#[derive(Debug, Error)]
pub enum AppendError {
    /// They do not begin where the stream ends; it has this many bytes.
    #[error("the stream has {have} bytes")]
    Offset { have: u64 },
    #[error("the stream cannot be written")]
    Io(#[from] io::Error),
}

/// Streams that nobody finds any more, and whose bytes are still to be removed. Should nobody do so, the next start does.
#[derive(Debug)]
#[must_use]
pub struct Discarded(Option<PathBuf>);

impl Discarded {
    /// Many gigabytes take a while.
    pub fn remove(self) -> io::Result<()> {
        self.0.map_or(Ok(()), fs::remove_dir_all)
    }
}

/// A place that keeps streams.
pub trait ChunkStore: std::fmt::Debug + Send + Sync {
    /// How many bytes of a stream are safe; 0 for one that nobody wrote.
    fn length(&self, name: &StreamName) -> io::Result<u64>;

    /// Puts bytes at the end of a stream and answers with its new length once they are safe. Bytes that are there
    /// already are skipped, so that a repeated request is harmless; bytes that would leave a hole are refused.
    fn append(&self, name: &StreamName, offset: u64, bytes: &[u8]) -> Result<u64, AppendError>;

    /// Counts so many bytes from an offset on as taken and keeps none of them: the stream has a gap there. Bytes that are
    /// there already are left alone. Answers with the new length.
    fn skip(&self, name: &StreamName, offset: u64, bytes: u64, reason: GapReason) -> Result<u64, AppendError>;

    /// The gaps of a stream, in their order.
    fn gaps(&self, name: &StreamName) -> io::Result<Vec<Gap>>;

    /// How many bytes of a task are kept, gaps left out.
    fn usage(&self, task: &TaskId) -> io::Result<u64>;

    /// How many bytes of all tasks are kept whose [`usage`](Self::usage) was asked for.
    fn usage_in_all(&self) -> u64;

    /// Fills `bytes` from an offset on and says how many there were: fewer where the stream was deleted. Whoever asks knows that
    /// the stream is that long. Gaps read as zeros.
    fn read_into(&self, name: &StreamName, offset: u64, bytes: &mut [u8]) -> io::Result<usize>;

    /// The streams of a task with their lengths, by attempt, rank and kind.
    fn streams(&self, task: &TaskId) -> io::Result<Vec<(StreamName, u64)>>;

    /// The tasks that have streams.
    fn tasks(&self) -> io::Result<Vec<TaskId>>;

    /// Forgets all streams of a task at once; what they take is given back when the answer is removed.
    fn set_aside(&self, task: &TaskId) -> io::Result<Discarded>;

    /// Forgets all streams of a task.
    fn delete(&self, task: &TaskId) -> io::Result<()> {
        self.set_aside(task)?.remove()
    }

    /// At most `max` bytes from an offset on; fewer at the end of the stream. Gaps read as zeros.
    fn read(&self, name: &StreamName, offset: u64, max: usize) -> io::Result<Vec<u8>> {
        let wanted = self.length(name)?.saturating_sub(offset).min(max as u64);
        let mut bytes = vec![0; usize::try_from(wanted).unwrap_or(0)];
        let read = self.read_into(name, offset, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// The last lines of a stream, with the offset at which they begin; cut at the front where they are very long, and at a
    /// gap. Of one that ends in a gap, those before it.
    fn tail(&self, name: &StreamName, lines: usize) -> io::Result<(u64, Vec<u8>)> {
        tail::tail(self, name, lines)
    }

    /// Lines that contain a text, in all streams of a task. Goes only so far in one call; the answer says where to go on.
    fn search(&self, task: &TaskId, query: &SearchQuery) -> io::Result<SearchPage> {
        search::search(self, task, query)
    }
}
