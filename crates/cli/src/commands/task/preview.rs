//! `fermi task preview`.

use std::process::ExitCode;

use fermi_api::v1::Preview;

use super::request::RequestFlags;
use super::work::Sending;
use crate::connection::{Outcome, ServerFlags};
use crate::speech::{self, Paint, pick};
use crate::table::{Cell, Table};

/// Show what a task would be: sums, warnings, who is which rank, what is started; nothing is stored
#[derive(Debug, clap::Args)]
pub struct PreviewFlags {
    #[command(flatten)]
    server: ServerFlags,
    /// The API's data as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    request: RequestFlags,
}

pub fn execute(flags: &PreviewFlags) -> Outcome {
    let client = flags.server.connect()?;
    let request = flags.request.request(&client, Sending::Pretend)?;
    let answer = client.preview_task(&request)?;
    if flags.json {
        speech::print_json(&answer.raw);
    } else {
        speech::print(&render(&answer.data, Paint::for_stdout()));
    }
    Ok(ExitCode::SUCCESS)
}

fn render(preview: &Preview, paint: Paint) -> String {
    let language = speech::language();
    let mut out = String::new();
    for line in &preview.card {
        out.push_str(&format!("{}\n", line.text.in_language(language)));
    }
    for warning in &preview.warnings {
        out.push_str(&format!("{} {}\n", paint.yellow("!"), warning.text.in_language(language)));
    }
    if let Some(placement) = &preview.placement {
        out.push_str(&format!("{}\n", placement.in_language(language)));
    }
    let mut ranks = Table::new(["RANK", "LOCAL_RANK", "NODE_RANK", "WORKER", "GPU"]);
    for slot in &preview.rank_map {
        ranks.row([
            Cell::number(slot.rank.to_string()),
            Cell::number(slot.local_rank.to_string()),
            Cell::number(slot.node_rank.to_string()),
            slot.worker.to_string().into(),
            slot.gpu.map_or_else(|| "-".to_owned(), |gpu| gpu.to_string()).into(),
        ]);
    }
    if !ranks.is_empty() {
        out.push_str(&format!("\n{}", ranks.render(paint)));
    }
    if let Some(launch) = &preview.launch {
        out.push_str(&format!("\n{}  {}\n", paint.dim(pick("命令", "command")), launch.argv.join(" ")));
        for note in &launch.notes {
            out.push_str(&format!("  {}\n", note.in_language(language)));
        }
        for file in &launch.files {
            out.push_str(&format!("\n{}\n", paint.bold(&file.path)));
            out.push_str(&file.text.lines().map(|line| format!("  {line}\n")).collect::<String>());
        }
    }
    out
}
