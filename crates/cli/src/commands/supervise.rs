//! The hidden command by which `fermi` becomes the warden and supervisor of a run.

use std::process::ExitCode;

use fermi_attempt::launcher;
use fermi_process::warden::LauncherDeath;

use crate::{exit_code, speech};

pub fn execute() -> ExitCode {
    match launcher::supervise(LauncherDeath::EndsRun) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            speech::say(&format!("error: {error}\n"));
            ExitCode::from(exit_code::FAILED)
        }
    }
}
