//! `fermi task list`.

use fermi_api::client::Query;
use fermi_api::v1::TaskRow;

use crate::commands::env;
use crate::connection::{AskFlags, Outcome};
use crate::span;
use crate::speech::{self, pick};
use crate::table::{self, Cell, Colour, Table};

/// Widest reason in the table; `explain` has it whole.
const REASON: usize = 60;

/// List the tasks, newest first
#[derive(Debug, clap::Args)]
pub struct ListFlags {
    /// Only those that fit, such as status=running
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// The field to sort by, such as createdAt or "priority desc"
    #[arg(long, value_name = "FIELD")]
    order_by: Option<String>,
    /// Go on where the last list ended
    #[arg(long, value_name = "TOKEN")]
    page_token: Option<String>,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &ListFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let query = Query::new()
        .with("pageSize", flags.limit)
        .with_some("filter", flags.filter.as_deref())
        .with_some("orderBy", flags.order_by.as_deref())
        .with_some("pageToken", flags.page_token.as_deref());
    let answer = client.tasks(&query)?;
    let none = pick("没有训练任务。创建一个：", "There are no tasks. Create one:");
    let code = flags.ask.list(&answer, none, "fermi task create --name demo --env my-env -- train.py", |tasks| {
        // People know environments by name; a list that cannot be had leaves the ids.
        let names = env::find::all(&client).unwrap_or_default();
        let named = |id: &String| names.iter().find(|found| found.id == *id);
        table(tasks, |id| named(id).map_or_else(|| id.clone(), |found| found.name.clone()))
    })?;
    if let Some(token) = answer.data.next_page_token.as_ref().filter(|_| !flags.ask.json) {
        speech::say(&format!("{}: --page-token {token}\n", pick("还有更多", "there are more")));
    }
    Ok(code)
}

fn table(tasks: &[TaskRow], name: impl Fn(&String) -> String) -> Table {
    let mut table = Table::new([
        "ID",
        pick("名称", "NAME"),
        pick("状态", "STATUS"),
        pick("环境", "ENVIRONMENTS"),
        pick("进程", "RANKS"),
        pick("启动", "ATTEMPT"),
        pick("创建", "CREATED"),
        pick("用时", "TIME"),
        "",
    ]);
    for task in tasks {
        let language = speech::language();
        let end = task.ended_at.unwrap_or_else(span::now_ms);
        let time = task.started_at.map_or_else(|| "-".to_owned(), |start| span::long(end.saturating_sub(start)));
        let reason = task.reason.as_ref().or(task.headline.as_ref());
        let reason = reason.map_or_else(String::new, |text| table::cut(text.in_language(language), REASON));
        table.row([
            Cell::coloured(&task.id, Colour::Faint),
            Cell::coloured(&task.name, Colour::Strong),
            Cell::coloured(task.status_text.in_language(language), super::colour(task.status)),
            task.environments.iter().map(&name).collect::<Vec<_>>().join(", ").into(),
            Cell::number(task.world_size.to_string()),
            Cell::number(task.attempt.to_string()),
            span::ago(task.created_at).into(),
            time.into(),
            Cell::coloured(reason, Colour::Faint),
        ]);
    }
    table
}
