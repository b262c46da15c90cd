//! Lets go of code that was fetched once and that no run refers to any more, and of drafts that an end has cut short. What
//! ranks wrote to the outputs of a task is its owner's, and stays.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fermi_api::link::Assignment;
use fermi_domain::retention::{RetentionPolicy, snapshot_goes};
use fermi_domain::task::Source;

use crate::data_folder;

const LOOK_EVERY: Duration = Duration::from_secs(6 * 3_600);

/// Looks now and again and again, in a thread of its own, as long as the agent lives.
pub fn start(root: PathBuf) -> io::Result<()> {
    let look = move || {
        loop {
            prune(&root, unix_ms(SystemTime::now()));
            thread::sleep(LOOK_EVERY);
        }
    };
    thread::Builder::new().name("retention".into()).stack_size(256 * 1024).spawn(look).map(drop)
}

fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Goes through what is kept for each server.
fn prune(root: &Path, now_ms: u64) {
    for name in names(root) {
        let cluster = root.join(&name);
        if data_folder::is_cluster(&name) && cluster.join("sources").is_dir() {
            prune_sources(&cluster, now_ms);
        }
    }
}

fn prune_sources(cluster: &Path, now_ms: u64) {
    // A run whose assignment cannot be read may need any of them.
    let Some(used) = used(cluster) else { return };
    let policy = RetentionPolicy::default();
    let sources = cluster.join("sources");
    for name in names(&sources) {
        let path = sources.join(&name);
        let Ok(modified) = fs::metadata(&path).and_then(|about| about.modified()) else { continue };
        let modified_ms = unix_ms(modified);
        let is_draft = name.starts_with('.');
        let goes = if is_draft {
            now_ms.saturating_sub(modified_ms) > policy.leftovers_ms
        } else {
            snapshot_goes(modified_ms, used.contains(&name), &policy, now_ms)
        };
        if goes {
            remove(&path, &sources, is_draft);
        }
    }
}

/// Out of the way first: a folder with half of the code in it must never be found.
fn remove(path: &Path, sources: &Path, is_draft: bool) {
    let aside = sources.join(format!(".gone-{}", path.file_name().unwrap_or_default().to_string_lossy()));
    if is_draft {
        let _ = fs::remove_dir_all(path);
    } else if fs::rename(path, &aside).is_ok() {
        tracing::info!(folder = %path.display(), "code that no run refers to was removed");
        // What stays of it is a draft, and goes with the next look.
        let _ = fs::remove_dir_all(aside);
    }
}

/// The digests that runs on disk refer to.
fn used(cluster: &Path) -> Option<HashSet<String>> {
    let runs = cluster.join("runs");
    let mut used = HashSet::new();
    for run in names(&runs) {
        match fs::read(runs.join(run).join("assignment.json")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return None,
            Ok(text) => {
                let assignment: Assignment = serde_json::from_slice(&text).ok()?;
                if let Some(Source::Snapshot(digest)) = assignment.source {
                    used.insert(digest.strip_prefix("sha256:").unwrap_or(&digest).to_ascii_lowercase());
                }
            }
        }
    }
    Some(used)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 24 * 3_600 * 1_000;

    fn cluster() -> (tempfile::TempDir, PathBuf, [String; 2]) {
        let root = tempfile::tempdir().unwrap();
        let cluster = root.path().join("abcd");
        let digests = ["a", "b"].map(|letter| letter.repeat(64));
        for name in [digests[0].as_str(), digests[1].as_str(), ".draft-1"] {
            fs::create_dir_all(cluster.join("sources").join(name)).unwrap();
        }
        let run = cluster.join("runs/task-1-g1-n0-i1");
        fs::create_dir_all(&run).unwrap();
        let assignment = format!(
            r#"{{"run":"task-1-g1-n0-i1","taskName":"x","nodeName":"n","nodeCount":1,"worldSize":1,"ranks":[],"argv":["a"],
            "directory":null,"files":[],"env":[],"serves":"nothing","masterAddress":"a","masterPort":null,"secret":"s",
            "restarts":{{"maxRestarts":2}},"ladder":{{"checkpoint":null,"plannedGraceMs":1,"failureGraceMs":1}},
            "nodeLostAfterMs":1,"joinTimeoutMs":1,"attemptsBefore":0,"resume":false,"source":{{"snapshot":"sha256:{}"}}}}"#,
            digests[0]
        );
        fs::write(run.join("assignment.json"), assignment).unwrap();
        (root, cluster, digests)
    }

    #[test]
    fn code_that_no_run_refers_to_goes_after_a_week_and_drafts_after_a_day() {
        let (root, cluster, [used, unused]) = cluster();
        let there = || {
            let mut names = names(&cluster.join("sources"));
            names.sort();
            names
        };
        let now = unix_ms(SystemTime::now());
        prune(root.path(), now);
        assert_eq!(there().len(), 3);
        prune(root.path(), now + 2 * DAY_MS);
        assert_eq!(there(), [used.clone(), unused.clone()]);
        prune(root.path(), now + 8 * DAY_MS);
        assert_eq!(there(), [used]);
    }

    #[test]
    fn where_a_run_cannot_be_read_all_code_stays() {
        let (root, cluster, _) = cluster();
        fs::write(cluster.join("runs/task-1-g1-n0-i1/assignment.json"), "{").unwrap();
        prune(root.path(), unix_ms(SystemTime::now()) + 99 * DAY_MS);
        assert_eq!(names(&cluster.join("sources")).len(), 3);
    }
}
