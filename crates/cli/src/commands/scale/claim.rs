//! One measurement per folder at a time: two would move each other's files aside and slow each other down.

use std::fs;
use std::path::Path;

use fermi_domain::language::{Notice, Text};
use fermi_folder_lock::{FolderLock, LockError};

/// Beside the outputs of the runs, since it is no result.
const LOCK: &str = "runs/measuring.lock";

/// The folder is this process's until it ends. A measurement without a lock is better than none where a file system has none.
pub fn take(folder: &Path) -> Result<Option<FolderLock>, LockError> {
    let path = folder.join(LOCK);
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    match FolderLock::take(&path) {
        Err(LockError::Unsupported(_)) => Ok(None),
        taken => taken.map(Some),
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
        let first = take(folder.path()).unwrap();
        let Err(LockError::Held { pid }) = take(folder.path()) else { panic!("taken twice") };
        assert_eq!(pid, Some(std::process::id()));
        drop(first);
        take(folder.path()).unwrap();
    }
}
