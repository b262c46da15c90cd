//! A folder that all nodes shall have: a mark proves that it is one and the same.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fermi_domain::language::{Text, reason};

use super::survey::FolderSeen;
use crate::facts::{Reason, Seen};
use crate::look::{Step, file_system_of};

/// A network disk that is gone hangs instead of answering.
const LOOK: Duration = Duration::from_secs(6);
/// What is not counted by then is left out: data sets have millions of files.
const COUNT: Duration = Duration::from_secs(2);
const MOST_ENTRIES: u64 = 200_000;

/// A file that vanishes with this value.
#[derive(Debug)]
pub struct Mark {
    path: PathBuf,
    pub name: String,
}

impl Mark {
    /// Leaves an empty file with a name that no other has.
    pub fn leave(folder: &Path) -> io::Result<Self> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let name = format!(".fermi-doctor-{}-{:x}", std::process::id(), since.as_nanos());
        let path = folder.join(&name);
        OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path)?;
        Ok(Self { path, name })
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The mark, or why there is none; a disk that hangs is left to its thread.
pub fn mark(folder: PathBuf) -> Result<Mark, Text> {
    match Step::start(LOOK, move || Mark::leave(&folder)).wait() {
        Seen::Known(left) => left.map_err(|error| reason::of_io(&error)),
        Seen::Late { seconds } => {
            Err(Text::new(format!("{seconds} 秒内没有应答"), format!("no answer in {seconds} s")))
        }
    }
}

pub fn look(folder: PathBuf, mark: Option<String>) -> FolderSeen {
    match Step::start(LOOK, move || seen(&folder, mark.as_deref())).wait() {
        Seen::Known(Ok(seen)) => seen,
        Seen::Known(Err(error)) => FolderSeen::Failed(Reason::from(&error)),
        Seen::Late { seconds } => FolderSeen::Late { seconds },
    }
}

fn seen(folder: &Path, mark: Option<&str>) -> io::Result<FolderSeen> {
    let listed = fs::read_dir(folder)?;
    // Before anything else: other nodes' caches of the folder grow old meanwhile.
    let sees_mark = mark.map(|name| folder.join(name).exists());
    let deadline = Instant::now() + COUNT;
    let (mut entries, mut bytes, mut is_whole) = (0, 0, true);
    let mut rest = vec![listed];
    while let Some(listed) = rest.pop() {
        for entry in listed {
            let entry = entry?;
            if mark.is_some_and(|mark| entry.file_name() == mark) {
                continue;
            }
            if entries >= MOST_ENTRIES || Instant::now() >= deadline {
                (is_whole, rest) = (false, Vec::new());
                break;
            }
            entries += 1;
            // Links are counted and not followed.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => rest.extend(fs::read_dir(entry.path())),
                Ok(kind) if kind.is_file() => bytes += entry.metadata().map_or(0, |it| it.len()),
                _ => {}
            }
        }
    }
    Ok(FolderSeen::Found { file_system: file_system_of(folder), entries, bytes, is_whole, sees_mark })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_counted_without_the_mark_which_goes_with_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("below/a"), "12345").unwrap();
        let mark = mark(folder.path().to_owned()).unwrap();
        let looked = |name: Option<&str>| match look(folder.path().to_owned(), name.map(str::to_owned)) {
            FolderSeen::Found { entries, bytes, is_whole, sees_mark, .. } => (entries, bytes, is_whole, sees_mark),
            other => panic!("{other:?}"),
        };
        assert_eq!(looked(Some(&mark.name)), (2, 5, true, Some(true)));
        assert_eq!(looked(Some("another")).3, Some(false));
        drop(mark);
        assert_eq!(looked(None), (2, 5, true, None));
        assert!(matches!(look(folder.path().join("none"), None), FolderSeen::Failed(_)));
    }
}
