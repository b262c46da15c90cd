//! `fermi task restart`.

use std::process::ExitCode;

use crate::connection::{AskFlags, Outcome};
use crate::speech;

/// Start a task again from its newest checkpoint; one that runs is stopped first
#[derive(Debug, clap::Args)]
pub struct RestartFlags {
    /// Its id
    task: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &RestartFlags) -> Outcome {
    let answer = flags.ask.connect()?.restart_task(&flags.task)?;
    if !flags.ask.printed(&answer) {
        speech::say(&format!("{}: {}\n", flags.task, answer.message));
    }
    Ok(ExitCode::SUCCESS)
}
