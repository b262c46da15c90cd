//! `fermi task stop`.

use std::process::ExitCode;

use fermi_api::v1::StopRequest;

use super::watch;
use crate::connection::{Outcome, ServerFlags};
use crate::speech;

/// Stop tasks: SIGTERM, a grace, then SIGKILL, on all nodes
#[derive(Debug, clap::Args)]
pub struct StopFlags {
    /// Their ids
    #[arg(required = true)]
    tasks: Vec<String>,
    /// At once, without a grace
    #[arg(long)]
    force: bool,
    /// Stay until no process is left
    #[arg(long)]
    wait: bool,
    /// The API's data as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub fn execute(flags: &StopFlags) -> Outcome {
    let client = flags.server.connect()?;
    for task in &flags.tasks {
        let answer = client.stop_task(task, &StopRequest { force: flags.force })?;
        if flags.json {
            speech::print_json(&answer.raw);
        } else {
            speech::say(&format!("{task}: {}\n", answer.message));
        }
    }
    if flags.wait {
        for task in &flags.tasks {
            watch::until_over(&client, task, None)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
