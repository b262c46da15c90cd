//! What `/proc` says, read anew by the tests: they must not trust the code that they test.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

/// A process, named by its number and the moment at which it began, so that it can never be mistaken for another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    pub pid: i32,
    started: String,
    parent: i32,
    command: String,
}

impl Process {
    /// The process that has this number now, unless it is dead and only waits to be collected.
    pub fn living(pid: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (head, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let state = fields.first()?;
        if ["Z", "X"].contains(state) {
            return None;
        }
        let parent = fields.get(1)?.parse().ok()?;
        let command = head.split_once('(')?.1.to_owned();
        Some(Self { pid, started: (*fields.get(19)?).to_owned(), parent, command })
    }

    pub fn lives(&self) -> bool {
        Self::living(self.pid).is_some_and(|now| now.started == self.started)
    }

    /// Ends it, if it is still the one that was seen.
    pub fn kill(&self) {
        if self.lives() {
            super::signal(self.pid, libc::SIGKILL);
        }
    }

    /// Bytes in memory that it has filled itself. How much of its program's file is mapped is the kernel's to decide.
    pub fn own_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
    }

    pub fn environ(&self) -> Vec<u8> {
        fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default()
    }
}

/// Every process of the machine.
pub fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Process::living(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Everything below these numbers.
pub fn below(roots: &[i32]) -> Vec<Process> {
    let everyone = all();
    let mut above: HashSet<i32> = roots.iter().copied().collect();
    let mut found: Vec<Process> = Vec::new();
    loop {
        let next: Vec<&Process> = everyone
            .iter()
            .filter(|process| above.contains(&process.parent) && !above.contains(&process.pid))
            .collect();
        if next.is_empty() {
            return found;
        }
        above.extend(next.iter().map(|process| process.pid));
        found.extend(next.into_iter().cloned());
    }
}

/// The living processes whose environment holds this pair, those below them, those below these numbers, and those that
/// left their numbers in the files of this folder.
pub fn of_a_test(pair: &str, roots: &[i32], numbers: &Path) -> Vec<Process> {
    let everyone = all();
    let marked = |process: &&Process| process.environ().split(|byte| *byte == 0).any(|entry| entry == pair.as_bytes());
    let mut found: HashMap<i32, Process> =
        everyone.iter().filter(marked).map(|process| (process.pid, process.clone())).collect();
    for process in left_their_number(numbers) {
        found.insert(process.pid, process);
    }
    let mut above: HashSet<i32> = found.keys().copied().chain(roots.iter().copied()).collect();
    loop {
        let below: Vec<&Process> =
            everyone.iter().filter(|p| above.contains(&p.parent) && !found.contains_key(&p.pid)).collect();
        if below.is_empty() {
            return found.into_values().collect();
        }
        for process in below {
            above.insert(process.pid);
            found.insert(process.pid, process.clone());
        }
    }
}

/// A hostile rank writes `<number> <start time>` before it hides, so that a number that was given anew is not taken for it.
fn left_their_number(folder: &Path) -> Vec<Process> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files
        .filter_map(|file| {
            let text = fs::read_to_string(file.path()).ok()?;
            let (pid, started) = text.trim().split_once(' ')?;
            Process::living(pid.parse().ok()?).filter(|process| process.started == started)
        })
        .collect()
}
