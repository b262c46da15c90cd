//! `fermi task sweep`, and what `fermi task create --sweep` asks of a sweep; its rules are in `fermi_domain::sweep`.

use fermi_api::client::{Client, Query};
use fermi_api::v1::{Task, TaskRow};
use fermi_domain::language::{Explained, FrontEnd, Text};
use fermi_domain::sweep::{LABEL, Parameter, SweepRefusal, parameters_of};
use serde_json::json;

use crate::commands::usage::Expected;
use crate::connection::{self, AskFlags, CommandProblem, Outcome};
use crate::span;
use crate::speech::{self, Paint, pick};
use crate::table::{Cell, Colour, Table};

/// A parameter as a flag gives it.
pub fn parse(text: &str) -> Result<Parameter, Expected> {
    Parameter::parse(text).map_err(|refusal| Expected(refusal.text()))
}

/// A refusal of the whole sweep.
pub fn refused(refusal: &SweepRefusal) -> CommandProblem {
    let hint = refusal.hint().map(|hint| hint.spelled(FrontEnd::CommandLine));
    CommandProblem::usage(refusal.text(), hint.unwrap_or_else(|| refusal.text()))
}

/// Show the tasks of a sweep side by side: parameters, state, last step and loss, time
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: fermi task create --name bert --auto --sweep lr=1e-4,3e-4 -- train.py && fermi task sweep bert"
)]
pub struct SweepFlags {
    /// The name under which they were created
    name: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &SweepFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let mut tasks = Vec::new();
    for row in rows(&client, &flags.name)? {
        tasks.push(client.task(&row.id)?.data);
    }
    tasks.reverse();
    if tasks.is_empty() {
        return Err(CommandProblem::usage(
            Text::new(format!("没有名为 “{}” 的参数扫描", flags.name), format!("there is no sweep '{}'", flags.name)),
            Text::new("用 fermi task create --sweep 创建", "fermi task create --sweep makes one"),
        ));
    }
    if flags.ask.json {
        speech::print_json(&json!(tasks));
    } else {
        speech::print(&table(&tasks).render(Paint::for_stdout()));
    }
    Ok(std::process::ExitCode::SUCCESS)
}

/// The tasks that bear the name of a sweep, the newest first.
pub fn rows(client: &Client, name: &str) -> Result<Vec<TaskRow>, CommandProblem> {
    let name = name.replace('\\', "\\\\").replace('"', "\\\"");
    let quoted = format!("label.{LABEL}=\"{name}\"");
    let page = |query: &Query| client.tasks(&query.clone().with("filter", &quoted));
    Ok(connection::pages(page).collect::<Result<_, _>>()?)
}

fn table(tasks: &[Task]) -> Table {
    let mut names: Vec<&str> =
        tasks.iter().flat_map(|task| parameters_of(&task.row.labels)).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    let head = ["ID"].into_iter().chain(names.iter().copied());
    let rest = [pick("状态", "STATUS"), pick("步数", "STEP"), pick("损失", "LOSS"), pick("用时", "TIME")];
    let mut table = Table::new(head.chain(rest));
    let language = speech::language();
    for task in tasks {
        let row = &task.row;
        let end = row.ended_at.unwrap_or_else(span::now_ms);
        let time = row.started_at.map_or_else(|| "-".to_owned(), |start| span::long(end.saturating_sub(start)));
        let number = |text: Option<String>| Cell::number(text.unwrap_or_else(|| "-".to_owned()));
        let value = |name: &&str| {
            parameters_of(&row.labels).find(|(own, _)| own == name).map_or("", |(_, value)| value).to_owned()
        };
        let progress = task.progress.as_ref();
        let mut cells = vec![Cell::coloured(&row.id, Colour::Faint)];
        cells.extend(names.iter().map(|name| Cell::number(value(name))));
        cells.push(Cell::coloured(row.status_text.in_language(language), super::colour(row.status)));
        cells.push(number(progress.map(|progress| progress.step.to_string())));
        cells.push(number(progress.and_then(|progress| progress.loss).map(|loss| format!("{loss:.4}"))));
        cells.push(time.into());
        table.row(cells);
    }
    table
}
