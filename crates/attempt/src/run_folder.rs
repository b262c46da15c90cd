//! Where a run keeps what it leaves: journal, logs, exit records, and how long.
//!
//! ```text
//! <base>/<run id>/{journal.ndjson, result.json}
//! <base>/<run id>/attempt_<n>/<local rank>/{stdout.log, stderr.log, error.json, exit.json, progress.ndjson}
//! <base>/<run id>/attempt_<n>/<first local rank>/start.json
//! <base>/<run id>/attempt_<n>/hang.txt
//! <base>/<run id>/outputs/checkpoints
//! ```
//! The part below the run id is torchrun's; `attempt_` counts from 0 as there.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fermi_domain::checkpoint::OWN_FOLDER;
use fermi_process::account::{SystemAccount, let_pass};

/// The files of one rank in one attempt.
#[derive(Clone, Debug)]
pub struct RankFolder {
    pub path: PathBuf,
}

impl RankFolder {
    pub fn of(run_folder: &Path, attempt: u32, local_rank: u32) -> Self {
        Self { path: attempt_folder(run_folder, attempt).join(local_rank.to_string()) }
    }

    pub fn create(&self) -> io::Result<()> {
        fs::create_dir_all(&self.path)
    }

    /// Lets a rank of another account write its own files here, and neither list the folder nor read the others. On a disk
    /// that is full it does without.
    pub fn open_to(&self, account: &SystemAccount) {
        for folder in [self.path.parent(), Some(&self.path)].into_iter().flatten() {
            let _ = let_pass(folder);
        }
        for file in [self.error_file(), self.progress_file()] {
            let _ = account.own_new_file(&file);
        }
    }

    /// The log to read first: pytest and others complain on stdout.
    pub fn log(&self) -> PathBuf {
        let is_empty = |name: &str| self.path.join(name).metadata().is_ok_and(|meta| meta.len() == 0);
        let name = if is_empty("stderr.log") && !is_empty("stdout.log") { "stdout.log" } else { "stderr.log" };
        self.path.join(name)
    }

    /// What all ranks of a node were started with; in the folder of the first of them, since beside those there is nothing but
    /// folders of ranks for who knows torchrun's layout.
    pub fn start_file(&self) -> PathBuf {
        self.path.join("start.json")
    }

    pub fn error_file(&self) -> PathBuf {
        self.path.join("error.json")
    }

    pub fn progress_file(&self) -> PathBuf {
        self.path.join("progress.ndjson")
    }
}

/// The folder of one attempt, counted from 1.
pub fn attempt_folder(run_folder: &Path, attempt: u32) -> PathBuf {
    run_folder.join(format!("attempt_{}", attempt.saturating_sub(1)))
}

/// Which attempt's folder is called so.
pub fn attempt_of(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_prefix("attempt_")?.parse::<u32>().ok()?.checked_add(1)
}

/// The stacks of the ranks of a node that hung in an attempt.
pub fn hang_file(run_folder: &Path, attempt: u32) -> PathBuf {
    attempt_folder(run_folder, attempt).join("hang.txt")
}

/// What is kept of old runs.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    pub age: Duration,
    pub runs: usize,
}

impl Default for Retention {
    fn default() -> Self {
        Self { age: Duration::from_secs(14 * 24 * 3600), runs: 200 }
    }
}

