//! `fermi model create`.

use std::process::ExitCode;

use fermi_api::v1::CreateModel;

use crate::connection::{Outcome, ServerFlags};
use crate::speech;

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
    /// The API's data as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub fn execute(flags: &CreateFlags) -> Outcome {
    let CreateFlags { name, path, description, .. } = flags;
    let request = CreateModel { name: name.clone(), path: path.clone(), description: description.clone() };
    let made = flags.server.connect()?.create_model(&request)?;
    if flags.json {
        speech::print_json(&made.raw);
    } else {
        speech::say(&format!("{}\n", made.message));
        speech::print(&format!("{}\n", made.data.id));
    }
    Ok(ExitCode::SUCCESS)
}
