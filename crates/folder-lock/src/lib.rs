//! A folder that one process has to itself: a file in it is locked as long as its holder lives, however it ends, and has its
//! number for those who come too late. What the folder is for is its holder's business.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// The held lock; the kernel takes it back when the process is gone.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

/// Why a folder is not this process's.
#[derive(Debug)]
pub enum LockError {
    /// The process that holds it, if it has written its number down already.
    Held {
        pid: Option<u32>,
    },
    /// Its file system knows no locks, as some over the network.
    Unsupported(io::Error),
    Io(io::Error),
}

impl From<io::Error> for LockError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl FolderLock {
    /// Takes the lock, which is this file, made where it is missing; never waits for it.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // Its holder may be writing this very moment; a missing number is no reason to say something else.
                let _ = file.read_to_string(&mut text);
                return Err(LockError::Held { pid: text.trim().parse().ok() });
            }
            Err(TryLockError::Error(error)) => return Err(not_locked(error)),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Self { _file: file })
    }
}

fn not_locked(error: io::Error) -> LockError {
    if error.kind() == io::ErrorKind::Unsupported { LockError::Unsupported(error) } else { LockError::Io(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_at_a_time_and_the_next_hears_which_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = FolderLock::take(&path).unwrap();
        let Err(LockError::Held { pid }) = FolderLock::take(&path) else { panic!("taken twice") };
        assert_eq!(pid, Some(std::process::id()));
        drop(first);
        FolderLock::take(&path).unwrap();
    }

    #[test]
    fn a_file_system_without_locks_is_told_from_other_troubles() {
        assert!(matches!(not_locked(io::ErrorKind::Unsupported.into()), LockError::Unsupported(_)));
        assert!(matches!(FolderLock::take(Path::new("/no/such/lock")), Err(LockError::Io(_))));
    }
}
