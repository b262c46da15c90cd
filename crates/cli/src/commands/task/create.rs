//! `fermi task create`.

use std::process::ExitCode;

use fermi_api::client::{ApiAnswer, Client};
use fermi_api::v1::CreateAnswer;
use fermi_domain::language::Text;
use serde_json::{Map, Value};

use super::request::RequestFlags;
use super::sweep::{self, Parameter};
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
    /// One task for each value, such as lr=1e-4,3e-4 or seed=1..4; with several all combinations. {lr} in the command becomes the
    /// value, else --lr=VALUE is added. `fermi task sweep NAME` shows them side by side
    #[arg(long, value_name = "NAME=VALUES", value_parser = sweep::parse, conflicts_with_all = ["wait", "follow"])]
    sweep: Vec<Parameter>,
    #[command(flatten)]
    request: RequestFlags,
}

pub fn execute(flags: &CreateFlags) -> Outcome {
    let client = flags.server.connect()?;
    let request = flags.request.request(&client, Sending::Send)?;
    if !flags.sweep.is_empty() {
        return create_all(&client, &request, flags);
    }
    let answer = client.create_task(&request)?;
    tell(&answer, flags.json);
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

/// Creates a task for each combination. What was created before one is refused stays, and has been said.
fn create_all(client: &Client, base: &Map<String, Value>, flags: &CreateFlags) -> Outcome {
    let combinations = sweep::combinations(&flags.sweep)?;
    for (made, combination) in combinations.iter().enumerate() {
        let answer = client.create_task(&sweep::request(base, combination)).inspect_err(|_| {
            let whole = combinations.len();
            let far = Text::new(
                format!("{whole} 个任务中已创建 {made} 个"),
                format!("{made} of {whole} tasks had been created"),
            );
            speech::say(&format!("{}\n", far.in_language(speech::language())));
        })?;
        tell(&answer, flags.json);
    }
    Ok(ExitCode::SUCCESS)
}

/// What was created: the sentence for people, the id for programs.
fn tell(answer: &ApiAnswer<CreateAnswer>, as_json: bool) {
    let paint = Paint::for_stderr();
    if as_json {
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
}
