//! What a run's launcher says and prints: never so that it would wait for a reader, because signals and orders must not wait
//! behind words.

use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use fermi_process::output::{Dropped, StreamKind, TerminalWriter};

use crate::plain::harmless;

/// A reader that takes nothing for so long gets no more when all is said.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// The same once a reader of this run has been waited for in vain: two that are stuck cost no more than one.
const LAST_WORDS_AFTER_A_STUCK_READER: Duration = Duration::from_millis(200);
/// How long the readers of both streams are waited for in all, reading or not, when somebody has asked for the end.
const LAST_WORDS_WHEN_ASKED: Duration = Duration::from_secs(1);
/// How often it is looked whether the reader has everything.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Until when the readers get what is left; one for both streams, which finish one after the other.
#[derive(Debug)]
pub struct LastWords {
    /// None where the end was not asked for: a reader that goes on reading gets everything.
    until: Option<Instant>,
    /// How long a reader may take nothing.
    patience: Duration,
}

impl LastWords {
    pub fn from_now(is_asked: bool) -> Self {
        Self { until: is_asked.then(|| Instant::now() + LAST_WORDS_WHEN_ASKED), patience: LAST_WORDS }
    }

    /// A reader has been waited for in vain.
    pub fn spend_patience(&mut self) {
        self.patience = LAST_WORDS_AFTER_A_STUCK_READER;
    }

    fn are_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// Both standard streams.
#[derive(Clone, Debug)]
pub struct Voice {
    stdout: TerminalWriter,
    stderr: TerminalWriter,
    /// Whether each is a terminal, which is not to obey names and reasons of others that are among our words.
    prints_on_terminal: bool,
    talks_on_terminal: bool,
}

impl Voice {
    pub fn new() -> Self {
        let [stdout, stderr] = TerminalWriter::for_both(None);
        let (prints_on_terminal, talks_on_terminal) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Self { stdout, stderr, prints_on_terminal, talks_on_terminal }
    }

    /// Talk goes to stderr.
    pub fn say(&self, text: &str) {
        self.say_bytes(shown(text, self.talks_on_terminal).as_bytes());
    }

    /// Data goes to stdout.
    pub fn print(&self, text: &str) {
        self.print_bytes(shown(text, self.prints_on_terminal).as_bytes());
    }

    /// What ranks say, as it is.
    pub fn say_bytes(&self, bytes: &[u8]) {
        self.stderr.write(StreamKind::Stderr, bytes);
    }

    /// The same on stdout.
    pub fn print_bytes(&self, bytes: &[u8]) {
        self.stdout.write(StreamKind::Stdout, bytes);
    }

    /// Waits while writers are held back because the reader of that stream is behind: for threads that may.
    pub fn wait_for_room(&self, kind: StreamKind) {
        match kind {
            StreamKind::Stdout => self.stdout.wait_for_room(),
            StreamKind::Stderr => self.stderr.wait_for_room(),
        }
    }

    /// What was dropped since the last answer, once the reader has all that came before.
    pub fn take_gap(&self) -> Option<Dropped> {
        let mut dropped = self.stdout.take_gap().unwrap_or_default();
        dropped += self.stderr.take_gap().unwrap_or_default();
        Some(dropped).filter(|dropped| !dropped.is_nothing())
    }

    /// Lets the reader of stdout take what is left, as long as it takes any and the last words are not over; the answer is
    /// what it did not get. Nothing is printed afterwards. `interrupted` waits so long for a signal, which ends the wait.
    pub fn finish_printing(&self, last: &mut LastWords, interrupted: impl FnMut(Duration) -> bool) -> Dropped {
        finish(&self.stdout, last, interrupted)
    }

    /// The same for stderr. Nothing is said afterwards.
    pub fn finish_saying(&self, last: &mut LastWords, interrupted: impl FnMut(Duration) -> bool) -> Dropped {
        finish(&self.stderr, last, interrupted)
    }

    /// Whether both lead to one place, so that nothing can be said of one on the other.
    pub fn is_one(&self) -> bool {
        self.stdout.is_same(&self.stderr)
    }
}

fn shown(text: &str, on_terminal: bool) -> Cow<'_, str> {
    if on_terminal { harmless(text) } else { text.into() }
}

fn finish(writer: &TerminalWriter, last: &mut LastWords, mut interrupted: impl FnMut(Duration) -> bool) -> Dropped {
    while writer.stuck_for().is_some_and(|stuck| stuck < last.patience) && !last.are_over() && !interrupted(LOOK_EVERY)
    {
    }
    if writer.stuck_for().is_some() {
        last.spend_patience();
    }
    writer.give_up()
}
