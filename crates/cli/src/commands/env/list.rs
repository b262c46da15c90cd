//! `fermi env list`.

use fermi_api::client::Query;
use fermi_api::v1::{Environment, MOST_PER_PAGE};
use fermi_domain::environment::EnvironmentStatus;

use crate::connection::{AskFlags, Outcome};
use crate::span;
use crate::speech::{self, pick};
use crate::table::{Cell, Colour, Table};

/// List the environments with their workers and how they fare
#[derive(Debug, clap::Args)]
pub struct ListFlags {
    /// Only those that fit, such as status=running, zone=北京可用区A, kind=jupyter or image~pytorch
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    /// The field to sort by, such as name, uptime or "gpuCount desc"
    #[arg(long, value_name = "FIELD")]
    order_by: Option<String>,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &ListFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let query = Query::new()
        .with("pageSize", MOST_PER_PAGE)
        .with_some("filter", flags.filter.as_deref())
        .with_some("orderBy", flags.order_by.as_deref());
    let answer = client.environments(&query)?;
    let none = pick("还没有开发环境。加入一个：", "There are no environments yet. Add one:");
    let zone = pick("北京可用区A", "zone-a");
    flags.ask.list(&answer, none, &format!("fermi agent --name my-env --zone {zone} --workers 2"), table)
}

fn table(environments: &[Environment]) -> Table {
    let mut table = Table::new([
        pick("名称", "NAME"),
        "ID",
        pick("类型", "KIND"),
        pick("状态", "STATUS"),
        pick("可用区", "ZONE"),
        "GPU",
        "CPU",
        pick("内存", "MEMORY"),
        pick("空闲", "FREE"),
        pick("心跳", "HEARD"),
        pick("运行时长", "UP"),
    ]);
    for environment in environments {
        let say = |text: &fermi_domain::language::Text| text.in_language(speech::language()).to_owned();
        table.row([
            Cell::coloured(&environment.name, Colour::Strong),
            Cell::coloured(&environment.id, Colour::Faint),
            say(&environment.kind_text).into(),
            Cell::coloured(say(&environment.status_text), colour(environment.status)),
            environment.zone.as_deref().unwrap_or("-").into(),
            gpus(environment).into(),
            Cell::number(environment.cpu_cores.to_string()),
            Cell::number(format!("{} GB", environment.memory)),
            Cell::number(free(environment)),
            environment.heartbeat_age_ms.map_or_else(|| "-".to_owned(), heard).into(),
            environment
                .up_since
                .map_or_else(|| "-".to_owned(), |at| span::long(span::now_ms().saturating_sub(at)))
                .into(),
        ]);
    }
    table
}

/// Free workers of all; none are free where nobody answers.
pub fn free(environment: &Environment) -> String {
    let is_there = environment.status.is_reachable() || environment.status == EnvironmentStatus::Suspect;
    let free = if is_there { environment.workers_free.to_string() } else { "-".to_owned() };
    format!("{free}/{}", environment.workers.len())
}

/// How long ago an agent spoke. Each second is as it should be.
pub fn heard(age_ms: u64) -> String {
    if age_ms < 3_000 { pick("刚刚", "now").to_owned() } else { span::long(age_ms) }
}

/// `2x A100`; with a mark where it was declared and not measured.
pub fn gpus(environment: &Environment) -> String {
    let mut parts: Vec<String> =
        environment.gpus.iter().map(|gpus| format!("{}x {}", gpus.count, gpus.model)).collect();
    if parts.is_empty() {
        parts.push("-".to_owned());
    }
    let declared = if environment.declared { pick("（声明）", " (declared)") } else { "" };
    format!("{}{declared}", parts.join(", "))
}

pub fn colour(status: EnvironmentStatus) -> Colour {
    match status {
        EnvironmentStatus::Running => Colour::Good,
        EnvironmentStatus::Busy | EnvironmentStatus::Suspect => Colour::Busy,
        EnvironmentStatus::Drained => Colour::Busy,
        EnvironmentStatus::Offline | EnvironmentStatus::Lost => Colour::Bad,
    }
}
