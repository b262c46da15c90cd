//! What an agent keeps, and where.
//!
//! ```text
//! <data>/instance                                 who this agent is, for ever
//! <data>/agent.lock                               held by the agent that lives
//! <data>/cluster                                  the cluster of the last welcome
//! <data>/live/<cluster>-<run>.json                notes on runs whose keepers live
//! <data>/<cluster>/runs/<run>/assignment.json     what was started; then journal.ndjson, attempt_<n>/…, launch/
//! <data>/<cluster>/runs/<run>/keepers.lock        held by the keepers that live
//! <data>/<cluster>/runs/<run>/never               this run must not be started
//! <data>/<cluster>/tasks/<task>/outputs           what ranks write, over all launches of the task
//! <data>/<cluster>/sources/<digest>               code that was sent
//! ```

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use fermi_api::link::Assignment;
use fermi_domain::ids::TaskId;
use fermi_domain::task::RunKey;

use crate::error::AgentError;

const NEVER: &str = "never";
const ASSIGNMENT: &str = "assignment.json";

/// The agent's folder, which is this process's alone as long as this lives.
#[derive(Debug)]
pub struct DataFolder {
    root: PathBuf,
    instance: String,
    _lock: File,
}

impl DataFolder {
    /// Takes the folder, or says that another agent has it.
    pub fn take(folder: &Path) -> Result<Self, AgentError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source: io::Error| AgentError::Folder { path, source }
        };
        let root = std::path::absolute(folder).map_err(failed(folder))?;
        make(&root).map_err(failed(&root))?;
        let lock_path = root.join("agent.lock");
        let lock =
            File::options().create(true).append(true).mode(0o600).open(&lock_path).map_err(failed(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(AgentError::FolderInUse { folder: root }),
            Err(TryLockError::Error(error)) => return Err(failed(&lock_path)(error)),
        }
        let instance_path = root.join("instance");
        let instance = instance(&instance_path).map_err(failed(&instance_path))?;
        Ok(Self { root, instance, _lock: lock })
    }

    pub fn instance(&self) -> &str {
        &self.instance
    }

    pub fn live(&self) -> PathBuf {
        self.root.join("live")
    }

    /// The cluster of the last welcome.
    pub fn last_cluster(&self) -> Option<String> {
        let name = fs::read_to_string(self.root.join("cluster")).ok()?;
        Some(name.trim().to_owned()).filter(|name| is_cluster(name))
    }

    /// Remembers the cluster for the next hello.
    pub fn remember_cluster(&self, cluster: &str) -> io::Result<()> {
        write_private(&self.root.join("cluster"), cluster.as_bytes())
    }

    pub fn cluster(&self, name: &str) -> ClusterFolder {
        ClusterFolder { name: name.to_owned(), root: self.root.join(name), live: self.live() }
    }
}

/// Whether a cluster's name can be the name of a folder.
pub fn is_cluster(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty()
        && name.len() <= 128
        && !name.starts_with('.')
        && name.chars().all(is_plain)
        && !["live", "instance", "cluster", "agent.lock"].contains(&name)
}

/// What is kept for one server.
#[derive(Clone, Debug)]
pub struct ClusterFolder {
    pub name: String,
    root: PathBuf,
    pub live: PathBuf,
}

/// A run that was found on disk.
#[derive(Debug)]
pub struct FoundRun {
    pub run: RunKey,
    /// None for one that must never be started.
    pub assignment: Option<Box<Assignment>>,
}

impl ClusterFolder {
    pub fn run(&self, run: &RunKey) -> PathBuf {
        self.root.join("runs").join(run.to_string())
    }

    pub fn launch(&self, run: &RunKey) -> PathBuf {
        self.run(run).join("launch")
    }

    /// The lock that keepers hold.
    pub fn keepers_lock(&self, run: &RunKey) -> PathBuf {
        self.run(run).join("keepers.lock")
    }

    pub fn outputs(&self, task: &TaskId) -> PathBuf {
        self.root.join("tasks").join(task.as_str()).join("outputs")
    }

    pub fn sources(&self) -> PathBuf {
        self.root.join("sources")
    }

    /// By this name the run is known on this machine.
    pub fn run_id(&self, run: &RunKey) -> String {
        format!("{}-{run}", self.name)
    }

    /// Writes down what is about to be started. From here a new agent takes the run for one that was started.
    pub fn write_assignment(&self, assignment: &Assignment) -> io::Result<()> {
        let folder = self.run(&assignment.run);
        make(&folder)?;
        write_private(&folder.join(ASSIGNMENT), &serde_json::to_vec(assignment)?)
    }

    /// Sees to it that no agent ever starts this run.
    pub fn refuse_for_ever(&self, run: &RunKey) -> io::Result<()> {
        let folder = self.run(run);
        make(&folder)?;
        write_private(&folder.join(NEVER), b"")
    }

    /// Deletes the files of a run; what ranks wrote to the outputs is elsewhere and stays.
    pub fn delete_run(&self, run: &RunKey) {
        // Not being there is what is wanted.
        let _ = fs::remove_dir_all(self.run(run));
    }

    /// All runs that are on disk. What was never started, because the agent died before, is taken away.
    pub fn runs(&self) -> Vec<FoundRun> {
        let entries = fs::read_dir(self.root.join("runs")).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let run: RunKey = entry.file_name().to_str()?.parse().ok()?;
                let folder = entry.path();
                let read = fs::read(folder.join(ASSIGNMENT)).ok();
                let assignment: Option<Box<Assignment>> = read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
                if assignment.is_none() && !folder.join(NEVER).exists() && !folder.join(ASSIGNMENT).exists() {
                    self.delete_run(&run);
                    return None;
                }
                Some(FoundRun { run, assignment })
            })
            .collect()
    }
}

/// Makes a folder that only its owner reads.
pub fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a file in one piece that only its owner reads.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = File::options().create(true).write(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(draft, path)
}

fn instance(path: &Path) -> io::Result<String> {
    if let Some(known) = fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|id| !id.is_empty()) {
        return Ok(known);
    }
    let mut random = [0u8; 16];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let id = HEXLOWER.encode(&random);
    write_private(path, id.as_bytes())?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_agent_is_the_same_for_ever_and_alone_in_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = DataFolder::take(folder.path()).unwrap();
        assert!(matches!(DataFolder::take(folder.path()), Err(AgentError::FolderInUse { .. })));
        let instance = first.instance().to_owned();
        assert_eq!(instance.len(), 32);
        let mode = fs::metadata(folder.path().join("instance")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(first);
        assert_eq!(DataFolder::take(folder.path()).unwrap().instance(), instance);
    }

    #[test]
    fn a_clusters_name_never_leaves_the_folder() {
        assert!(is_cluster("c-8f1a.x_2"));
        for name in ["", ".", "..", "a/b", "live", ".x", "训练"] {
            assert!(!is_cluster(name), "{name}");
        }
    }

    #[test]
    fn runs_that_were_never_started_are_not_found() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::take(folder.path()).unwrap();
        let cluster = data.cluster("c");
        let never: RunKey = "task-1-g1-n0-i1".parse().unwrap();
        cluster.refuse_for_ever(&never).unwrap();
        make(&cluster.run(&"task-2-g1-n0-i1".parse().unwrap())).unwrap();
        make(&folder.path().join("c/runs/strange")).unwrap();
        let found = cluster.runs();
        assert_eq!(found.len(), 1);
        assert!(found[0].run == never && found[0].assignment.is_none());
        assert!(!folder.path().join("c/runs/task-2-g1-n0-i1").exists());
    }
}
