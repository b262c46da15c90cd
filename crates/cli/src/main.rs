//! `fermi`: one binary that turns machines into a training cluster.
//!
//! One folder per noun, one file per verb under [`commands`]. Data goes to stdout, talk to stderr.

mod called_as;
mod chart;
mod commands;
mod connection;
mod exit_code;
mod help;
mod known_servers;
mod listener;
mod plain;
mod signals;
mod span;
mod sparkline;
mod speech;
mod table;
mod top;
mod wrap;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = called_as::words();
    // The keepers of a run come first and alone: they must not wait for anything that commands for people need.
    if arguments.get(1).is_some_and(|word| word == fermi_attempt::launcher::SUPERVISE) {
        return commands::supervise::execute();
    }
    if let Some(refusal) = called_as::refusal(&arguments) {
        speech::complain(&refusal);
        return ExitCode::from(exit_code::USAGE);
    }
    speech::checked(commands::execute(arguments))
}
