//! `fermi task stop`.

use std::process::ExitCode;

use fermi_api::v1::StopRequest;

use super::{find, watch};
use crate::connection::{AskFlags, Outcome};
use crate::speech;

/// Stop tasks: SIGTERM, a grace, then SIGKILL, on all nodes
#[derive(Debug, clap::Args)]
pub struct StopFlags {
    /// Their ids, numbers or names, or last for the newest
    #[arg(required = true)]
    tasks: Vec<String>,
    /// At once, without a grace
    #[arg(long)]
    force: bool,
    /// Stay until no process is left
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &StopFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let tasks = find::ids(&client, &flags.tasks)?;
    for task in &tasks {
        let answer = client.stop_task(task, &StopRequest { force: flags.force })?;
        if !flags.ask.printed(&answer) {
            speech::say(&format!("{task}: {}\n", answer.message));
        }
    }
    if flags.wait {
        for task in &tasks {
            watch::until_over(&client, task, None)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
