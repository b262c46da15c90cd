//! The terminal of a node's ranks: what it did not get, and what was typed at it.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use fermi_domain::event::RunEvent;
use fermi_process::output::Dropped;
use fermi_process::pty::WindowSize;

use super::Executor;
use crate::node::event_sink::EventSink;

/// A terminal that is slow all the time is spoken of this often.
const TELL_DROPPED_EVERY: Duration = Duration::from_secs(60);

impl Executor {
    /// Readable when there is something to tell of the terminal.
    pub fn terminal_fd(&self) -> BorrowedFd<'_> {
        self.pump.gap_fd()
    }

    /// How long the terminal's reader has taken nothing although there is something for it.
    pub fn terminal_stuck_for(&self) -> Option<Duration> {
        self.pump.terminal_stuck_for()
    }

    /// Gives up what the terminal has not taken, and tells how much it did not get.
    pub fn give_up_terminal(&mut self, events: &mut EventSink) {
        self.dropped += self.pump.give_up_terminal();
        self.tell_dropped(events);
    }

    pub(super) fn look_at_terminal(&mut self, events: &mut EventSink) {
        if let Some(dropped) = self.pump.take_gap() {
            self.dropped += dropped;
        }
        if self.told_dropped.is_none_or(|told| told.elapsed() >= TELL_DROPPED_EVERY) {
            self.tell_dropped(events);
        }
    }

    fn tell_dropped(&mut self, events: &mut EventSink) {
        let Dropped { lines, bytes, error } = std::mem::take(&mut self.dropped);
        if bytes > 0 {
            self.told_dropped = Some(Instant::now());
            let folder = self.bundle.run_folder.clone();
            let error = error.map(|error| error.desc().to_owned());
            events.record(RunEvent::TerminalDropped { attempt: self.attempt, lines, bytes, folder, error });
        }
    }

    pub fn input(&mut self, bytes: &[u8]) {
        self.ranks.input(bytes);
    }

    pub fn input_ended(&mut self) {
        self.ranks.input_ended();
    }

    pub fn resize(&mut self, size: WindowSize) {
        self.ranks.resize(size);
        self.parking.resize(size);
        for plan in &mut self.bundle.ranks {
            plan.command.terminal = plan.command.terminal.map(|_| size);
        }
    }
}
