//! What an agent keeps, and where.
//!
//! ```text
//! <data>/instance                                 who this agent is, as long as its folder is not copied
//! <data>/home.json                                where the folder is at home, by which a copy is known
//! <data>/<cluster>/pass.json                      what it shows to the server of a cluster; before the first, <data>/pass.json
//! <data>/agent.lock                               held by the agent that lives
//! <data>/cluster                                  the cluster of the last welcome
//! <data>/live/<cluster>-<run>.json                notes on runs whose keepers live
//! <data>/<cluster>/runs/<run>/assignment.json     what was started; then journal.ndjson, attempt_<n>/…, launch/
//! <data>/<cluster>/runs/<run>/keepers.lock        held by the keepers that live
//! <data>/<cluster>/runs/<run>/never               this run must not be started
//! <data>/<cluster>/tasks/<task>/outputs           what ranks write, over all launches of the task
//! <data>/<cluster>/tasks/<task>/source            the task's own copy of its code, where ranks start
//! <data>/<cluster>/hook/<fingerprint>             what Python ranks load before their script
//! <data>/<cluster>/sources/<digest>               code that was sent
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use fermi_api::link::Assignment;
use fermi_domain::fleet;
use fermi_domain::ids::TaskId;
use fermi_domain::task::RunKey;
use fermi_process::account::{PASSABLE, SystemAccount, let_pass};
use fermi_process::journal;
pub use fermi_process::private_folder::make;
use fermi_process::private_folder::{self, TooOpen};
use nix::unistd::geteuid;

use crate::error::AgentError;
use crate::identity::{self, Home, PassBook};
use crate::prepare::PrepareRefusal;
use crate::run_as;

const TASKS: &str = "tasks";
const NEVER: &str = "never";
const ASSIGNMENT: &str = "assignment.json";
pub const PASS: &str = "pass.json";

/// The agent's folder, which is this process's alone as long as this lives.
#[derive(Debug)]
pub struct DataFolder {
    root: PathBuf,
    instance: String,
    /// It was found to be a copy of another one, and is a folder of its own from now on.
    pub is_copy: bool,
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
        let serves_accounts = geteuid().is_root() && serves_accounts(&root);
        if serves_accounts {
            let_pass(&root).map_err(failed(&root))?;
        } else if let Err(TooOpen { mode }) = private_folder::check(&root).map_err(failed(&root))?
            && !(geteuid().is_root() && mode == PASSABLE)
        {
            return Err(AgentError::TooOpen { folder: root, mode });
        }
        let lock_path = root.join("agent.lock");
        let lock =
            File::options().create(true).append(true).mode(0o600).open(&lock_path).map_err(failed(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(AgentError::FolderInUse { folder: root }),
            Err(TryLockError::Error(error)) => return Err(failed(&lock_path)(error)),
        }
        let instance_path = root.join("instance");
        let (instance, is_copy) = instance(&root).map_err(failed(&instance_path))?;
        Ok(Self { root, instance, is_copy, _lock: lock })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn instance(&self) -> &str {
        &self.instance
    }

    pub fn live(&self) -> PathBuf {
        self.root.join("live")
    }

    /// The cluster of the last welcome; the error where that cannot be told.
    pub fn last_cluster(&self) -> Result<Option<String>, AgentError> {
        let path = self.root.join("cluster");
        let text = if_there(fs::read_to_string(&path)).map_err(|source| AgentError::Folder { path, source })?;
        Ok(text.map(|name| name.trim().to_owned()).filter(|name| is_cluster(name)))
    }

    /// Remembers the cluster for the next hello.
    pub fn remember_cluster(&self, cluster: &str) -> io::Result<()> {
        write_private(&self.root.join("cluster"), cluster.as_bytes())
    }

    /// What the agent shows to servers.
    pub fn passes(&self) -> Result<PassBook, AgentError> {
        PassBook::open(self.root.clone(), self.last_cluster()?)
    }

    pub fn cluster(&self, name: &str) -> ClusterFolder {
        ClusterFolder { name: name.to_owned(), root: self.root.join(name), data: self.root.clone(), live: self.live() }
    }
}

/// Whether ranks of other accounts have folders in here.
fn serves_accounts(root: &Path) -> bool {
    let mut clusters = fs::read_dir(root).into_iter().flatten().flatten();
    clusters.any(|entry| run_as::is_passable(&entry.path().join(TASKS)).unwrap_or(false))
}

/// Whether a cluster's name can be the name of a folder.
pub fn is_cluster(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty()
        && name.len() <= 128
        && !name.starts_with('.')
        && name.chars().all(is_plain)
        && !["live", "instance", "cluster", "agent.lock", "home.json", PASS].contains(&name)
}

/// What is kept for one server.
#[derive(Clone, Debug)]
pub struct ClusterFolder {
    pub name: String,
    root: PathBuf,
    /// The agent's.
    data: PathBuf,
    pub live: PathBuf,
}

/// The task of the highest number that has a folder in an agent's data folder, for a cluster.
pub fn newest_task(data: &Path, cluster: &str) -> Option<TaskId> {
    let entries = fs::read_dir(data.join(cluster).join(TASKS)).ok()?.flatten();
    let tasks = entries.filter_map(|entry| Some(TaskId(entry.file_name().to_str()?.to_owned())));
    tasks.filter_map(|task| Some((fleet::number(&task)?, task))).max_by_key(|(number, _)| *number).map(|(_, task)| task)
}

/// A run that was found on disk.
#[derive(Debug)]
pub struct RunOnDisk {
    pub run: RunKey,
    /// It must never be started.
    pub is_refused: bool,
    pub has_journal: bool,
    /// What was to be sent home of it; the rest of an assignment is of no use any more.
    pub plan: StreamPlan,
}

/// What an assignment says of the streams of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamPlan {
    /// Global ranks, in the order of local ranks.
    pub ranks: Vec<u32>,
    pub first_attempt: u32,
}

