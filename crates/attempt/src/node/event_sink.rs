//! Records events: in the journal, and for the launcher.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fermi_domain::event::{self, Outcome, Record, RunEvent};
use fermi_domain::ledger::Ledger;
use fermi_process::clock;
use fermi_process::journal::{Importance, Journal};
use nix::poll::{PollFd, PollFlags, poll};

use crate::bundle::NodeBundle;
use crate::frame::Outbox;
use crate::run_result::{self, RunResult};

/// How long a launcher that does not read is waited for when the run is over.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// How often a disk that has not taken a result is tried when the run is over.
const LAST_LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often a disk that has not taken a line is tried while nothing else happens.
const TRY_DISK_EVERY: Duration = Duration::from_millis(500);

/// A run that was shorter and not restarted says nothing of its time.
const WORTH_A_LEDGER_MS: u64 = 5_000;

#[derive(Debug)]
pub struct EventSink {
    journal: Journal,
    run_id: String,
    /// Where the result is kept.
    run_folder: Option<PathBuf>,
    launcher: Option<UnixStream>,
    /// What a launcher that is stopped (Ctrl-Z) has not read yet: it must not hold up the run.
    outbox: Outbox,
    seq: u64,
    ledger: Ledger,
    attempts: u32,
    /// How the run ended: the last event, recorded when the terminal has all that it will get.
    end: Option<RunEvent>,
}

impl EventSink {
    pub fn new(bundle: &NodeBundle, launcher: &UnixStream) -> std::io::Result<Self> {
        let (run_id, run_folder) = (bundle.run_id.clone(), bundle.run_folder.clone());
        if let Some(folder) = &run_folder {
            // On a disk that is full already the result is tried at the end.
            let _ = run_result::reserve(folder);
        }
        let journal = match &run_folder {
            Some(folder) => Journal::create(folder)?,
            None => Journal::none(),
        };
        // The launcher's end is another one, and stays as it is.
        launcher.set_nonblocking(true)?;
        let launcher = Some(launcher.try_clone()?);
        Ok(Self {
            journal,
            run_id,
            run_folder,
            launcher,
            outbox: Outbox::default(),
            seq: 0,
            ledger: Ledger::default(),
            attempts: 0,
            end: None,
        })
    }

    pub fn record(&mut self, event: RunEvent) {
        match event {
            // A node that loses its coordinator after it heard of the end keeps to what it heard.
            RunEvent::RunEnded { .. } => {
                self.end.get_or_insert(event);
            }
            event => self.record_now(event),
        }
    }

    /// Whether the run is over because its end was asked for, here or on another node.
    pub fn ends_by_stop(&self) -> bool {
        matches!(&self.end, Some(RunEvent::RunEnded { outcome: Outcome::Stopped { .. }, .. }))
    }

    /// Whether something waits for the launcher to read.
    pub fn has_waiting(&self) -> bool {
        self.launcher.is_some() && !self.outbox.is_empty()
    }

    /// When the journal is to be tried again even if nothing happens.
    pub fn wake_in(&self) -> Option<Duration> {
        self.journal.has_waiting().then_some(TRY_DISK_EVERY)
    }

    /// Writes what waits for the disk.
    pub fn retry(&mut self) {
        self.journal.retry();
    }

    /// Sends what the launcher takes now.
    pub fn flush(&mut self) {
        if let Some(launcher) = &mut self.launcher
            && self.outbox.flush(launcher).is_err()
        {
            self.launcher = None;
        }
    }

    /// Records the end of the run, if it has one. Nothing follows.
    pub fn finish(&mut self) {
        if let Some(end) = self.end.take() {
            self.record_ledger(&end);
            self.record_now(end);
        }
        let deadline = Instant::now() + LAST_EVENTS;
        while self.journal.has_waiting_result() && Instant::now() < deadline {
            std::thread::sleep(LAST_LOOK_EVERY);
            self.journal.retry();
            self.journal.put_results_ahead();
        }
        while self.has_waiting() && Instant::now() < deadline {
            if let Some(launcher) = &self.launcher {
                let _ = poll(&mut [PollFd::new(launcher.as_fd(), PollFlags::POLLOUT)], 100u8);
            }
            self.flush();
        }
    }

    /// Says where the time has gone, where there was enough of it to be worth a word.
    fn record_ledger(&mut self, end: &RunEvent) {
        let now_ms = clock::unix_ms();
        self.ledger.take(&Record { v: event::VERSION, seq: 0, time_ms: now_ms, event: end.clone() });
        let account = self.ledger.account(now_ms);
        if self.attempts > 1 || self.attempts == 1 && account.wall_ms >= WORTH_A_LEDGER_MS {
            self.record_now(RunEvent::RunLedger { account });
        }
    }

    fn record_now(&mut self, event: RunEvent) {
        self.record_loss();
        self.attempts += u32::from(matches!(event, RunEvent::AttemptStarted { .. }));
        let record = self.numbered(event);
        self.ledger.take(&record);
        let importance = if record.event.is_result() { Importance::Result } else { Importance::Usual };
        self.journal.append(&record, importance);
        self.keep_result(&record);
        self.send(&record);
    }

    /// Keeps the end of the run beside the journal, which may not have taken it.
    fn keep_result(&self, record: &Record) {
        let missing = self.journal.missing();
        let result = RunResult::of(&record.event, &self.run_id, record.time_ms, missing);
        if let (Some(folder), Some(result)) = (&self.run_folder, result) {
            // The launcher hears of the end all the same.
            let _ = result.write(folder);
        }
    }

    /// Says what the journal lacks, as soon as the disk takes lines again.
    fn record_loss(&mut self) {
        let lines = self.journal.lost();
        if lines > 0 {
            let record = self.numbered(RunEvent::JournalLost { lines });
            if self.journal.append_loss(&record) {
                self.send(&record);
            } else {
                // The number is the next event's.
                self.seq -= 1;
            }
        }
    }

    fn numbered(&mut self, event: RunEvent) -> Record {
        self.seq += 1;
        Record { v: event::VERSION, seq: self.seq, time_ms: clock::unix_ms(), event }
    }

    fn send(&mut self, record: &Record) {
        if let Some(launcher) = &mut self.launcher
            && self.outbox.send(launcher, record).is_err()
        {
            // It is gone or deaf; the journal has everything.
            self.launcher = None;
        }
    }
}
