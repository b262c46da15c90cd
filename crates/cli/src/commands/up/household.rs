//! Whoever lives below this process: its children, and the orphans that it takes in, so that it can say at its end that
//! nobody is left.

use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

/// A process with the name that the system shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inhabitant {
    pub pid: i32,
    pub name: String,
}

/// From now on processes below this one that lose their parent become its children.
pub fn adopt_orphans() {
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Buries orphans that have died; `ours` are children that somebody else waits for.
pub fn bury(ours: &[i32]) {
    loop {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let pid = match waitid(Id::All, flags) {
            Ok(status) => match status.pid() {
                Some(pid) if !matches!(status, WaitStatus::StillAlive) => pid,
                _ => return,
            },
            Err(Errno::EINTR) => continue,
            Err(_) => return,
        };
        // The one who waits for it comes soon; until then it hides the others, which do not mind.
        if ours.contains(&pid.as_raw()) || waitpid(pid, Some(WaitPidFlag::WNOHANG)).is_err() {
            return;
        }
    }
}

/// All living processes below this one.
pub fn inhabitants() -> Vec<Inhabitant> {
    let mut found = Vec::new();
    let mut parents = vec![i32::try_from(std::process::id()).unwrap_or(0)];
    let all = processes();
    while let Some(parent) = parents.pop() {
        for (pid, its_parent, state, name) in &all {
            if *its_parent == parent {
                parents.push(*pid);
                if *state != 'Z' {
                    found.push(Inhabitant { pid: *pid, name: name.clone() });
                }
            }
        }
    }
    found
}

/// Waits until nobody is left; who stays longer is named.
pub fn until_empty(patience: Duration) -> Vec<Inhabitant> {
    let deadline = Instant::now() + patience;
    loop {
        bury(&[]);
        let left = inhabitants();
        if left.is_empty() || Instant::now() >= deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Ends those who would not go, each by its number.
pub fn evict(left: &[Inhabitant]) {
    for inhabitant in left {
        let _ = kill(Pid::from_raw(inhabitant.pid), Signal::SIGKILL);
    }
    let _ = until_empty(Duration::from_secs(2));
}

/// Number, parent, state and name of every process.
fn processes() -> Vec<(i32, i32, char, String)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let (head, tail) = stat.rsplit_once(')')?;
            let name = head.split_once('(')?.1.to_owned();
            let mut words = tail.split_whitespace();
            let state = words.next()?.chars().next()?;
            Some((pid, words.next()?.parse().ok()?, state, name))
        })
        .collect()
}
