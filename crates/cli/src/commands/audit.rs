//! `fermi audit`: who has asked for what.

use std::process::ExitCode;
use std::time::Duration;

use fermi_api::client::Query;
use fermi_api::v1::{Event, MOST_PER_PAGE};

use super::task::parse_time;
use crate::connection::{self, AskFlags, Outcome};
use crate::span;
use crate::speech::{self, Paint, pick};
use crate::table::{Cell, Colour, Table};

/// Who has asked for what, the newest last
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: fermi audit --user ann --since 7d")]
pub struct AuditFlags {
    /// Only what this user has asked for
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only the last so long, such as 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<Duration>,
    /// Only what begins so, such as task. or user.added
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Also what the server and the agents did by themselves
    #[arg(long, conflicts_with = "user")]
    all: bool,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_PER_PAGE)))]
    last: u32,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &AuditFlags) -> ExitCode {
    connection::answer(show(flags))
}

fn show(flags: &AuditFlags) -> Outcome {
    let since =
        flags.since.map(|since| span::now_ms().saturating_sub(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)));
    let user = flags.user.as_deref().or((!flags.all).then_some("*"));
    let query = Query::new()
        .with("newest", "true")
        .with("pageSize", flags.last)
        .with_some("user", user)
        .with_some("kind", flags.kind.as_deref())
        .with_some("since", since);
    let answer = flags.ask.connect()?.events(&query)?;
    if answer.data.items.is_empty() && !flags.ask.json {
        speech::say(pick("没有这样的记录。\n", "There is nothing of that kind.\n"));
        return Ok(ExitCode::SUCCESS);
    }
    flags.ask.show(&answer, |page, paint| table(&page.items, paint))
}

fn table(events: &[Event], paint: Paint) -> String {
    let mut table = Table::new([pick("时间", "TIME"), pick("谁", "WHO"), pick("事件", "EVENT"), pick("内容", "WHAT")]);
    for event in events {
        let who = event.principal.as_ref().map(|principal| match &principal.role {
            Some(role) => format!("{} ({role})", principal.name),
            None => principal.name.clone(),
        });
        table.row([
            Cell::coloured(span::stamp(event.time), Colour::Faint),
            Cell::coloured(who.unwrap_or_else(|| "-".to_owned()), Colour::Strong),
            event.kind.clone().into(),
            event.text.in_language(speech::language()).into(),
        ]);
    }
    table.render(paint)
}
