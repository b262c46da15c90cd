//! One server per folder: whoever opens it holds `fermi.lock` until he ends, however he ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    path::Path,
};

/// The held lock; the kernel takes it back when the process is gone.
#[derive(Debug)]
pub(crate) struct FolderLock {
    _file: File,
}

pub(crate) enum LockError {
    /// The process that holds it, if it has written its number down already.
    Held {
        pid: Option<u32>,
    },
    Io(std::io::Error),
}

impl From<std::io::Error> for LockError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl FolderLock {
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // Whoever holds it may be writing this very moment; a missing number is no reason to fail differently.
                let _ = file.read_to_string(&mut text);
                return Err(LockError::Held { pid: text.trim().parse().ok() });
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Self { _file: file })
    }
}
