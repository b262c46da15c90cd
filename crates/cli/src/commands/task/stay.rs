//! Whether a command stays with the task that it has started.

use std::process::ExitCode;

use fermi_api::client::{Client, LogQuery};

use super::{follow, watch};
use crate::connection::Outcome;

/// The flags of a command that starts a task.
#[derive(Debug, clap::Args)]
pub struct StayFlags {
    /// Stay until it is over; non-zero when the training failed
    #[arg(long)]
    wait: bool,
    /// Show what its ranks write until it is over
    #[arg(long, short, conflicts_with = "json")]
    follow: bool,
}

impl StayFlags {
    /// As long as was asked for.
    pub fn with(&self, client: &Client, task: &str) -> Outcome {
        if self.follow {
            return follow::follow(client, task, &LogQuery::default(), None, false);
        }
        if self.wait {
            return Ok(watch::end(&watch::until_over(client, task, None)?));
        }
        Ok(ExitCode::SUCCESS)
    }
}
