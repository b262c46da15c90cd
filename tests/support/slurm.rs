//! A real Slurm of four nodes for one test, gone with it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Ended, Place, Run, eventually};

/// The programs that the test machine must have.
const NEEDED: [&str; 5] = ["munged", "slurmctld", "slurmd", "sbatch", "srun"];

pub struct Cluster {
    folder: PathBuf,
}

impl Cluster {
    /// Starts the cluster; none when the person who runs the tests left Slurm out, which is said.
    pub fn start(place: &Place) -> Option<Self> {
        if super::is_left_out("slurm") {
            return None;
        }
        let paths = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/sbin"].map(PathBuf::from);
        for name in NEEDED {
            assert!(
                paths.iter().any(|folder| folder.join(name).is_file()),
                "{name} is missing: apt-get install -y --no-install-recommends munge slurmctld slurmd slurm-client, \
                 or leave Slurm out with FERMI_LEAVE_OUT=slurm"
            );
        }
        // munged wants a way to its socket that all users may go.
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let cluster = Self { folder: place.path().join("slurm") };
        fs::create_dir(&cluster.folder).unwrap();
        Run::whole(&mut cluster.script(&["up", cluster.folder.to_str().unwrap(), "4", &port().to_string()])).expect(0);
        Some(cluster)
    }

    fn script(&self, words: &[&str]) -> Command {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/support/slurm.sh");
        let mut command = Command::new("bash");
        // Without the test's mark: the daemons are no part of what the test looks for.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).arg(script).args(words);
        command
    }

    /// A program that talks to this cluster.
    pub fn program(&self, place: &Place, name: impl AsRef<OsStr>, words: &[&str]) -> Command {
        let mut command = place.program(name);
        command.env("SLURM_CONF", self.folder.join("slurm.conf")).args(words);
        command
    }

    /// What one of Slurm's own programs answers.
    pub fn ask(&self, place: &Place, name: &str, words: &[&str]) -> String {
        Run::whole(&mut self.program(place, name, words)).out()
    }

    pub fn fermi(&self, place: &Place, words: &[&str]) -> Command {
        self.program(place, env!("CARGO_BIN_EXE_fermi"), words)
    }

    /// `srun … fermi run --mode slurm …`.
    pub fn srun(&self, place: &Place, srun: &[&str], run: &[&str]) -> Ended {
        let mut command = self.program(place, "srun", srun);
        command.args([env!("CARGO_BIN_EXE_fermi"), "run", "--mode", "slurm"]).args(run);
        Run::whole(&mut command)
    }

    /// Waits until a job is in this state.
    pub fn reaches(&self, place: &Place, job: &str, state: &str) {
        eventually(&format!("job {job} {state}"), || {
            (self.ask(place, "squeue", &["-h", "-j", job, "-t", "all", "-o", "%T"]).trim() == state).then_some(())
        });
    }

    /// Spares a requeued job the two minutes that Slurm keeps it back, but not the time that its first life takes to end:
    /// for that they are there.
    pub fn starts_again(&self, place: &Place, job: &str) {
        self.reaches(place, job, "PENDING");
        let state = |name: &str| self.ask(place, "scontrol", &["-o", "show", "job", job]).contains(name);
        eventually("the end of the job's first life", || {
            let former = format!("SLURM_JOB_ID={job}");
            let lives = |process: &super::Process| {
                process.environ().split(|byte| *byte == 0).any(|pair| pair == former.as_bytes())
            };
            (!place.alive().iter().any(lives)).then_some(())
        });
        eventually("a start of the requeued job", || {
            self.ask(place, "scontrol", &["update", &format!("JobId={job}"), "StartTime=now"]);
            (!state("JobState=PENDING")).then_some(())
        });
    }

    /// Kills the daemon of one node, as a machine that fails would.
    pub fn kill_node(&self, node: &str) {
        let number = fs::read_to_string(self.folder.join(format!("pid/slurmd-{node}.pid"))).unwrap();
        super::signal(number.trim().parse().unwrap(), libc::SIGKILL);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.script(&["down", self.folder.to_str().unwrap()]).status();
    }
}

/// Five ports for each cluster; tests run side by side, as processes or as threads.
fn port() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = std::process::id() * 7 + NEXT.fetch_add(1, Ordering::Relaxed);
    15_000 + number % 1200 * 11
}
