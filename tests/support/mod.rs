//! What the black-box tests share: a place of its own for every test, the real binary started in it, and a look at the
//! processes it leaves.
//!
//! A test ends only what it started: everything below a [`Place`] carries a mark in its environment or has left its
//! number in a file there, and is ended by number when the place is dropped.

mod capture;
mod delay;
mod disks;
mod faults;
mod fleet;
mod hosts;
mod place;
mod processes;
mod recording;
pub mod relay;
mod run;
mod slurm;
pub mod sshd;
mod terminal;
mod trail;

pub use disks::Disks;
pub use faults::{Fault, Faults};
pub use fleet::{Elsewhere, Fleet};
pub use hosts::Hosts;
pub use place::Place;
pub use processes::Process;
pub use recording::{Cut, Mark, Recording};
pub use run::{Ended, Run};
pub use slurm::Cluster;
pub use terminal::Terminal;
pub use trail::Trail;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine; who waits so long waits in vain.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Looks until there is something to see; a test that waits in vain says what for. The longer it waits the more seldom it
/// looks: a look is often a request, and costs the machine on which others wait too.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        let waited = since.elapsed();
        assert!(waited < PATIENCE, "waited {} s in vain: {what}", PATIENCE.as_secs());
        std::thread::sleep((waited / 32).clamp(Duration::from_millis(2), Duration::from_millis(25)));
    }
}

/// A script of `tests/ranks`.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ranks").join(name).canonicalize().unwrap()
}

/// The plain interpreter itself, not a shell script around it that chooses one.
pub fn python() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        let answer = asked.expect("these tests need python3 on the PATH").stdout;
        PathBuf::from(String::from_utf8(answer).unwrap().trim())
    })
}

/// The name by which `fermi run` calls this machine.
pub fn host_name() -> String {
    let name = nix::unistd::gethostname().unwrap().into_string().unwrap();
    name.split('.').next().unwrap().to_owned()
}

/// Sends a signal to one process, by its number.
pub fn signal(pid: i32, signal: i32) {
    // SAFETY: the number of a process that the test has started.
    unsafe { libc::kill(pid, signal) };
}

/// Whether the one who runs the tests says that this part cannot be had here; said aloud, never silently.
pub fn is_left_out(part: &str) -> bool {
    let named = std::env::var("FERMI_LEAVE_OUT").unwrap_or_default();
    let left_out = named.split(',').any(|name| name.trim() == part);
    if left_out {
        eprintln!("left out: {part} (FERMI_LEAVE_OUT={named})");
    }
    left_out
}

/// Whether `make test-long` asks.
pub fn is_long() -> bool {
    std::env::var_os("FERMI_TEST_LONG").is_some_and(|value| !value.is_empty())
}

/// Where what tests fetch once is kept.
pub fn cache() -> PathBuf {
    let given = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    given.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache")).join("fermi")
}

/// An interpreter with the real torch: FERMI_TEST_PYTHON, else the one that `make venv` made.
pub fn torch_python() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let named = std::env::var_os("FERMI_TEST_PYTHON").filter(|path| !path.is_empty()).map(PathBuf::from);
        let made = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/fermi/venv/bin/python"));
        let python = named.or(made).unwrap_or_default();
        let question = "import importlib.util as u; exit(u.find_spec('torch') is None)";
        let has_torch = Command::new(&python).args(["-c", question]).status().is_ok_and(|status| status.success());
        assert!(
            has_torch,
            "there is no torch for these tests at '{}': run `make venv`, or name an interpreter that has torch in \
             FERMI_TEST_PYTHON",
            python.display()
        );
        python
    })
}
