//! `fermi worker`: the slots in which ranks run, over all environments.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use fermi_api::client::Query;
use fermi_api::v1::{MOST_PER_PAGE, WorkerRow};

use super::group::colour;
use crate::connection::{self, AskFlags, Outcome};
use crate::speech::{self, pick};
use crate::table::{Cell, Colour, Table};

/// Workers: list
#[derive(Debug, Subcommand)]
pub enum Verb {
    #[command(alias = "ls")]
    List(ListFlags),
}

pub fn execute(verb: &Verb) -> ExitCode {
    connection::answer(match verb {
        Verb::List(flags) => list(flags),
    })
}

/// List the workers of all environments with their groups and who holds them
#[derive(Debug, Args)]
pub struct ListFlags {
    /// Only those that fit, such as group=llm, status=free, environment=gn6 or gpu=A100
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    #[command(flatten)]
    ask: AskFlags,
}

fn list(flags: &ListFlags) -> Outcome {
    let query = Query::new().with("pageSize", MOST_PER_PAGE).with_some("filter", flags.filter.as_deref());
    let answer = flags.ask.connect()?.workers(&query)?;
    let none = pick("没有这样的 Worker。加入开发环境：", "There are no such workers. Add an environment:");
    flags.ask.list(&answer, none, "fermi agent --name gn6 --workers 2", table)
}

fn table(workers: &[WorkerRow]) -> Table {
    let mut table = Table::new([
        "WORKER",
        pick("环境", "ENVIRONMENT"),
        "GPU",
        pick("可用区", "ZONE"),
        pick("分组", "GROUP"),
        pick("状态", "STATUS"),
        pick("任务", "TASK"),
    ]);
    for worker in workers {
        let gpu = match (&worker.gpu_type, worker.gpu) {
            (Some(model), Some(number)) => format!("{model} #{number}"),
            (None, Some(number)) => format!("#{number}"),
            (_, None) => "-".to_owned(),
        };
        table.row([
            Cell::coloured(&worker.id, Colour::Strong),
            worker.environment.as_str().into(),
            gpu.into(),
            worker.zone.as_deref().unwrap_or("-").into(),
            worker.group_name.as_str().into(),
            Cell::coloured(worker.status_text.in_language(speech::language()), colour(worker.status)),
            worker.task_id.as_deref().unwrap_or("-").into(),
        ]);
    }
    table
}
