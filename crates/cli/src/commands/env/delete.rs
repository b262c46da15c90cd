//! `fermi env delete`.

use std::process::ExitCode;

use super::find;
use crate::connection::{Outcome, ServerFlags};
use crate::speech;

/// Forget an environment that is offline
#[derive(Debug, clap::Args)]
pub struct DeleteFlags {
    /// Its name or id
    environment: String,
    /// The API's data as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub fn execute(flags: &DeleteFlags) -> Outcome {
    let client = flags.server.connect()?;
    let known = find::all(&client)?;
    let answer = client.delete_environment(&find::one(&known, &flags.environment)?.id)?;
    if flags.json {
        speech::print_json(&answer.raw);
    } else {
        speech::say(&format!("{}\n", answer.message));
    }
    Ok(ExitCode::SUCCESS)
}
