//! `fermi task create`.

use std::process::ExitCode;

use super::request::RequestFlags;
use super::work::Sending;
use super::{logs, watch};
use crate::connection::{Outcome, ServerFlags};
use crate::speech::{self, Paint};

/// Create a training task and start it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: fermi task create --name bert --env gn6 --env gn7 --source . --max-restarts 2 --follow -- train.py --epochs 3"
)]
pub struct CreateFlags {
    #[command(flatten)]
    server: ServerFlags,
    /// Stay until it is over; non-zero when the training failed
    #[arg(long)]
    wait: bool,
    /// Show what its ranks write until it is over
    #[arg(long, short, conflicts_with = "json")]
    follow: bool,
    /// The API's data as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    request: RequestFlags,
}

pub fn execute(flags: &CreateFlags) -> Outcome {
    let client = flags.server.connect()?;
    let request = flags.request.request(&client, Sending::Send)?;
    let answer = client.create_task(&request)?;
    let paint = Paint::for_stderr();
    if flags.json {
        speech::print_json(&answer.raw);
    } else {
        speech::say(&format!("{} {}\n", paint.green("✓"), paint.bold(&answer.message)));
        if !answer.data.description.is_empty() {
            speech::say(&format!("  {}\n", answer.data.description));
        }
        for note in &answer.data.notes {
            speech::say(&format!("  {}\n", paint.dim(note)));
        }
        for warning in &answer.data.warnings {
            speech::say(&format!("  {} {}\n", paint.yellow("!"), warning.message));
        }
        speech::print(&format!("{}\n", answer.data.task_id));
    }
    let id = &answer.data.task_id;
    if flags.follow {
        return logs::follow(&client, id, &fermi_api::client::LogQuery::default());
    }
    if flags.wait {
        let task = watch::until_over(&client, id, None)?;
        return Ok(watch::end(&task));
    }
    Ok(ExitCode::SUCCESS)
}