/// Deletes runs that are too old or too many. Those that wrote outputs stay: checkpoints are their owner's to delete.
pub fn prune(base: &Path, live: &Path, retention: Retention) {
    let mut runs: Vec<(SystemTime, PathBuf)> = fs::read_dir(base)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let modified = fs::metadata(path.join(fermi_process::journal::FILE_NAME)).ok()?.modified().ok()?;
            Some((modified, path))
        })
        .collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.0));
    let now = SystemTime::now();
    for (index, (modified, path)) in runs.into_iter().enumerate() {
        let too_old = now.duration_since(modified).is_ok_and(|age| age > retention.age);
        let expired = too_old || index >= retention.runs;
        if expired && !is_live(&path, live) && !has_outputs(&path) {
            // Another start may be pruning the same folder.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Whether a run has its live note. The folder is called as the run, behind its rendezvous id where it has one, which may hold
/// dots and underscores; a run's own id holds neither. What cannot be told counts as alive.
fn is_live(run_folder: &Path, live: &Path) -> bool {
    let Some(name) = run_folder.file_name().and_then(OsStr::to_str) else { return false };
    let run = name.rsplit('_').next().unwrap_or(name);
    live.join(format!("{run}.json")).try_exists().unwrap_or(true)
}

/// Whether there is something of the training's. The fence of a supervisor that was killed is Fermi's own.
fn has_outputs(run_folder: &Path) -> bool {
    fn any_file(folder: &Path, own: &Path) -> bool {
        fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
            let path = entry.path();
            if path.is_dir() { path != own && any_file(&path, own) } else { true }
        })
    }
    let outputs = run_folder.join("outputs");
    any_file(&outputs, &outputs.join("checkpoints").join(OWN_FOLDER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(base: &Path, name: &str, with_checkpoint: bool) {
        let folder = base.join(name);
        fs::create_dir_all(folder.join("outputs/checkpoints")).unwrap();
        fs::write(folder.join(fermi_process::journal::FILE_NAME), "").unwrap();
        if with_checkpoint {
            fs::write(folder.join("outputs/checkpoints/x"), "").unwrap();
        }
    }

    #[test]
    fn old_runs_go_and_those_with_checkpoints_stay() {
        let base = tempfile::tempdir().unwrap();
        run(base.path(), "plain", false);
        run(base.path(), "kept", true);
        fs::create_dir(base.path().join("not-a-run")).unwrap();
        prune(base.path(), &base.path().join("live"), Retention { age: Duration::ZERO, runs: 0 });
        assert!(!base.path().join("plain").exists());
        assert!(base.path().join("kept").exists());
        assert!(base.path().join("not-a-run").exists());
    }

    #[test]
    fn a_run_that_lives_keeps_its_folder_whatever_it_is_called_by() {
        let base = tempfile::tempdir().unwrap();
        let live = base.path().join("live");
        fs::create_dir(&live).unwrap();
        let named = ["run-1-a", "job7_run-2-b", "job.7_run-3-c", "a_b.c_run-4-d"];
        for name in named {
            run(base.path(), name, false);
            fs::write(live.join(format!("{}.json", name.rsplit('_').next().unwrap())), "{}").unwrap();
        }
        run(base.path(), "job.7_run-5-e", false);
        prune(base.path(), &live, Retention { age: Duration::ZERO, runs: 0 });
        assert_eq!(named.map(|name| base.path().join(name).exists()), [true; 4]);
        assert!(!base.path().join("job.7_run-5-e").exists());
        for note in fs::read_dir(&live).unwrap().flatten() {
            fs::remove_file(note.path()).unwrap();
        }
        prune(base.path(), &live, Retention { age: Duration::ZERO, runs: 0 });
        assert_eq!(named.map(|name| base.path().join(name).exists()), [false; 4]);
    }

    #[test]
    fn the_fence_of_a_killed_supervisor_is_no_output() {
        let base = tempfile::tempdir().unwrap();
        for name in ["killed", "kept"] {
            run(base.path(), name, name == "kept");
            let own = base.path().join(name).join("outputs/checkpoints").join(OWN_FOLDER);
            fs::create_dir(&own).unwrap();
            fs::write(own.join("fence"), "{}").unwrap();
        }
        prune(base.path(), &base.path().join("live"), Retention { age: Duration::ZERO, runs: 0 });
        assert!(!base.path().join("killed").exists());
        assert!(base.path().join("kept").exists());
    }
}
