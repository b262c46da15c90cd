//! One process of a cluster: started, listened to, started again when it dies, ended when it is time.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use fermi_process::pidfd::PidFd;
use nix::sys::signal::Signal;
use serde_json::Value;

/// How long [`Child::revive`] waits before it starts a dead child again: longer each time, up to this.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const FIRST_WAIT: Duration = Duration::from_millis(300);

/// A line of JSON that a child wrote.
#[derive(Debug)]
pub struct ChildLine {
    pub child: String,
    pub line: Value,
}

/// A process that shall live.
#[derive(Debug)]
pub struct Child {
    pub name: String,
    arguments: Vec<String>,
    /// Where its stderr goes.
    log: PathBuf,
    /// How long its log was before: lines of earlier starts say nothing of this one.
    log_before: u64,
    process: Option<Process>,
    /// Signals go through this handle, which never means another process that got the same number.
    handle: Option<PidFd>,
    wait: Duration,
    started: Instant,
    again_at: Option<Instant>,
    lines: Sender<ChildLine>,
}

impl Child {
    /// Starts `fermi` with these arguments.
    pub fn start(name: &str, arguments: Vec<String>, log: PathBuf, lines: Sender<ChildLine>) -> io::Result<Self> {
        let log_before = log.metadata().map_or(0, |about| about.len());
        let mut child = Self {
            name: name.to_owned(),
            arguments,
            log,
            log_before,
            process: None,
            handle: None,
            wait: FIRST_WAIT,
            started: Instant::now(),
            again_at: None,
            lines,
        };
        child.spawn()?;
        Ok(child)
    }

    pub fn log(&self) -> &PathBuf {
        &self.log
    }

    /// The arguments it is started with from now on.
    pub fn set_arguments(&mut self, arguments: Vec<String>) {
        self.arguments = arguments;
    }

    pub fn pid(&self) -> Option<i32> {
        self.process.as_ref().and_then(|process| i32::try_from(process.id()).ok())
    }

    fn spawn(&mut self) -> io::Result<()> {
        let log = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.log)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        // A group of its own: Ctrl-C at the terminal reaches `fermi up` alone, which ends its children in order.
        command.process_group(0);
        // SAFETY: prctl is async-signal-safe and touches only the new process.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
        let mut process = command.spawn()?;
        if let Some(stdout) = process.stdout.take() {
            let (child, lines) = (self.name.clone(), self.lines.clone());
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if let Ok(line) = serde_json::from_str(&line)
                        && lines.send(ChildLine { child: child.clone(), line }).is_err()
                    {
                        return;
                    }
                }
            });
        }
        // The number is the child's own until the child is reaped.
        self.handle = i32::try_from(process.id()).ok().and_then(|pid| PidFd::open(pid).ok());
        self.process = Some(process);
        self.started = Instant::now();
        self.again_at = None;
        Ok(())
    }

    /// How it ended, once, when it is found dead.
    pub fn died(&mut self) -> Option<ExitStatus> {
        let status = self.process.as_mut()?.try_wait().ok()??;
        self.process = None;
        // A child that lived for a while is started again soon.
        self.wait = if self.started.elapsed() > LONGEST_WAIT { FIRST_WAIT } else { (self.wait * 2).min(LONGEST_WAIT) };
        self.again_at = Some(Instant::now() + self.wait);
        Some(status)
    }

    /// Starts it again when it is dead and its time has come.
    pub fn revive(&mut self) -> io::Result<bool> {
        if self.process.is_none() && self.again_at.is_some_and(|at| Instant::now() >= at) {
            self.spawn()?;
            return Ok(true);
        }
        Ok(false)
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(handle) = &self.handle {
            let _ = handle.signal(signal as i32);
        }
    }

    /// SIGTERM, some patience, SIGKILL.
    pub fn end(&mut self, patience: Duration) {
        self.signal(Signal::SIGTERM);
        let deadline = Instant::now() + patience;
        while let Some(process) = &mut self.process {
            match process.try_wait() {
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                Ok(None) => {
                    let _ = process.kill();
                    let _ = process.wait();
                    self.process = None;
                }
                Ok(Some(_)) | Err(_) => self.process = None,
            }
        }
    }

    /// The last lines of its log, to explain why it did not start.
    pub fn last_lines(&self) -> String {
        last_lines(&self.log, self.log_before).unwrap_or_default()
    }
}

/// More than the last lines of a log are long.
const MOST_BYTES: u64 = 64 << 10;

fn last_lines(log: &Path, from: u64) -> io::Result<String> {
    let mut file = File::open(log)?;
    let near_its_end = file.metadata()?.len().saturating_sub(MOST_BYTES);
    file.seek(SeekFrom::Start(from.max(near_its_end)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    Ok(lines[lines.len().saturating_sub(6)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_an_earlier_start_are_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("server.log");
        let before = "the port is taken\n";
        std::fs::write(&log, format!("{before}\nno room\nä\n")).unwrap();
        assert_eq!(last_lines(&log, before.len() as u64).unwrap(), "no room\nä");
        assert_eq!(last_lines(&log, 1_000).unwrap(), "");
    }
}
