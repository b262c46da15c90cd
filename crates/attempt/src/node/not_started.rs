//! Tells the launcher why its keepers could not start: it would see no more than that they are gone.

use std::io;
use std::os::unix::net::UnixStream;

use fermi_domain::event::{self, Record, RunEvent};
use fermi_domain::language::{Explained, FrontEnd, Hint, Text, reason};
use fermi_domain::messages::run::RunProblem;
use fermi_process::clock;

use crate::frame;

/// What the machine has refused.
pub fn why(error: &io::Error) -> Text {
    problem(error).text()
}

fn problem(error: &io::Error) -> RunProblem {
    RunProblem::KeepersNotStarted { error: reason::of_io(error) }
}

/// The same, and what to do.
pub fn refusal(error: &io::Error) -> RunEvent {
    let problem = problem(error);
    let message = problem.text();
    let hint = problem.hint().unwrap_or_else(|| Hint::from(message.clone()));
    RunEvent::Refused { message, hint: hint.spelled(FrontEnd::CommandLine), settings: Vec::new() }
}

/// The same as the only event of a run whose events nobody records yet.
pub fn tell(mut launcher: &UnixStream, error: &io::Error) {
    let record = Record { v: event::VERSION, seq: 1, time_ms: clock::unix_ms(), event: refusal(error) };
    // One that is gone needs no word.
    let _ = frame::write(&mut launcher, &record);
}
