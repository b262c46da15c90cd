//! `fermi group list`.

use fermi_api::client::Query;
use fermi_api::v1::{Group, MOST_PER_PAGE};
use fermi_domain::group::CheckState;

use crate::connection::{AskFlags, Outcome};
use crate::speech::{self, pick};
use crate::table::{Cell, Colour, Table};

/// List the groups; last the workers that are in none
#[derive(Debug, clap::Args)]
pub struct ListFlags {
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &ListFlags) -> Outcome {
    let answer = flags.ask.connect()?.groups(&Query::new().with("pageSize", MOST_PER_PAGE))?;
    let none = pick("还没有分组。", "There are no groups yet.");
    flags.ask.list(&answer, none, "fermi group create llm --master gn6 gn6-0 gn7-0", table)
}

fn table(groups: &[Group]) -> Table {
    let mut table = Table::new([
        pick("名称", "NAME"),
        "ID",
        "WORKER",
        "MASTER",
        "WORLD_SIZE",
        pick("待命", "STANDBY"),
        pick("端口", "PORT"),
        pick("后端", "BACKEND"),
        pick("任务", "TASKS"),
        "",
    ]);
    for group in groups {
        let dash = || "-".to_owned();
        let configured = |text: String| if group.is_default { dash() } else { text };
        let tasks: Vec<&str> = group.tasks.iter().map(|task| task.id.as_str()).collect();
        let failed = group.checks.iter().find(|check| check.state == CheckState::Failed);
        let failed = failed.map(|check| check.text.in_language(speech::language()).to_owned()).unwrap_or_default();
        table.row([
            Cell::coloured(&group.name, if group.is_default { Colour::Faint } else { Colour::Strong }),
            Cell::coloured(&group.id, Colour::Faint),
            Cell::number(group.workers.len().to_string()),
            group.config.master_addr.as_deref().unwrap_or("-").into(),
            Cell::number(group.world_size.map_or_else(dash, |world| world.to_string())),
            Cell::number(configured(group.standby.to_string())),
            Cell::number(configured(group.config.master_port.to_string())),
            configured(group.config.backend.as_str().to_owned()).into(),
            if tasks.is_empty() { "-".into() } else { tasks.join(", ").into() },
            Cell::coloured(failed, Colour::Bad),
        ]);
    }
    table
}
