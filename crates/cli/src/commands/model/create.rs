//! `fermi model create`.

use fermi_api::v1::CreateModel;

use crate::connection::{AskFlags, Outcome};

/// Register a model
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi model create llama2-7b --path /models/llama2-7b")]
pub struct CreateFlags {
    name: String,
    /// Where every node finds its weights
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &CreateFlags) -> Outcome {
    let CreateFlags { name, path, description, .. } = flags;
    let request = CreateModel { name: name.clone(), path: path.clone(), description: description.clone() };
    let made = flags.ask.connect()?.create_model(&request)?;
    flags.ask.made(&made, &made.data.id)
}
