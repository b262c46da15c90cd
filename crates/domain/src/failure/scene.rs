//! The evidence as signatures look at it: only lines that can explain the end, without prefixes.

use super::{
    Evidence,
    diagnosis::{FailureClass, Recurrence},
    traceback::{self, Traceback},
};
use crate::{exit::Exit, language::Text};

/// What a signature found: its sentences, and where this case differs from what the signature says in general.
#[derive(Clone, Debug)]
pub struct Finding {
    pub(super) line: Option<String>,
    pub(super) cause: Text,
    pub(super) advice: Text,
    pub(super) class: Option<FailureClass>,
    pub(super) recurrence: Option<Recurrence>,
}

impl Finding {
    pub(super) fn new(line: Option<&str>, cause: Text, advice: Text) -> Self {
        let line = line.map(|line| line.trim().to_owned());
        Self { line, cause, advice, class: None, recurrence: None }
    }

    pub(super) fn class(self, class: FailureClass) -> Self {
        Self { class: Some(class), ..self }
    }

    pub(super) fn recurrence(self, recurrence: Recurrence) -> Self {
        Self { recurrence: Some(recurrence), ..self }
    }
}

/// The place of a death, ready to be searched.
#[derive(Debug)]
pub struct Scene<'a> {
    pub(super) evidence: &'a Evidence<'a>,
    pub(super) traceback: Option<Traceback>,
    /// What may be quoted as the reason.
    lines: Vec<&'a str>,
    /// The same with source code and warnings, which only tell what it was about.
    surroundings: Vec<&'a str>,
}

impl<'a> Scene<'a> {
    /// Chooses the lines that may speak.
    ///
    /// A process that was killed from outside did not die of anything it printed, so its lines stay silent. One that
    /// ended with a Python traceback died of that exception (torch's threads then often make an abort of it): an
    /// older "out of memory" that the script survived must not be blamed, so the search begins at the traceback.
    /// Otherwise every line counts, but for source code, which did not happen, and for warnings, which are survived
    /// by their own account.
    pub(super) fn of(evidence: &'a Evidence<'a>) -> Self {
        let tail: Vec<&str> = evidence.tail.iter().map(|line| traceback::without_prefix(line)).collect();
        let located = traceback::locate(&tail);
        let signal = signal_of(evidence.exit);
        let from = match (signal, &located) {
            (Some(signal), _) if is_from_outside(signal) => tail.len(),
            (None | Some(SIGABRT), Some(located)) => located.start,
            (Some(_), _) | (None, None) => 0,
        };
        let surroundings = tail[from..].to_vec();
        let mut lines: Vec<&str> =
            surroundings.iter().copied().filter(|line| !is_warning(line) && !is_source(line)).collect();
        lines.extend(evidence.error_file.into_iter().flat_map(str::lines));
        if let Exit::NotStarted { error } = evidence.exit {
            lines.push(error);
        }
        Self { evidence, traceback: located.map(|located| located.traceback(&tail)), lines, surroundings }
    }

    /// The signal that ended the process, also when a shell in between reported it as 128 + n.
    pub(super) fn signal(&self) -> Option<i32> {
        signal_of(self.evidence.exit)
    }

    pub(super) fn exit_code(&self) -> Option<i32> {
        match self.evidence.exit {
            Exit::Code { code } => Some(*code),
            Exit::Signal { .. } | Exit::NotStarted { .. } => None,
        }
    }

    /// Whether the launcher could not start it at all.
    pub(super) fn never_began(&self) -> bool {
        matches!(self.evidence.exit, Exit::NotStarted { .. })
    }

    /// The newest line that satisfies `matches`.
    pub(super) fn line_where(&self, matches: impl Fn(&str) -> bool) -> Option<&'a str> {
        self.lines.iter().rev().copied().find(|line| matches(line))
    }

    /// The newest line that holds one of `needles`.
    pub(super) fn line_with(&self, needles: &[&str]) -> Option<&'a str> {
        self.line_where(|line| needles.iter().any(|needle| line.contains(needle)))
    }

    /// Whether one of `words` is spoken of anywhere, be it in source code or a file's name.
    pub(super) fn is_about(&self, words: &[&str]) -> bool {
        self.lines.iter().chain(&self.surroundings).any(|line| words.iter().any(|word| line.contains(word)))
    }

    /// The oldest line that holds one of `needles`: in a cascade the first one is the reason.
    pub(super) fn first_line_with(&self, needles: &[&str]) -> Option<&'a str> {
        self.lines.iter().copied().find(|line| needles.iter().any(|needle| line.contains(needle)))
    }
}

/// What stands in `line` after `before`, up to the first of `ends` or the end of the line.
pub(super) fn after<'a>(line: &'a str, before: &str, ends: &[char]) -> Option<&'a str> {
    let rest = &line[line.find(before)? + before.len()..];
    let found = rest.split(|letter| ends.contains(&letter)).next()?.trim();
    (!found.is_empty()).then_some(found)
}

/// Lines of torch's C++ (`[W1115 …`) and of Python's loggers that only warn.
fn is_warning(line: &str) -> bool {
    ["[W", "WARNING", "Warning", "UserWarning"].iter().any(|mark| line.starts_with(mark))
}

/// The lines of a traceback that quote the program.
fn is_source(line: &str) -> bool {
    line.starts_with("    ") || line.starts_with("  File \"")
}

/// By which native code gives up.
pub(super) const SIGABRT: i32 = 6;

fn signal_of(exit: &Exit) -> Option<i32> {
    match exit {
        Exit::Signal { signal, .. } => Some(*signal),
        // Codes by which a shell tells of SIGINT, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGTERM.
        Exit::Code { code: code @ (130 | 134 | 135 | 136 | 137 | 139 | 143) } => Some(code - 128),
        Exit::Code { .. } | Exit::NotStarted { .. } => None,
    }
}

/// Signals that a process does not give itself by crashing: SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGUSR1, SIGUSR2,
/// SIGALRM, SIGTERM.
pub(super) fn is_from_outside(signal: i32) -> bool {
    matches!(signal, 1 | 2 | 3 | 9 | 10 | 12 | 14 | 15)
}
