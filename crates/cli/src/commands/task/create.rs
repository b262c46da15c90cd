//! `fermi task create`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use data_encoding::HEXLOWER;
use fermi_api::client::{ApiAnswer, Client};
use fermi_api::v1::{CreateAnswer, TaskRow};
use fermi_domain::language::Text;
use fermi_domain::sweep::{Base, Parameter, combinations};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::request::RequestFlags;
use super::stay::StayFlags;
use super::sweep;
use super::work::Sending;
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
    #[command(flatten)]
    stay: StayFlags,
    /// The API's data as JSON
    #[arg(long)]
    json: bool,
    /// One task for each value, such as lr=1e-4,3e-4 or seed=1..4; with several all combinations. {lr} in the command becomes the
    /// value, else --lr=VALUE is added. `fermi task sweep NAME` shows them side by side; the same command again makes those that are
    /// missing
    #[arg(long, value_name = "NAME=VALUES", value_parser = sweep::parse, conflicts_with_all = ["wait", "follow"])]
    sweep: Vec<Parameter>,
    #[command(flatten)]
    request: RequestFlags,
}

pub fn execute(flags: &CreateFlags) -> Outcome {
    let client = flags.server.connect()?;
    let request = flags.request.request(&client, Sending::Send)?;
    if !flags.sweep.is_empty() {
        return create_all(&client, request, flags);
    }
    let answer = client.create_task(&request)?;
    tell(&answer, flags.json);
    flags.stay.with(&client, &answer.data.task_id)
}

/// Creates a task for each combination that has none yet, once the server would take all of them: what was cut off is gone on
/// with by the same command. What was created before that happened stays, and has been said.
fn create_all(client: &Client, request: Map<String, Value>, flags: &CreateFlags) -> Outcome {
    let all = combinations(&flags.sweep).map_err(|refusal| sweep::refused(&refusal))?;
    let digest = HEXLOWER.encode(&Sha256::digest(Value::Object(request.clone()).to_string()));
    let base = Base::new(request, &digest);
    let user = client.session()?.data.user;
    let is_own = |row: &TaskRow| row.created_by.as_ref().is_some_and(|by| by.name == user);
    // A request without a name is refused by the server, in its words.
    let known = if base.name().is_empty() { Vec::new() } else { sweep::rows(client, base.name())? };
    let rows: Vec<TaskRow> = known.into_iter().filter(is_own).collect();
    let labels: Vec<&BTreeMap<String, String>> = rows.iter().map(|row| &row.labels).collect();
    let missing = base.missing(&all, &labels).map_err(|refusal| sweep::refused(&refusal))?;
    let (whole, there) = (all.len(), all.len() - missing.len());
    if there > 0 {
        let name = base.name();
        say(&Text::new(
            format!("参数扫描“{name}”的 {whole} 个任务中已有 {there} 个，创建其余 {} 个", missing.len()),
            format!("{there} of the {whole} tasks of the sweep '{name}' are there already; {} are made", missing.len()),
        ));
    }
    let requests: Vec<Map<String, Value>> = missing.iter().map(|combination| base.request_of(combination)).collect();
    for (combination, request) in missing.iter().zip(&requests) {
        client.preview_task(request).inspect_err(|_| {
            say(&Text::new(
                format!("{combination} 被拒绝，因此没有创建任何任务"),
                format!("{combination} is refused, so that no task was created"),
            ));
        })?;
    }
    for (made, request) in requests.iter().enumerate() {
        let answer = client.create_task(request).inspect_err(|_| {
            let made = there + made;
            say(&Text::new(
                format!("{whole} 个任务中已创建 {made} 个；再次运行同一条命令会创建其余的"),
                format!("{made} of {whole} tasks had been created; the same command again makes the others"),
            ));
        })?;
        if answer.data.existing && !flags.json {
            // The same command runs elsewhere at this moment.
            say(&Text::new(
                format!("{} 已由另一条相同的命令创建", answer.data.task_id),
                format!("{} was made by the same command elsewhere", answer.data.task_id),
            ));
            continue;
        }
        tell(&answer, flags.json);
    }
    Ok(ExitCode::SUCCESS)
}

fn say(text: &Text) {
    speech::say(&format!("{}\n", text.in_language(speech::language())));
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
