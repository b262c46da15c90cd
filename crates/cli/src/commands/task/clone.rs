//! `fermi task clone`.

use std::process::ExitCode;

use fermi_api::v1::CloneRequest;

use crate::connection::{Outcome, ServerFlags};
use crate::speech;

/// Create the same task once more
#[derive(Debug, clap::Args)]
pub struct CloneFlags {
    /// The id of the one to copy
    task: String,
    /// The new one's name [default: the old one with -copy]
    #[arg(long)]
    name: Option<String>,
    /// The API's data as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub fn execute(flags: &CloneFlags) -> Outcome {
    let answer = flags.server.connect()?.clone_task(&flags.task, &CloneRequest { task_name: flags.name.clone() })?;
    if flags.json {
        speech::print_json(&answer.raw);
    } else {
        speech::say(&format!("{}\n", answer.message));
        speech::print(&format!("{}\n", answer.data.task_id));
    }
    Ok(ExitCode::SUCCESS)
}
