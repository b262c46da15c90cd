//! One measurement per folder at a time: two would move each other's files aside and slow each other down.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;

use fermi_domain::language::{Notice, Text};

/// Beside the outputs of the runs, since it is no result.
const LOCK: &str = "runs/measuring.lock";

/// The folder is this process's until it ends, however it ends.
#[derive(Debug)]
pub struct Claim {
    _file: File,
}

/// Why a folder cannot be measured into.
#[derive(Debug)]
pub enum ClaimError {
    /// Another process measures into it; its number, if it has written it down already.
    Held {
        pid: Option<u32>,
    },
    Io(io::Error),
}

impl From<io::Error> for ClaimError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Claim {
    pub fn take(folder: &Path) -> Result<Self, ClaimError> {
        let path = folder.join(LOCK);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // Its holder may be writing this very moment; a missing number is no reason to say something else.
                let _ = file.read_to_string(&mut text);
                return Err(ClaimError::Held { pid: text.trim().parse().ok() });
            }
            // Some network file systems know no locks. A measurement without one is better than none.
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Self { _file: file })
    }
}

pub fn held(folder: &Path, pid: Option<u32>) -> Notice {
    let folder = folder.display();
    let (who_zh, who_en) =
        pid.map_or_else(Default::default, |pid| (format!("（进程 {pid}）"), format!(" (process {pid})")));
    Notice::new(
        "results_in_use",
        Text::new(
            format!("另一个 fermi scale{who_zh}正在测量并写入 {folder}"),
            format!("another fermi scale{who_en} is measuring into {folder}"),
        ),
        Text::new(
            "等它结束再开始：同时测量会互相拖慢；要另存，用 --results-dir 换一个文件夹",
            "start when it has ended, since two at once slow each other down; --results-dir names another folder",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_measurement_s_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = Claim::take(folder.path()).unwrap();
        let Err(ClaimError::Held { pid }) = Claim::take(folder.path()) else { panic!("taken twice") };
        assert_eq!(pid, Some(std::process::id()));
        drop(first);
        Claim::take(folder.path()).unwrap();
    }
}
