//! The exit codes, which are a public promise: see `docs/reference/exit-codes.md`.

use std::process::ExitCode;

pub const DONE: u8 = 0;
pub const FAILED: u8 = 1;
/// Bad flags or a bad environment; nothing was started.
pub const USAGE: u8 = 2;
/// What was named does not exist.
pub const NOT_FOUND: u8 = 3;
/// The server does not let us.
pub const NOT_ALLOWED: u8 = 4;
/// It cannot be done as things stand.
pub const CONFLICT: u8 = 5;
pub const TIMED_OUT: u8 = 6;
/// A host or a server cannot be reached; nothing was started.
pub const UNREACHABLE: u8 = 7;

/// What a shell expects of a program that was ended by a signal.
pub fn of_signal(signal: i32) -> ExitCode {
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(FAILED))
}
