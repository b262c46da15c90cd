//! Writes events to the journal and passes them to the launcher.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use fermi_process::clock;
use fermi_process::journal::Journal;

use crate::frame;
use fermi_domain::event::{self, Record, RunEvent};

#[derive(Debug)]
pub struct Teller {
    journal: Journal,
    launcher: Option<UnixStream>,
    seq: u64,
    /// How the run ended: the last event, told when the terminal has all that it will get.
    end: Option<RunEvent>,
}

impl Teller {
    pub fn new(journal: Journal, launcher: &UnixStream) -> std::io::Result<Self> {
        let launcher = launcher.try_clone()?;
        // A launcher that is stopped (Ctrl-Z) must not hold up the run.
        launcher.set_write_timeout(Some(Duration::from_secs(2)))?;
        Ok(Self { journal, launcher: Some(launcher), seq: 0, end: None })
    }

    pub fn tell(&mut self, event: RunEvent) {
        match event {
            // A node that loses its coordinator after it heard of the end keeps to what it heard.
            RunEvent::RunEnded { .. } => {
                self.end.get_or_insert(event);
            }
            event => self.record(event),
        }
    }

    /// Tells the end of the run, if it has one. Nothing follows.
    pub fn finish(&mut self) {
        if let Some(end) = self.end.take() {
            self.record(end);
        }
    }

    fn record(&mut self, event: RunEvent) {
        self.seq += 1;
        let record = Record { v: event::VERSION, seq: self.seq, time_ms: clock::unix_ms(), event };
        self.journal.append(&record);
        if let Some(launcher) = &mut self.launcher
            && frame::write(launcher, &record).is_err()
        {
            // It is gone or deaf; the journal has everything.
            self.launcher = None;
        }
    }
}
