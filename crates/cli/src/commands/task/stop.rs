//! `fermi task stop`.

use std::process::ExitCode;

use fermi_api::client::Client;
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
    #[command(flatten)]
    how: HowFlags,
    #[command(flatten)]
    ask: AskFlags,
}

/// How tasks are stopped, by their names or by their group.
#[derive(Debug, clap::Args)]
pub struct HowFlags {
    /// At once, without a grace
    #[arg(long)]
    force: bool,
    /// Stay until no process is left
    #[arg(long)]
    wait: bool,
}

impl HowFlags {
    pub fn request(&self) -> StopRequest {
        StopRequest { force: self.force }
    }

    /// Stays with tasks that are being stopped, if that was asked for.
    pub fn wait<'a>(&self, client: &Client, tasks: impl IntoIterator<Item = &'a String>) -> Outcome {
        for task in tasks.into_iter().filter(|_| self.wait) {
            watch::until_over(client, task, None)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

pub fn execute(flags: &StopFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let tasks = find::ids(&client, &flags.tasks)?;
    for task in &tasks {
        let answer = client.stop_task(task, &flags.how.request())?;
        if !flags.ask.printed(&answer) {
            speech::say(&format!("{task}: {}\n", answer.message));
        }
    }
    flags.how.wait(&client, &tasks)
}
