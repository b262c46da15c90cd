//! What a server or an agent logs, says and prints: never so that it would wait for whoever reads, because a log that
//! nobody reads must not stop what it tells of.

use std::io::{self, IsTerminal};
use std::time::Duration;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use super::run::voice::{LastWords, Voice};

/// Both standard streams of a process that stays.
#[derive(Clone, Debug)]
pub struct DaemonOutput {
    voice: Voice,
    /// What the log lets pass.
    filter: Targets,
}

impl DaemonOutput {
    /// Logs to stderr from now on, one line per change of state, as far as `usual` lets it pass; RUST_LOG says otherwise.
    pub fn with_log(usual: &str) -> Self {
        let read = |text: &str| text.parse::<Targets>().ok();
        let named = std::env::var("RUST_LOG").ok().and_then(|text| read(&text));
        let filter = named.or_else(|| read(usual)).unwrap_or_default();
        let output = Self { voice: Voice::new(), filter: filter.clone() };
        let log = output.clone();
        let lines = tracing_subscriber::fmt::layer().with_writer(move || LogLine(log.clone()));
        let lines = lines.with_ansi(io::stderr().is_terminal()).with_filter(filter);
        // A second one in the same process, as in a test, is no reason to fail.
        let _ = tracing_subscriber::registry().with(lines).try_init();
        output
    }

    /// Whether the log tells what happens in the part of the program with this name.
    pub fn logs(&self, target: &str) -> bool {
        LevelFilter::INFO.into_level().is_some_and(|level| self.filter.would_enable(target, &level))
    }

    /// Talk goes to stderr, in its order among the lines of the log.
    pub fn say(&self, text: &str) {
        self.tell_of_gap();
        self.voice.say(text);
    }

    /// Data goes to stdout.
    pub fn print(&self, text: &str) {
        self.tell_of_gap();
        self.voice.print(text);
    }

    /// Gives the readers a moment to take what is left. Nothing is said or printed afterwards.
    pub fn finish(&self) {
        let mut last = LastWords::from_now(true);
        let wait = |wait: Duration| {
            std::thread::sleep(wait);
            false
        };
        self.voice.finish_printing(&mut last, wait);
        self.voice.finish_saying(&mut last, wait);
    }

    /// A reader that has come back hears what it missed.
    fn tell_of_gap(&self) {
        if let Some(gap) = self.voice.take_gap() {
            let (lines, bytes) = (gap.lines, gap.bytes);
            self.voice
                .say(&format!("fermi: {lines} lines ({bytes} bytes) were not read in time and are missing here\n"));
        }
    }
}

/// One event of the log, which comes in one piece.
struct LogLine(DaemonOutput);

impl io::Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.tell_of_gap();
        self.0.voice.say_bytes(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
