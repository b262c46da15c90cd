//! A folder with a home, a state folder and a mark of its own: two tests never see each other's runs.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::processes::{self, Process};

/// Set for everything that a test starts, and inherited by all that this starts in turn.
const MARK: &str = "FERMI_TEST_MARK";

/// Where one test lives.
pub struct Place {
    folder: tempfile::TempDir,
    mark: String,
    /// What everything that is started here has in its environment.
    variables: Vec<(&'static str, PathBuf)>,
}

impl Place {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = tempfile::Builder::new().prefix("fermi-test-").tempdir().unwrap();
        for name in ["home", "work", "numbers"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let mark = format!("{MARK}={}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self { folder, mark, variables: Vec::new() }
    }

    /// What is started from now on has this in its environment.
    pub fn set(&mut self, name: &'static str, value: PathBuf) {
        self.variables.push((name, value));
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The working folder of what is started here.
    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// Where processes that hide leave their numbers.
    pub fn numbers(&self) -> PathBuf {
        self.path().join("numbers")
    }

    /// Writes a file into the working folder.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Any program, with an environment that holds nothing of whoever runs the tests.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let (name, value) = self.mark.split_once('=').unwrap();
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("LANG", "C.UTF-8")
            .env("FERMI_STATE_DIR", self.state())
            .env("PYTHON_EXEC", super::python())
            .env(name, value)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.work());
        command
    }

    /// `fermi …`.
    pub fn fermi(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_fermi"));
        command.args(arguments);
        command
    }

    /// `fermi run …`.
    pub fn run(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = self.fermi(["run"]);
        command.args(arguments);
        command
    }

    /// A program in a mount namespace of its own, which this line of shell has changed; the program and its arguments
    /// follow. A test that calls it may be left out as `mount`.
    pub fn with_mounts(&self, change: &str) -> Command {
        let tried =
            Command::new("unshare").args(["-m", "sh", "-c", change]).output().expect("unshare is needed: util-linux");
        assert!(
            tried.status.success(),
            "mounts cannot be changed here ({}); run as root, or set FERMI_LEAVE_OUT=mount to leave these tests out",
            String::from_utf8_lossy(&tried.stderr).trim()
        );
        let mut command = self.program("unshare");
        command.args(["-m", "sh", "-c", &format!("{{ {change}; }} && exec \"$@\""), "-"]);
        command
    }

    /// The folders of all runs that were kept here, the oldest first.
    pub fn run_folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.state().join("runs")).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        folders.sort();
        folders
    }

    /// The notes on the runs whose keepers are up.
    pub fn live_notes(&self) -> HashSet<PathBuf> {
        fs::read_dir(self.state().join("live")).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }

    /// The folder of the only run that was kept here.
    pub fn run_folder(&self) -> PathBuf {
        let folders = self.run_folders();
        assert_eq!(folders.len(), 1, "one run is expected: {folders:?}");
        folders.into_iter().next().unwrap()
    }

    /// A file of a rank of the only run.
    pub fn rank_file(&self, attempt: u32, local_rank: u32, name: &str) -> PathBuf {
        self.run_folder().join(format!("attempt_{attempt}/{local_rank}/{name}"))
    }

    pub fn rank_text(&self, attempt: u32, local_rank: u32, name: &str) -> String {
        let path = self.rank_file(attempt, local_rank, name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// All living processes of this place, also those that threw its mark away.
    pub fn alive(&self) -> Vec<Process> {
        processes::of_a_test(&self.mark, &[], &self.numbers())
    }

    /// The same, with all that is below these.
    pub fn alive_below(&self, roots: &[i32]) -> Vec<Process> {
        processes::of_a_test(&self.mark, roots, &self.numbers())
    }

    /// Fails the test if anything that was started here is still alive.
    pub fn assert_empty(&self) {
        let left = self.alive();
        assert!(left.is_empty(), "these are still alive: {left:?}");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What forks while it is being ended is met in the next round.
        for _ in 0..50 {
            let left = self.alive();
            if left.is_empty() {
                return;
            }
            left.iter().for_each(Process::kill);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}
