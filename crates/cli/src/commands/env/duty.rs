//! `fermi env lost`, `drain`, `resume`, `replace`, `revoke` and `rotate`: what operators say of an environment.

use fermi_api::client::EnvironmentWord;

use super::find;
use crate::connection::{AskFlags, Outcome};

/// Of which environment
#[derive(Debug, clap::Args)]
pub struct DutyFlags {
    /// Its name or id
    environment: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &DutyFlags, word: EnvironmentWord) -> Outcome {
    let client = flags.ask.connect()?;
    let known = find::all(&client)?;
    let answer = client.say_of_environment(&find::one(&known, &flags.environment)?.id, word)?;
    flags.ask.done(&answer)
}
