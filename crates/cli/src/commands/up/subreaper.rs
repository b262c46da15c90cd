//! The processes below this one: its children, and the orphans that return to it because it is their subreaper, so that
//! a command can say at its end that nothing is left.

use std::time::{Duration, Instant};

use fermi_process::{procfs, sweep};
use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};

/// A process that is still there when all should be gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub command: String,
}

/// From now on processes below this one that lose their parent become its children.
pub fn adopt_orphans() {
    let _ = sweep::become_subreaper();
}

/// Reaps orphans that have died. `children` are waited for by a [`super::child::Child`] each and left alone.
pub fn reap_orphans(children: &[i32]) {
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
        // A dead child that is not reaped yet hides the orphans behind it; the next call finds them.
        if children.contains(&pid.as_raw()) || waitpid(pid, Some(WaitPidFlag::WNOHANG)).is_err() {
            return;
        }
    }
}

/// Waits until nothing is left below this process; answers with what stays longer than `patience`.
///
/// Reaps every child, so each [`super::child::Child`] must have ended before.
pub fn wait_until_empty(patience: Duration) -> Vec<Process> {
    let me = nix::unistd::getpid().as_raw();
    let deadline = Instant::now() + patience;
    loop {
        if sweep::reap(&mut |_, _| {}) {
            return Vec::new();
        }
        if Instant::now() >= deadline {
            let living = procfs::descendants(me).into_iter().filter(|stat| !stat.is_zombie());
            return living
                .map(|stat| Process { pid: stat.pid, command: procfs::command_line(stat.pid).unwrap_or_default() })
                .collect();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Kills and reaps whatever is below this process; answers with those that did not die.
pub fn end_descendants() -> Vec<i32> {
    sweep::end_descendants(|_, _| {}).survivors
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    const PLAYED_ALONE: &str = "FERMI_TEST_PLAYED_ALONE";

    /// The test reaps every child of its process, so it is played by a process that has no other tests in it.
    #[test]
    fn orphans_that_ignore_signals_and_left_their_session_are_named_and_ended() {
        if std::env::var_os(PLAYED_ALONE).is_none() {
            let name = "orphans_that_ignore_signals_and_left_their_session_are_named_and_ended";
            let played = Command::new(std::env::current_exe().unwrap())
                .args([&format!("commands::up::subreaper::tests::{name}"), "--exact", "--nocapture"])
                .env(PLAYED_ALONE, "1")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&played.stdout).into_owned() + &String::from_utf8_lossy(&played.stderr);
            assert!(played.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        adopt_orphans();
        let script = "setsid sh -c \"trap '' TERM HUP INT; echo ready; while :; do sleep 1; done\" & exec sleep 600";
        let mut parent = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(parent.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n");
        let child = i32::try_from(parent.id()).unwrap();
        // A child of the caller's own is not reaped, dead or alive.
        parent.kill().unwrap();
        reap_orphans(&[child]);
        parent.wait().unwrap();

        let left = wait_until_empty(Duration::from_millis(100));
        assert!(left.iter().any(|process| process.command.contains("trap '' TERM")), "{left:?}");
        assert_eq!(end_descendants(), Vec::<i32>::new());
        assert_eq!(procfs::descendants(nix::unistd::getpid().as_raw()), Vec::new());
        assert_eq!(wait_until_empty(Duration::ZERO), Vec::new());
    }
}
