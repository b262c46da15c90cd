//! `fermi task restart`.

use std::process::ExitCode;

use crate::connection::{Outcome, ServerFlags};
use crate::speech;

/// Start a task again from its newest checkpoint; one that runs is stopped first
#[derive(Debug, clap::Args)]
pub struct RestartFlags {
    /// Its id
    task: String,
    /// The API's data as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub fn execute(flags: &RestartFlags) -> Outcome {
    let answer = flags.server.connect()?.restart_task(&flags.task)?;
    if flags.json {
        speech::print_json(&answer.raw);
    } else {
        speech::say(&format!("{}: {}\n", flags.task, answer.message));
    }
    Ok(ExitCode::SUCCESS)
}
