//! `fermi dataset delete`.

use super::find;
use crate::connection::{AskFlags, Outcome};

/// Forget a dataset; what its versions point at stays where it is
#[derive(Debug, clap::Args)]
pub struct DeleteFlags {
    /// Its name or id
    dataset: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &DeleteFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.delete_dataset(&find::dataset(&client, &flags.dataset)?.id)?;
    flags.ask.done(&answer)
}
