//! The disk behind a folder: what it is, how full, and how fast a small file gets there.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::statvfs::statvfs;

use crate::facts::{DiskFacts, Reason, WriteTest};

const PIECE: usize = 4 << 20;
const MOST: u64 = 64 << 20;
const LONGEST: Duration = Duration::from_secs(2);

pub fn look(folder: &Path) -> DiskFacts {
    let mut facts = DiskFacts { folder: folder.display().to_string(), ..DiskFacts::default() };
    if let Ok(disk) = statvfs(folder) {
        facts.total = disk.blocks() * disk.fragment_size();
        facts.free = disk.blocks_available() * disk.fragment_size();
        let entries = disk.files();
        facts.free_entries = (entries > 0).then(|| disk.files_available() as f64 / entries as f64);
    }
    facts.file_system = file_system_of(folder);
    facts.is_rotating = is_rotating(folder);
    facts.write = try_write(folder, facts.free).unwrap_or_else(|error| WriteTest::Failed(Reason::from(&error)));
    facts
}

/// The kind of file system behind a folder.
pub fn file_system_of(folder: &Path) -> Option<String> {
    let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    file_system(&mounts, &real)
}

/// The file is gone from the folder before anything is written, so that nothing is left behind however this ends.
fn try_write(folder: &Path, free: u64) -> io::Result<WriteTest> {
    let path = folder.join(format!(".fermi-doctor-{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    // Noise: a disk that compresses must not look fast.
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let piece: Vec<u8> = (0..PIECE / 8)
        .flat_map(|_| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed.to_le_bytes()
        })
        .collect();
    // A disk that is nearly full is not filled by the one who looks at it.
    let most = MOST.min(free / 4).max(1);
    let start = Instant::now();
    let mut bytes = 0;
    while bytes < most && start.elapsed() < LONGEST {
        let length = piece.len().min(usize::try_from(most - bytes).unwrap_or(usize::MAX));
        file.write_all(&piece[..length])?;
        bytes += length as u64;
    }
    file.sync_data()?;
    Ok(WriteTest::Done { bytes, seconds: start.elapsed().as_secs_f64() })
}

/// `36 35 98:0 /root /mount options … - type source …`: the longest mount point that holds the path, the last of equals.
fn file_system(mounts: &str, path: &Path) -> Option<String> {
    mounts
        .lines()
        .filter_map(|line| {
            let point = PathBuf::from(line.split(' ').nth(4)?.replace("\\040", " "));
            let kind = line.split_once(" - ")?.1.split(' ').next()?;
            path.starts_with(&point).then(|| (point.components().count(), kind.to_owned()))
        })
        .max_by_key(|(depth, _)| *depth)
        .map(|(_, kind)| kind)
}

/// A partition has no queue of its own; its disk is the folder above.
fn is_rotating(folder: &Path) -> Option<bool> {
    let device = fs::metadata(folder).ok()?.dev();
    let block = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
    let block = fs::canonicalize(block).ok()?;
    let queue = [block.join("queue/rotational"), block.parent()?.join("queue/rotational")];
    let text = queue.iter().find_map(|path| fs::read_to_string(path).ok())?;
    Some(text.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_tried_without_leaving_anything() {
        let folder = tempfile::tempdir().unwrap();
        let facts = look(folder.path());
        assert!(matches!(facts.write, WriteTest::Done { bytes, .. } if bytes > 0), "{facts:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let missing = look(&folder.path().join("missing"));
        assert!(matches!(missing.write, WriteTest::Failed(_)), "{missing:?}");
    }

    #[test]
    fn the_nearest_mount_tells_the_file_system() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /data rw shared:1 - nfs4 host:/x rw\n";
        assert_eq!(file_system(mounts, Path::new("/data/a")).as_deref(), Some("nfs4"));
        assert_eq!(file_system(mounts, Path::new("/database")).as_deref(), Some("ext4"));
    }
}
