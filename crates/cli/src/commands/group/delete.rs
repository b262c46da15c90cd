//! `fermi group delete`.

use super::find;
use crate::connection::{AskFlags, Outcome};

/// Forget a group on which no task is open; its workers are in none then
#[derive(Debug, clap::Args)]
pub struct DeleteFlags {
    /// Its name or id
    group: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &DeleteFlags) -> Outcome {
    let client = flags.ask.connect()?;
    flags.ask.done(&client.delete_group(&find(&client, &flags.group)?.id)?)
}
