//! `fermi task delete`.

use std::process::ExitCode;

use super::find;
use crate::connection::{AskFlags, Outcome};
use crate::speech;

/// Delete tasks that are over, with their logs
#[derive(Debug, clap::Args)]
pub struct DeleteFlags {
    /// Their ids, numbers or names, or last for the newest
    #[arg(required = true)]
    tasks: Vec<String>,
    /// Also while the rest of their logs is still to come
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &DeleteFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let tasks = find::ids(&client, &flags.tasks)?;
    for task in &tasks {
        let answer = client.delete_task(task, flags.force)?;
        if !flags.ask.printed(&answer) {
            speech::say(&format!("{task}: {}\n", answer.message));
        }
    }
    Ok(ExitCode::SUCCESS)
}
