//! The hidden command by which `fermi` becomes the warden and supervisor of a run.

use std::ffi::OsString;
use std::process::ExitCode;

use fermi_attempt::launcher;

use crate::{exit_code, speech};

pub fn execute() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(2).collect();
    match launcher::supervise(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            speech::say(&format!("error: {error}\n"));
            ExitCode::from(exit_code::FAILED)
        }
    }
}
