//! `fermi env delete`.

use super::find;
use crate::connection::{AskFlags, Outcome};

/// Forget an environment that is offline
#[derive(Debug, clap::Args)]
pub struct DeleteFlags {
    /// Its name or id
    environment: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &DeleteFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let known = find::all(&client)?;
    let answer = client.delete_environment(&find::one(&known, &flags.environment)?.id)?;
    flags.ask.done(&answer)
}
