//! A program that a test has started: what it says while it runs, and how it ends.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::capture::Capture;
use super::eventually;

/// It runs.
pub struct Run {
    child: Child,
    stdout: Capture,
    stderr: Capture,
    started: Instant,
}

/// It has ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub took: Duration,
}

impl Run {
    /// Starts it with nothing to read and both streams captured, unless the command says otherwise.
    pub fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null());
        Self::start_as_it_is(command)
    }

    /// Leaves the standard input as the command has it.
    pub fn start_as_it_is(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = Capture::of(child.stdout.take().unwrap());
        let stderr = Capture::of(child.stderr.take().unwrap());
        Self { child, stdout, stderr, started: Instant::now() }
    }

    /// Starts it and waits for its end.
    pub fn whole(command: &mut Command) -> Ended {
        Self::start(command).ended()
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub fn stdin(&mut self) -> std::process::ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// Only while the process has not been waited for, so that its number is still its own.
    pub fn signal(&self, signal: i32) {
        super::signal(self.pid(), signal);
    }

    pub fn stdout_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stdout.so_far()).into_owned()
    }

    pub fn stderr_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stderr.so_far()).into_owned()
    }

    /// The events of `--json` that have come so far.
    pub fn events(&self) -> Vec<Value> {
        events_in(&self.stdout_so_far())
    }

    /// Waits for the first event of this name.
    pub fn event(&self, name: &str) -> Value {
        eventually(&format!("the event {name}; stderr: {}", self.stderr_so_far()), || {
            self.events().into_iter().find(|event| event["event"] == name)
        })
    }

    /// Waits until so many events of this name have come.
    pub fn event_count(&self, name: &str, count: usize) -> Vec<Value> {
        eventually(&format!("{count} events {name}"), || {
            let found: Vec<Value> = self.events().into_iter().filter(|event| event["event"] == name).collect();
            (found.len() >= count).then_some(found)
        })
    }

    /// Waits for this text on stdout or stderr.
    pub fn says(&self, text: &str) {
        eventually(&format!("'{text}' in\n{}\n{}", self.stdout_so_far(), self.stderr_so_far()), || {
            (self.stdout_so_far().contains(text) || self.stderr_so_far().contains(text)).then_some(())
        });
    }

    /// Whether it has ended by now.
    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end; one that does not come within a minute is a failure of the test.
    pub fn ended(mut self) -> Ended {
        let what = format!("the end of process {}", self.child.id());
        let child = &mut self.child;
        let status = eventually(&what, || child.try_wait().unwrap());
        let took = self.started.elapsed();
        Ended { status, stdout: self.stdout.into_all(), stderr: self.stderr.into_all(), took }
    }
}

impl Ended {
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    pub fn events(&self) -> Vec<Value> {
        events_in(&self.out())
    }

    /// The events of one name.
    pub fn events_named(&self, name: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["event"] == name).collect()
    }

    /// Fails the test with all that was said, unless it ended with this code.
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "{:?}\nstdout:\n{}\nstderr:\n{}", self.status, self.out(), self.err());
        self
    }

    /// Fails the test unless stderr holds each of these.
    pub fn says(self, texts: &[&str]) -> Self {
        let err = self.err();
        for text in texts {
            assert!(err.contains(text), "'{text}' is not in\n{err}");
        }
        self
    }
}

/// Whole lines only: the last one may still be on its way.
fn events_in(text: &str) -> Vec<Value> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}