impl StreamPlan {
    pub fn of(assignment: &Assignment) -> Self {
        Self {
            ranks: assignment.launch.ranks.iter().map(|rank| rank.rank.get()).collect(),
            first_attempt: assignment.policy.attempts_before + 1,
        }
    }

    /// Reads as much as it needs, so that an assignment of another release, with fields that this one does not know or
    /// misses, still says what a living run writes.
    fn read(bytes: &[u8]) -> Option<Self> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Part {
            ranks: Vec<PartOfRank>,
            #[serde(default)]
            attempts_before: u32,
        }
        #[derive(serde::Deserialize)]
        struct PartOfRank {
            rank: u32,
        }
        let part: Part = serde_json::from_slice(bytes).ok()?;
        Some(Self {
            ranks: part.ranks.into_iter().map(|rank| rank.rank).collect(),
            first_attempt: part.attempts_before + 1,
        })
    }
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

    fn task(&self, task: &TaskId) -> PathBuf {
        self.root.join(TASKS).join(task.as_str())
    }

    /// Makes the folders of a run and of its task, and lets the account of its ranks into what is theirs; nobody but the
    /// agent where there is none.
    pub fn make_folders(&self, run: &RunKey, account: Option<&SystemAccount>) -> Result<(), PrepareRefusal> {
        let (task, outputs) = (self.task(&run.task), self.outputs(&run.task));
        for folder in [&self.launch(run), &outputs] {
            make(folder).map_err(|error| PrepareRefusal::folder(folder, &error))?;
        }
        let Some(account) = account else {
            return run_as::close(&task).map_err(|error| PrepareRefusal::folder(&task, &error));
        };
        let opened = run_as::let_through(&self.data, &self.root)
            .and_then(|()| [self.run(run), task].iter().try_for_each(|folder| let_pass(folder)));
        opened.map_err(|error| PrepareRefusal::folder(&self.root, &error))?;
        hand_over(&outputs, account)
    }

    pub fn outputs(&self, task: &TaskId) -> PathBuf {
        self.task(task).join("outputs")
    }

    /// The task's own copy of the code that was sent.
    pub fn source_of(&self, task: &TaskId) -> PathBuf {
        self.task(task).join("source")
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn sources(&self) -> PathBuf {
        self.root.join("sources")
    }

    /// By this name the run is known on this machine.
    pub fn run_id(&self, run: &RunKey) -> String {
        format!("{}-{run}", self.name)
    }

    /// Writes down what is about to be started, but for secrets: those go to the keepers alone. From here a new agent takes
    /// the run for one that was started.
    pub fn write_assignment(&self, assignment: &Assignment) -> io::Result<()> {
        let folder = self.run(&assignment.run);
        make(&folder)?;
        write_private(&folder.join(ASSIGNMENT), &serde_json::to_vec(&assignment.masked())?)
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

    /// All runs that are on disk. The name of a folder suffices: what is in it may be torn, or of another release. The error
    /// where a folder cannot be read: what cannot be seen is not gone.
    pub fn runs(&self) -> Result<Vec<RunOnDisk>, AgentError> {
        let folder = self.root.join("runs");
        let unreadable = |source| AgentError::Folder { path: folder.clone(), source };
        let Some(entries) = if_there(fs::read_dir(&folder)).map_err(unreadable)? else { return Ok(Vec::new()) };
        let mut runs = Vec::new();
        for entry in entries {
            let entry = entry.map_err(unreadable)?;
            if let Some(run) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
                let path = entry.path();
                runs.push(RunOnDisk::look_at(run, &path).map_err(|source| AgentError::Folder { path, source })?);
            }
        }
        Ok(runs)
    }
}

