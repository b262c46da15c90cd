//! `fermi task events`.

use std::process::ExitCode;

use fermi_api::client::{ClientError, Moment, Query};
use fermi_api::v1::{Event, MOST_PER_PAGE};

use super::find;
use crate::connection::{Outcome, ServerFlags};
use crate::span;
use crate::speech::{self, Paint};

/// What happened to a task, with reasons
#[derive(Debug, clap::Args)]
pub struct EventsFlags {
    /// Its id, its number, its name, or last for the newest
    task: String,
    /// Stay and show what happens
    #[arg(long, short)]
    follow: bool,
    /// The API's data as JSON; one event per line with --follow
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

pub fn execute(flags: &EventsFlags) -> Outcome {
    let client = flags.server.connect()?;
    let id = find::id(&client, &flags.task)?;
    if !flags.follow {
        let answer = client.task_events(&id, &Query::new().with("pageSize", MOST_PER_PAGE))?;
        if flags.json {
            speech::print_json(&answer.raw);
        } else {
            let paint = Paint::for_stdout();
            speech::print(&answer.data.items.iter().map(|event| line(event, paint)).collect::<String>());
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut stream = client.follow_task_events(&id);
    while let Some(moment) = stream.next()? {
        match moment {
            Moment::Event { data, .. } => {
                let event: Event = serde_json::from_str(&data).map_err(|error| ClientError::NotUnderstood {
                    server: client.server().to_string(),
                    reason: error.to_string(),
                })?;
                let text = if flags.json { format!("{data}\n") } else { line(&event, Paint::for_stdout()) };
                let is_over = matches!(event.kind.as_str(), "task.succeeded" | "task.failed" | "task.stopped");
                if !speech::print(&text) || is_over {
                    break;
                }
            }
            Moment::Lost => {
                if client.task(&id).is_ok_and(|task| task.data.row.status.is_final()) {
                    break;
                }
            }
            Moment::Back => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(event: &Event, paint: Paint) -> String {
    let text = event.text.in_language(speech::language());
    format!("{}  {:<20} {text}\n", paint.dim(&span::clock(event.time)), event.kind)
}
