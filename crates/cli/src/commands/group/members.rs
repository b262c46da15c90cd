//! `fermi group move`.

use fermi_api::v1::MoveWorkers;

use super::find;
use crate::connection::{AskFlags, Outcome};

/// Move workers into a group, all of them or none; unassigned takes them out of theirs
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi group move llm gn6-0 gn7-0")]
pub struct MoveFlags {
    /// Where to: a group's name or id, or unassigned
    group: String,
    /// The workers, such as gn6-0
    #[arg(required = true, value_name = "WORKER")]
    workers: Vec<String>,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &MoveFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let group = find(&client, &flags.group)?;
    let request = MoveWorkers { workers: flags.workers.clone(), version: None };
    flags.ask.done(&client.move_workers(&group.id, &request)?)
}
