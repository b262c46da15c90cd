//! `fermi task clone`.

use fermi_api::v1::CloneRequest;

use super::find;
use crate::connection::{AskFlags, Outcome};

/// Create the same task once more
#[derive(Debug, clap::Args)]
pub struct CloneFlags {
    /// Its id, its number, its name, or last for the newest
    task: String,
    /// The new one's name [default: the old one with -copy]
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &CloneFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let task = find::id(&client, &flags.task)?;
    let answer = client.clone_task(&task, &CloneRequest { task_name: flags.name.clone() })?;
    flags.ask.made(&answer, &answer.data.task_id)
}
