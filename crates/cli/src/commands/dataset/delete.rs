//! `fermi dataset delete`.

use std::process::ExitCode;

use super::find;
use crate::connection::{Outcome, ServerFlags};
use crate::speech;

/// Forget a dataset; what its versions point at stays where it is
#[derive(Debug, clap::Args)]
pub struct DeleteFlags {
    /// Its name or id
    dataset: String,
    /// The API's data as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub fn execute(flags: &DeleteFlags) -> Outcome {
    let client = flags.server.connect()?;
    let answer = client.delete_dataset(&find::dataset(&client, &flags.dataset)?.id)?;
    if flags.json {
        speech::print_json(&answer.raw);
    } else {
        speech::say(&format!("{}\n", answer.message));
    }
    Ok(ExitCode::SUCCESS)
}
