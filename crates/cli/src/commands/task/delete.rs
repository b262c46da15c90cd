//! `fermi task delete`.

use std::process::ExitCode;

use crate::connection::{Outcome, ServerFlags};
use crate::speech;

/// Delete tasks that are over, with their logs
#[derive(Debug, clap::Args)]
pub struct DeleteFlags {
    /// Their ids
    #[arg(required = true)]
    tasks: Vec<String>,
    /// The API's data as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub fn execute(flags: &DeleteFlags) -> Outcome {
    let client = flags.server.connect()?;
    for task in &flags.tasks {
        let answer = client.delete_task(task)?;
        if flags.json {
            speech::print_json(&answer.raw);
        } else {
            speech::say(&format!("{task}: {}\n", answer.message));
        }
    }
    Ok(ExitCode::SUCCESS)
}
