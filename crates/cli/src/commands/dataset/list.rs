//! `fermi dataset list`.

use std::process::ExitCode;

use fermi_api::client::Query;
use fermi_api::v1::MOST_PER_PAGE;

use crate::connection::{AskFlags, Outcome};
use crate::span;
use crate::speech::{self, Paint, pick};
use crate::table::{Cell, Colour, Table};

/// List the datasets
#[derive(Debug, clap::Args)]
pub struct ListFlags {
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &ListFlags) -> Outcome {
    let answer = flags.ask.connect()?.datasets(&Query::new().with("pageSize", MOST_PER_PAGE))?;
    if flags.ask.printed(&answer) {
        return Ok(ExitCode::SUCCESS);
    }
    if answer.data.items.is_empty() {
        speech::say(pick("还没有数据集。", "There are no datasets yet."));
        speech::say("\n\n  fermi dataset create corpus --path /data/corpus\n");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new([pick("名称", "NAME"), "ID", pick("版本", "VERSIONS"), pick("创建", "CREATED")]);
    for dataset in &answer.data.items {
        let versions: Vec<&str> = dataset.versions.iter().map(|version| version.version.as_str()).collect();
        table.row([
            Cell::coloured(&dataset.name, Colour::Strong),
            Cell::coloured(&dataset.id, Colour::Faint),
            if versions.is_empty() { "-".into() } else { versions.join(", ").into() },
            span::ago(dataset.created_at).into(),
        ]);
    }
    speech::print(&table.render(Paint::for_stdout()));
    Ok(ExitCode::SUCCESS)
}
