//! What all measures work with: a folder of their own, the programs, and a line that says how far we are.

use std::error::Error;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::Command;

use fermi_domain::contract;
use tempfile::TempDir;

use crate::before::{self, Edition};
use crate::options::Options;

/// Why something could not be measured.
pub type Trouble = Box<dyn Error>;

/// Names the Python with torch, as for the tests.
const FERMI_TEST_PYTHON: &str = "FERMI_TEST_PYTHON";

pub struct Lab {
    pub options: Options,
    folder: TempDir,
    python: Option<PathBuf>,
    fermi: PathBuf,
    before: Option<PathBuf>,
    own: PathBuf,
}

impl Lab {
    pub fn open(options: Options) -> Result<Self, Trouble> {
        if options.shielded {
            shield()?;
        }
        let folder = tempfile::Builder::new().prefix("fermi-bench-").tempdir()?;
        fs::write(folder.path().join("sign.py"), include_str!("scripts/sign.py"))?;
        fs::write(folder.path().join("gloo.py"), include_str!("scripts/gloo.py"))?;
        // Copies, so that a build which goes on meanwhile changes nothing under measurement.
        let (fermi, own) = (folder.path().join("fermi"), folder.path().join("bench-rank"));
        fs::copy(env!("CARGO_BIN_EXE_fermi"), &fermi)?;
        fs::copy("/proc/self/exe", &own)?;
        let before = before::named()?;
        if let Some(named) = &before {
            fs::copy(named, folder.path().join("fermi-before"))?;
        }
        let before = before.map(|_| folder.path().join("fermi-before"));
        Ok(Self { options, folder, python: find_python(), fermi, before, own })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The interpreter that every Python rank and every Python launcher uses.
    pub fn python(&self) -> Result<&Path, Trouble> {
        let advice = "no Python found: name one in FERMI_TEST_PYTHON";
        self.python.as_deref().ok_or_else(|| advice.into())
    }

    /// A program of the same Python installation, if it is there.
    pub fn beside_python(&self, name: &str) -> Option<PathBuf> {
        Some(self.python.as_ref()?.parent()?.join(name)).filter(|path| path.is_file())
    }

    /// This very binary, which plays the ranks that need no Python.
    pub fn own(&self) -> &Path {
        &self.own
    }

    pub fn script(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// This build, and the other one where there is one to compare with.
    pub fn editions(&self) -> &'static [Edition] {
        if self.before.is_some() { &[Edition::Now, Edition::Before] } else { &[Edition::Now] }
    }

    /// The binary of an edition.
    pub fn fermi(&self, edition: Edition) -> &Path {
        match edition {
            Edition::Now => &self.fermi,
            Edition::Before => self.before.as_deref().unwrap_or(&self.fermi),
        }
    }

    /// `fermi run`, with its state in our folder and the interpreter of the others.
    pub fn fermi_run(&self) -> Command {
        self.fermi_run_of(Edition::Now)
    }

    pub fn fermi_run_of(&self, edition: Edition) -> Command {
        let mut command = Command::new(self.fermi(edition));
        command.arg("run").env(contract::FERMI_STATE_DIR, self.folder.path().join("state"));
        command.envs(self.python.iter().map(|python| (contract::PYTHON_EXEC, python)));
        command
    }

    /// Says on a terminal how far we are; the next line of a table overwrites it.
    pub fn progress(&self, what: &str, round: usize, rounds: usize) {
        if io::stderr().is_terminal() {
            let line = format!("{what}: round {} of {rounds}", round + 1);
            eprint!("\r{line:<70}{}", if round + 1 == rounds { "\r\x1b[K" } else { "" });
        }
    }
}

/// The lowest real-time priority, which all that we start inherits.
fn shield() -> io::Result<()> {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the kernel reads our structure during the call only.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const priority) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(io::Error::new(error.kind(), format!("--shielded needs the right to real-time priority: {error}")))
}

/// FERMI_TEST_PYTHON, then the environment that the tests make, then the PATH's.
fn find_python() -> Option<PathBuf> {
    let named = std::env::var_os(FERMI_TEST_PYTHON).map(PathBuf::from);
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let cached = cache.map(|cache| cache.join("fermi/venv/bin/python"));
    named.or(cached).filter(|path| path.is_file()).or_else(|| on_path("python3"))
}

/// As the shell looks for a program.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
}
