//! `fermi model list`.

use std::process::ExitCode;

use fermi_api::client::Query;
use fermi_api::v1::MOST_PER_PAGE;

use crate::connection::{AskFlags, Outcome};
use crate::span;
use crate::speech::{self, Paint, pick};
use crate::table::{Cell, Colour, Table};

/// List the models
#[derive(Debug, clap::Args)]
pub struct ListFlags {
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &ListFlags) -> Outcome {
    let answer = flags.ask.connect()?.models(&Query::new().with("pageSize", MOST_PER_PAGE))?;
    if flags.ask.printed(&answer) {
        return Ok(ExitCode::SUCCESS);
    }
    if answer.data.items.is_empty() {
        speech::say(pick("还没有模型。", "There are no models yet."));
        speech::say("\n\n  fermi model create llama2-7b --path /models/llama2-7b\n");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new([pick("名称", "NAME"), "ID", pick("路径", "PATH"), pick("创建", "CREATED")]);
    for model in &answer.data.items {
        table.row([
            Cell::coloured(&model.name, Colour::Strong),
            Cell::coloured(&model.id, Colour::Faint),
            model.path.as_deref().unwrap_or("-").into(),
            span::ago(model.created_at).into(),
        ]);
    }
    speech::print(&table.render(Paint::for_stdout()));
    Ok(ExitCode::SUCCESS)
}
