//! The disk that the data folder is on: what is free, what may be written, and what was not kept.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fermi_domain::disk::{DiskPressure, DiskReserve, DiskSpace, GapReason, LogBudgets, LogUse, PieceFate, piece_fate};
use fermi_domain::ids::TaskId;
use fermi_domain::language::Text;
use fermi_domain::units::Bytes;
use fermi_store::chunks::{AppendError, ChunkStore, StreamKind, StreamName};
use nix::sys::statvfs::statvfs;

/// A look at the disk is good for so long.
const FRESH: Duration = Duration::from_millis(100);

/// A disk on which fewer files can be made is full.
const FEWEST_FILES: u64 = 64;
/// The database in the data folder.
const DATABASE: &str = "fermi.db";

/// How much of the disk may be used, and for what.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskLimits {
    pub logs: LogBudgets,
    /// What is kept free for the database; chosen by the disk's size where it is not given.
    pub reserve: Option<u64>,
}

/// The disk of the data folder.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    limits: DiskLimits,
    looked: Mutex<Option<(Instant, DiskSpace)>>,
    dropped: AtomicU64,
    /// Of which tasks it was said that bytes are dropped, and why.
    told: Mutex<HashMap<TaskId, HashSet<GapReason>>>,
}

/// What became of a piece of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceTaken {
    pub length: u64,
    /// The first bytes of its task that were dropped for this reason: worth an event.
    pub news: Option<GapReason>,
}

impl Disk {
    pub fn new(folder: &Path, limits: DiskLimits) -> Self {
        Self {
            folder: folder.to_owned(),
            limits,
            looked: Mutex::default(),
            dropped: AtomicU64::default(),
            told: Mutex::default(),
        }
    }

    pub fn budgets(&self) -> LogBudgets {
        self.limits.logs
    }

    /// Bytes of streams that were not kept since the server started.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Whether so many bytes can be written and leave the database its reserve. Looks anew: what was written a moment ago counts.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        let space = self.measure();
        space.free.saturating_sub(bytes) >= DiskReserve::on(self.limits.reserve, space.size).0
    }

    pub fn space(&self) -> DiskSpace {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, space)) = *looked
            && at.elapsed() < FRESH
        {
            return space;
        }
        let space = self.measure();
        *looked = Some((Instant::now(), space));
        space
    }

    fn measure(&self) -> DiskSpace {
        // A disk that cannot be asked is left to say no by itself.
        statvfs(&self.folder).map_or(DiskSpace { free: u64::MAX, size: u64::MAX }, |about| DiskSpace {
            free: about.fragment_size() * about.blocks_available(),
            size: about.fragment_size() * about.blocks(),
        })
    }

    pub fn reserve(&self) -> DiskReserve {
        DiskReserve::on(self.limits.reserve, self.space().size)
    }

    pub fn pressure(&self) -> DiskPressure {
        self.space().pressure(self.reserve())
    }

    /// Why nothing can be kept at all.
    pub fn failure(&self) -> Option<Text> {
        if !self.folder.join(DATABASE).exists() {
            let folder = self.folder.display();
            return Some(Text::new(
                format!("数据目录 {folder} 中的数据库已被删除或移走，之后的一切都不会保存"),
                format!("the database in the data folder {folder} was removed or moved: nothing is kept from now on"),
            ));
        }
        let files = statvfs(&self.folder).ok().filter(|about| about.files() > 0).map(|about| about.files_available());
        if files.is_some_and(|files| files < FEWEST_FILES) {
            return Some(Text::new(
                "数据目录所在磁盘的 inode 已用尽，无法新建文件",
                "the disk of the data folder is out of inodes: no file can be made",
            ));
        }
        self.complaint().filter(|_| self.pressure() == DiskPressure::Out)
    }

    /// What is wrong with the disk, for those who look after it.
    pub fn complaint(&self) -> Option<Text> {
        let (free, reserve) = (Bytes(self.space().free).rounded(), Bytes(self.reserve().0).rounded());
        match self.pressure() {
            DiskPressure::None => None,
            DiskPressure::Low => Some(Text::new(
                format!("数据目录所在磁盘只剩 {free}（为数据库预留 {reserve}），较大的日志不再保存"),
                format!(
                    "the disk of the data folder has {free} left ({reserve} are kept for the database); large logs are not kept any more"
                ),
            )),
            DiskPressure::Out => Some(Text::new(
                format!("数据目录所在磁盘只剩 {free}，低于为数据库预留的 {reserve}，日志不再保存"),
                format!(
                    "the disk of the data folder has {free} left, less than the {reserve} that are kept for the database; no logs are kept any more"
                ),
            )),
        }
    }

    /// Keeps a piece of a stream, or counts it as taken and leaves a gap. Blocks.
    pub fn take(
        &self,
        chunks: &dyn ChunkStore,
        name: &StreamName,
        offset: u64,
        bytes: &[u8],
    ) -> Result<PieceTaken, AppendError> {
        let used = LogUse {
            task: chunks.usage(&name.task)?,
            in_all: chunks.usage_in_all(),
            space: self.space(),
            reserve: self.reserve(),
        };
        let is_small = matches!(name.kind, StreamKind::Progress | StreamKind::Start);
        let reason = match piece_fate(bytes.len() as u64, is_small, used, self.limits.logs) {
            PieceFate::Kept => match chunks.append(name, offset, bytes) {
                Err(AppendError::Io(error)) if is_full(&error) => GapReason::DiskFull,
                kept => return Ok(PieceTaken { length: kept?, news: None }),
            },
            PieceFate::Dropped(reason) => reason,
        };
        let before = chunks.length(name)?;
        let length = chunks.skip(name, offset, bytes.len() as u64, reason)?;
        self.dropped.fetch_add(length.saturating_sub(before), Relaxed);
        let is_first = length > before && self.told().entry(name.task.clone()).or_default().insert(reason);
        Ok(PieceTaken { length, news: is_first.then_some(reason) })
    }

    /// Lets go of what was noted of a task that is gone.
    pub fn forget(&self, task: &TaskId) {
        self.told().remove(task);
    }

    fn told(&self) -> MutexGuard<'_, HashMap<TaskId, HashSet<GapReason>>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_leave_the_database_less_than_its_reserve_does_not_fit() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), DiskLimits::default());
        let room = disk.space().free.saturating_sub(disk.reserve().0);
        assert!(!disk.has_room_for(disk.space().free));
        assert!(!disk.has_room_for(room + (1 << 30)));
        assert!(room < 1 << 20 || disk.has_room_for(room / 2));
    }
}
