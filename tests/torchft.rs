//! torchft: two replica groups, each started by a `fermi run` of its own, whose managers meet at the stores that Fermi hosts.
//! One group loses a rank, then its launcher, and comes back each time. Its packages are fetched once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{Place, Run, cache, eventually, is_long, script, signal, sshd::free_port, torch_python};

const PACKAGE: &str = "torchft==0.2.0";
/// What it wants beside torch.
const BESIDE: [&str; 2] = ["opentelemetry-sdk>=1.39,<2", "opentelemetry-exporter-otlp-proto-http>=1.39,<2"];

/// The folder with the packages; none where they cannot be had.
fn packages() -> Option<PathBuf> {
    let folder = cache().join(PACKAGE);
    if !folder.join("torchft").is_dir() {
        std::fs::create_dir_all(cache()).ok()?;
        let aside = tempfile::tempdir_in(cache()).ok()?;
        let pip = |more: &[&str]| {
            let mut pip = Command::new(torch_python());
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]).arg(aside.path());
            pip.args(more).status().ok().filter(|status| status.success())
        };
        pip(&BESIDE)?;
        // The torch of the tests is the one that is meant.
        pip(&["--no-deps", PACKAGE])?;
        std::fs::rename(aside.path(), &folder).ok().or_else(|| folder.is_dir().then_some(()))?;
    }
    Some(folder)
}

struct Job {
    place: Place,
    packages: PathBuf,
    lighthouse: Option<String>,
}

impl Job {
    fn python(&self, command: &mut Command) {
        command.env("PYTHONPATH", &self.packages).env("GLOO_SOCKET_IFNAME", "lo");
        command.envs(self.lighthouse.iter().map(|address| ("TORCHFT_LIGHTHOUSE", address)));
    }

    /// Where groups find each other; it ends with its input.
    fn lighthouse(&mut self) -> Run {
        let mut command = self.place.program(torch_python());
        self.python(&mut command);
        command.args([
            "-c",
            "import sys\n\
             from torchft.coordination import LighthouseServer\n\
             server = LighthouseServer(bind='127.0.0.1:0', min_replicas=1, join_timeout_ms=1000, heartbeat_timeout_ms=2000)\n\
             port = server.address().rpartition(':')[2]\n\
             print(f'http://127.0.0.1:{port}', flush=True)\n\
             sys.stdin.read()\n",
        ]);
        command.stdin(std::process::Stdio::piped());
        let run = Run::start_as_it_is(&mut command);
        let address = eventually("the lighthouse", || {
            let said = run.stdout_so_far();
            said.ends_with('\n').then(|| said.trim().to_owned())
        });
        self.lighthouse = Some(address);
        run
    }

    fn group(&self, group: u32, port: u16) -> Group {
        let port = port.to_string();
        let mut command = self.place.run(["-n", "2", "--json", "--max-restarts", "3", "--master-port", &port]);
        self.python(&mut command);
        command.env("PYTHON_EXEC", torch_python()).env("REPLICA_GROUP_ID", group.to_string());
        Group { run: Run::start(command.arg(script("torchft_group.py")).arg(self.place.path())) }
    }
}

struct Group {
    run: Run,
}

/// A step of rank 0: how many groups made it, and what the model is after it.
type Steps = BTreeMap<u64, (u32, String)>;

impl Group {
    fn steps(&self) -> Steps {
        let step = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["rank", "0", "step", step, "groups", groups, "sum", sum] = words[..] else { return None };
            Some((step.parse().ok()?, (groups.parse().ok()?, sum.to_owned())))
        };
        self.run.stderr_so_far().lines().filter_map(step).collect()
    }

    /// Waits for a step of both groups that is later than this one.
    fn trains_with_other_after(&self, last: u64) -> u64 {
        eventually(&format!("a common step after {last}; {}", self.run.stderr_so_far()), || {
            self.steps().into_iter().find(|(step, (groups, _))| *step > last && *groups == 2).map(|(step, _)| step)
        })
    }

    fn last_step(&self) -> u64 {
        self.steps().keys().next_back().copied().unwrap_or(0)
    }
}

#[test]
fn torchft_groups_train_on_when_one_loses_a_rank_or_its_launcher_and_it_comes_back() {
    if !is_long() {
        eprintln!("left out: torchft (make test-long)");
        return;
    }
    let Some(packages) = packages() else {
        eprintln!("left out: torchft, for want of {PACKAGE} (pip install)");
        return;
    };
    let mut job = Job { place: Place::new(), packages, lighthouse: None };
    let mut lighthouse = job.lighthouse();
    let (first, port) = (job.group(0, free_port()), free_port());
    let mut second = job.group(1, port);
    first.trains_with_other_after(0);

    // A rank of the second group dies: the launcher starts the group anew, which takes over the step of the first.
    let pid = second.run.event_count("rank.started", 2)[1]["pid"].as_i64().unwrap();
    signal(i32::try_from(pid).unwrap(), libc::SIGKILL);
    second.run.event("restart.scheduled");
    let before = first.last_step();
    second.run.event_count("attempt.started", 2);
    assert!(second.trains_with_other_after(before) > before);

    // The launcher itself dies, and another takes its place at the same port.
    second.run.signal(libc::SIGKILL);
    assert_eq!(second.run.ended().signal(), Some(libc::SIGKILL));
    let before = first.last_step();
    second = job.group(1, port);
    second.trains_with_other_after(before);
    first.trains_with_other_after(before);

    std::fs::write(job.place.path().join("stop"), "").unwrap();
    let (of_first, of_second) = (first.steps(), second.steps());
    for group in [first, second] {
        group.run.ended().expect(0);
    }
    let common = of_second.iter().filter(|(step, (groups, _))| *groups == 2 && of_first.contains_key(step));
    let differ: Vec<_> = common.clone().filter(|(step, after)| of_first[step].1 != after.1).collect();
    assert!(differ.is_empty() && common.count() > 0, "{of_first:?}\n{of_second:?}");
    drop(lighthouse.stdin());
    lighthouse.ended();
    job.place.assert_empty();
}
