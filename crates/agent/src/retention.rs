//! Lets go of code that was fetched once and that no run refers to any more, and of drafts that an end has cut short. What
//! ranks wrote to the outputs of a task is its owner's, and stays. How much there is of both is counted, for those who look
//! after the server.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fermi_api::link::{Assignment, KeptFolders, KeptThere};
use fermi_domain::retention::{RetentionPolicy, snapshot_goes};
use fermi_domain::task::Source;

use crate::data_folder;
use crate::sample::KeptNote;

const PRUNE_EVERY: Duration = Duration::from_secs(6 * 3_600);
const COUNT_EVERY: Duration = Duration::from_secs(60);
/// Counting takes at most this part of the time: outputs may be many, on a slow disk.
const COUNTING_SHARE: u32 = 200;
/// Files of one kind that are looked at; beyond them their bytes are not known.
const MOST_FILES: usize = 200_000;

/// Looks now and again and again, in a thread of its own, as long as the agent lives.
pub fn start(root: PathBuf, note: KeptNote) -> io::Result<()> {
    let look = move || {
        let (mut removed, mut pruned) = (KeptFolders::default(), None::<Instant>);
        loop {
            let began = Instant::now();
            if pruned.is_none_or(|at| at.elapsed() >= PRUNE_EVERY) {
                prune(&root, unix_ms(SystemTime::now()), &mut removed);
                pruned = Some(began);
            }
            let counted = count(&root);
            let sources =
                KeptFolders { removed: removed.removed, removed_bytes: removed.removed_bytes, ..counted.sources };
            note.put(KeptThere { sources, ..counted });
            thread::sleep(COUNT_EVERY.max(began.elapsed().saturating_mul(COUNTING_SHARE)));
        }
    };
    thread::Builder::new().name("retention".into()).stack_size(256 * 1024).spawn(look).map(drop)
}

fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn clusters(root: &Path) -> impl Iterator<Item = PathBuf> {
    let names = names(root).into_iter().filter(|name| data_folder::is_cluster(name));
    names.map(|name| root.join(name)).filter(|folder| folder.is_dir())
}

/// How much there is, for all servers.
fn count(root: &Path) -> KeptThere {
    let of = |kind: &str| {
        let folders = clusters(root).map(|cluster| cluster.join(kind)).collect::<Vec<_>>();
        let kept = folders.iter().flat_map(|folder| names(folder).into_iter().map(|name| folder.join(name)));
        let kept: Vec<PathBuf> = kept.filter(|path| !is_draft(path) && path.is_dir()).collect();
        let mut left = MOST_FILES;
        let bytes = kept.iter().map(|folder| bytes_below(folder, &mut left)).sum();
        KeptFolders { count: kept.len() as u64, bytes, ..KeptFolders::default() }
    };
    KeptThere { sources: of("sources"), outputs: of("tasks") }
}

fn is_draft(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// The bytes of all files below a folder, links left alone; none where there are more than are left to look at.
fn bytes_below(folder: &Path, left: &mut usize) -> Option<u64> {
    let (mut bytes, mut open) = (0, vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            *left = left.checked_sub(1)?;
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                open.push(entry.path());
            } else if about.is_file() {
                bytes += about.len();
            }
        }
    }
    Some(bytes)
}

/// Goes through what is kept for each server.
fn prune(root: &Path, now_ms: u64, removed: &mut KeptFolders) {
    for cluster in clusters(root) {
        if cluster.join("sources").is_dir() {
            prune_sources(&cluster, now_ms, removed);
        }
    }
}

fn prune_sources(cluster: &Path, now_ms: u64, removed: &mut KeptFolders) {
    // A run whose assignment cannot be read may need any of them.
    let Some(used) = used(cluster) else { return };
    let policy = RetentionPolicy::default();
    let sources = cluster.join("sources");
    for name in names(&sources) {
        let path = sources.join(&name);
        let Ok(modified) = fs::metadata(&path).and_then(|about| about.modified()) else { continue };
        let modified_ms = unix_ms(modified);
        let is_draft = is_draft(&path);
        let goes = if is_draft {
            now_ms.saturating_sub(modified_ms) > policy.leftovers_ms
        } else {
            snapshot_goes(modified_ms, used.contains(&name), &policy, now_ms)
        };
        if goes {
            let mut left = MOST_FILES;
            let bytes = bytes_below(&path, &mut left).unwrap_or_default();
            if remove(&path, &sources, is_draft) {
                removed.removed += 1;
                removed.removed_bytes += bytes;
            }
        }
    }
}

/// Out of the way first: a folder with half of the code in it must never be found. Says whether it is gone.
fn remove(path: &Path, sources: &Path, is_draft: bool) -> bool {
    let aside = sources.join(format!(".gone-{}", path.file_name().unwrap_or_default().to_string_lossy()));
    if is_draft {
        fs::remove_dir_all(path).is_ok()
    } else if fs::rename(path, &aside).is_ok() {
        tracing::info!(folder = %path.display(), "code that no run refers to was removed");
        // What stays of it is a draft, and goes with the next look.
        let _ = fs::remove_dir_all(aside);
        true
    } else {
        false
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
        let mut removed = KeptFolders::default();
        prune(root.path(), now, &mut removed);
        assert_eq!(there().len(), 3);
        prune(root.path(), now + 2 * DAY_MS, &mut removed);
        assert_eq!(there(), [used.clone(), unused.clone()]);
        fs::write(cluster.join("sources").join(&unused).join("train.py"), "12345").unwrap();
        prune(root.path(), now + 8 * DAY_MS, &mut removed);
        assert_eq!(there(), [used]);
        assert_eq!((removed.removed, removed.removed_bytes), (2, 5));
    }

    #[test]
    fn sources_and_outputs_are_counted_and_links_are_not_followed() {
        let (root, cluster, [used, _]) = cluster();
        let outputs = cluster.join("tasks/task-1/outputs/checkpoints");
        fs::create_dir_all(&outputs).unwrap();
        fs::write(outputs.join("step-1.pt"), [0; 1_000]).unwrap();
        fs::write(cluster.join("sources").join(used).join("train.py"), "12345").unwrap();
        std::os::unix::fs::symlink("/usr", outputs.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(&outputs, outputs.join("again")).unwrap();
        let KeptThere { sources, outputs: written } = count(root.path());
        assert_eq!((sources.count, sources.bytes), (2, Some(5)), "a draft is no source");
        assert_eq!((written.count, written.bytes), (1, Some(1_000)));
        assert_eq!(bytes_below(&cluster, &mut 3), None, "too many to be looked at");
        assert_eq!(
            count(&root.path().join("none")),
            KeptThere {
                sources: KeptFolders { bytes: Some(0), ..KeptFolders::default() },
                outputs: KeptFolders { bytes: Some(0), ..KeptFolders::default() },
            }
        );
    }

    #[test]
    fn where_a_run_cannot_be_read_all_code_stays() {
        let (root, cluster, _) = cluster();
        fs::write(cluster.join("runs/task-1-g1-n0-i1/assignment.json"), "{").unwrap();
        prune(root.path(), unix_ms(SystemTime::now()) + 99 * DAY_MS, &mut KeptFolders::default());
        assert_eq!(names(&cluster.join("sources")).len(), 3);
    }
}
