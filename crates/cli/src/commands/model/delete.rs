//! `fermi model delete`.

use super::find;
use crate::connection::{AskFlags, Outcome};

/// Forget a model; its weights stay where they are
#[derive(Debug, clap::Args)]
pub struct DeleteFlags {
    /// Its name or id
    model: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &DeleteFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.delete_model(&find::model(&client, &flags.model)?.id)?;
    flags.ask.done(&answer)
}