impl RunOnDisk {
    fn look_at(run: RunKey, folder: &Path) -> io::Result<Self> {
        let assignment = if_there(fs::read(folder.join(ASSIGNMENT)))?;
        Ok(Self {
            run,
            is_refused: folder.join(NEVER).try_exists()?,
            has_journal: folder.join(journal::FILE_NAME).try_exists()?,
            plan: assignment.and_then(|bytes| StreamPlan::read(&bytes)).unwrap_or_default(),
        })
    }
}

/// What was found; none where there is nothing. Any other error is not taken for that.
pub fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a folder of a task its account's own.
pub fn hand_over(folder: &Path, account: &SystemAccount) -> Result<(), PrepareRefusal> {
    let done = run_as::hand_over(folder, account).map_err(PrepareRefusal::RunAs)?;
    done.map_err(|error| PrepareRefusal::folder(folder, &error))
}

/// Writes a file in one piece that only its owner reads.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = File::options().create(true).write(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(draft, path)?;
    // The name must survive a power cut as well as the bytes.
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// The name of this agent, and whether its folder turned out to be a copy: then it gets a name of its own, and the passes
/// of the original are none of its.
fn instance(root: &Path) -> io::Result<(String, bool)> {
    let (path, home_path) = (root.join("instance"), root.join("home.json"));
    let known = if_there(fs::read_to_string(&path))?.map(|text| text.trim().to_owned()).filter(|id| !id.is_empty());
    let home = if_there(fs::read(&home_path))?.and_then(|bytes| serde_json::from_slice::<Home>(&bytes).ok());
    let is_copy = match (&known, &home) {
        (Some(_), Some(home)) => home.is_copied(&Home::of(&path)?),
        _ => false,
    };
    let instance = match known.filter(|_| !is_copy) {
        Some(known) => known,
        None => {
            let id = identity::random()?;
            write_private(&path, id.as_bytes())?;
            id
        }
    };
    if is_copy {
        let _ = fs::remove_file(root.join(PASS));
        for entry in fs::read_dir(root)?.flatten() {
            // Not being there is what is wanted.
            let _ = fs::remove_file(entry.path().join(PASS));
        }
    }
    let here = Home::of(&path)?;
    if home.as_ref() != Some(&here) {
        let written = write_private(&home_path, &serde_json::to_vec(&here)?);
        // On a full disk an agent starts all the same; only a copy must not forget that it is one.
        if is_copy {
            written?;
        }
    }
    Ok((instance, is_copy))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder as an agent makes it: for its own account alone.
    pub(crate) fn own_folder() -> tempfile::TempDir {
        tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o700)).tempdir().unwrap()
    }

    #[test]
    fn an_agent_is_the_same_for_ever_and_alone_in_its_folder() {
        let folder = own_folder();
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
    fn a_folder_that_others_may_enter_is_refused() {
        let folder = own_folder();
        for (mode, is_taken) in [(0o755, false), (0o710, false), (0o750, false), (0o700, true)] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            let taken = DataFolder::take(folder.path());
            assert_eq!(taken.is_ok(), is_taken, "{mode:o}: {taken:?}");
            assert!(is_taken || matches!(taken, Err(AgentError::TooOpen { mode: found, .. }) if found == mode));
        }
    }

    #[test]
    fn a_clusters_name_never_leaves_the_folder() {
        assert!(is_cluster("c-8f1a.x_2"));
        for name in ["", ".", "..", "a/b", "live", ".x", "训练"] {
            assert!(!is_cluster(name), "{name}");
        }
    }

    #[test]
    fn the_newest_task_is_that_of_the_highest_number() {
        let folder = own_folder();
        assert_eq!(newest_task(folder.path(), "c1"), None);
        for name in ["task-9", "task-10", "task-x", "notes"] {
            fs::create_dir_all(folder.path().join("c1").join(TASKS).join(name)).unwrap();
        }
        assert_eq!(newest_task(folder.path(), "c1"), Some(TaskId("task-10".to_owned())));
    }

    #[test]
    fn runs_are_found_by_the_names_of_their_folders_whatever_is_in_them() {
        let folder = own_folder();
        let data = DataFolder::take(folder.path()).unwrap();
        let cluster = data.cluster("c");
        let never: RunKey = "task-1-g1-n0-i1".parse().unwrap();
        cluster.refuse_for_ever(&never).unwrap();
        make(&cluster.run(&"task-2-g1-n0-i1".parse().unwrap())).unwrap();
        make(&folder.path().join("c/runs/strange")).unwrap();
        let torn: RunKey = "task-3-g1-n0-i1".parse().unwrap();
        make(&cluster.run(&torn)).unwrap();
        fs::write(cluster.run(&torn).join(ASSIGNMENT), "{\"ranks\": [").unwrap();
        let newer: RunKey = "task-4-g1-n0-i1".parse().unwrap();
        make(&cluster.run(&newer)).unwrap();
        let text = r#"{"ranks":[{"rank":4,"of":"a newer release"},{"rank":5}],"attemptsBefore":2}"#;
        fs::write(cluster.run(&newer).join(ASSIGNMENT), text).unwrap();
        fs::write(cluster.run(&newer).join(journal::FILE_NAME), "").unwrap();
        let mut found = cluster.runs().unwrap();
        found.sort_by(|one, other| one.run.cmp(&other.run));
        let seen: Vec<_> = found.iter().map(|run| (run.is_refused, run.has_journal, run.plan.ranks.len())).collect();
        assert_eq!(seen, [(true, false, 0), (false, false, 0), (false, false, 0), (false, true, 2)]);
        assert_eq!(found[3].plan, StreamPlan { ranks: vec![4, 5], first_attempt: 3 });
        // Reading a folder as a file fails, as a bad sector does.
        let unreadable = cluster.run(&torn).join(ASSIGNMENT);
        fs::remove_file(&unreadable).unwrap();
        make(&unreadable).unwrap();
        assert!(matches!(cluster.runs(), Err(AgentError::Folder { path, .. }) if path == cluster.run(&torn)));
    }
}
