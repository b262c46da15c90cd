//! `fermi task list`.

use std::time::Duration;

use fermi_api::client::{Client, Query};
use fermi_api::v1::TaskRow;

use crate::commands::env;
use crate::connection::{AskFlags, Outcome};
use crate::span;
use crate::speech::{self, Paint, pick};
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
    /// Show it again whenever something has changed, until Ctrl-C
    #[arg(long, short, conflicts_with = "json")]
    watch: bool,
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
    if flags.watch {
        return watch(&client, &query);
    }
    let answer = client.tasks(&query)?;
    let none = pick("没有训练任务。创建一个：", "There are no tasks. Create one:");
    let code = flags.ask.list(&answer, none, "fermi task create --name demo --env my-env -- train.py", |tasks| {
        named_table(&client, tasks)
    })?;
    if let Some(token) = answer.data.next_page_token.as_ref().filter(|_| !flags.ask.json) {
        speech::say(&format!("{}: --page-token {token}\n", pick("还有更多", "there are more")));
    }
    Ok(code)
}

/// How often the server is asked.
const EVERY: Duration = Duration::from_secs(1);

/// Shows the list again when it has changed. A server that is away is said to be, and asked again.
fn watch(client: &Client, query: &Query) -> Outcome {
    let screen = console::Term::stdout();
    let paint = Paint::for_stdout();
    let (mut list, mut shown) = (None, String::new());
    loop {
        let text = match (client.tasks(query), &list) {
            (Ok(answer), _) => list.insert(named_table(client, &answer.data.items).render(paint)).clone(),
            (Err(error), Some(list)) if error.may_pass() => {
                let away = pick("服务器暂时无法连接，继续等待", "the server is away; waiting for it");
                format!("{list}{}\n", paint.yellow(away))
            }
            (Err(error), _) => return Err(error.into()),
        };
        if text != shown {
            let rows = usize::from(screen.size().0).max(2) - 1;
            let top: String = text.lines().take(rows).map(|line| format!("{line}\n")).collect();
            // A pipe gets one list after the other.
            if screen.is_term() {
                let _ = screen.clear_screen();
                speech::print(&top);
            } else {
                speech::print(&format!("{text}\n"));
            }
            shown = text;
        }
        std::thread::sleep(EVERY);
    }
}

/// People know environments by name; a list of them that cannot be had leaves the ids.
fn named_table(client: &Client, tasks: &[TaskRow]) -> Table {
    let names = env::find::all(client).unwrap_or_default();
    let named = |id: &String| names.iter().find(|found| found.id == *id);
    table(tasks, |id| named(id).map_or_else(|| id.clone(), |found| found.name.clone()))
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
