//! `fermi task restart`.

use std::process::ExitCode;

use super::find;
use crate::connection::{AskFlags, Outcome};
use crate::speech;

/// Start a task again from its newest checkpoint; one that runs is stopped first
#[derive(Debug, clap::Args)]
pub struct RestartFlags {
    /// Its id, its number, its name, or last for the newest
    task: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &RestartFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let task = find::id(&client, &flags.task)?;
    let answer = client.restart_task(&task)?;
    if !flags.ask.printed(&answer) {
        speech::say(&format!("{task}: {}\n", answer.message));
    }
    Ok(ExitCode::SUCCESS)
}
