//! A program that is asked something and ended when it takes too long.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// What a program has said.
#[derive(Debug)]
pub struct Said {
    pub stdout: String,
    /// Its last line on stderr that is not empty.
    pub complaint: String,
    /// None where it was ended because its time was up.
    pub succeeded: Option<bool>,
}

/// Runs it in a process group of its own, which is killed at the deadline. None where it cannot be started.
pub fn ask(command: &mut Command, patience: Duration) -> Option<Said> {
    let deadline = Instant::now() + patience;
    let parent = Pid::this();
    // SAFETY: two system calls. The thread that forks waits for the child, so that the signal comes with its end alone.
    unsafe {
        command.pre_exec(move || {
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            if Pid::parent() == parent { Ok(()) } else { Err(std::io::ErrorKind::Interrupted.into()) }
        });
    }
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().ok()?;
    let (out, outs) = channel();
    let (err, errs) = channel();
    let streams = child.stdout.take().zip(child.stderr.take());
    if let Some((mut stdout, mut stderr)) = streams {
        thread::spawn(move || out.send(drained(&mut stdout)));
        thread::spawn(move || err.send(drained(&mut stderr)));
    }
    let group = Pid::from_raw(i32::try_from(child.id()).ok()?);
    let succeeded = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status.success()),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(10)),
            _ => break None,
        }
    };
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
    // What left the group may still hold the pipe.
    let short = Duration::from_secs(1);
    let stdout = outs.recv_timeout(short).unwrap_or_default();
    let stderr = errs.recv_timeout(short).unwrap_or_default();
    let complaint = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned();
    Some(Said { stdout, complaint, succeeded })
}

fn drained(stream: &mut impl Read) -> String {
    const MOST: u64 = 1 << 20;
    let mut bytes = Vec::new();
    let _ = stream.take(MOST).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_ended_and_what_it_said_is_kept() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo first; echo bad >&2; sleep 1000"]);
        let start = Instant::now();
        let said = ask(&mut command, Duration::from_millis(300)).unwrap();
        assert_eq!((said.stdout.as_str(), said.complaint.as_str(), said.succeeded), ("first\n", "bad", None));
        assert!(start.elapsed() < Duration::from_secs(30));
        assert!(ask(&mut Command::new("/no/such/program"), Duration::from_secs(1)).is_none());
    }
}
