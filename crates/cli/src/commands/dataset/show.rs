//! `fermi dataset show`.

use std::process::ExitCode;

use super::find;
use crate::connection::{AskFlags, Outcome};
use crate::span;
use crate::speech::{self, Paint, pick};
use crate::table::{self, Cell, Colour, Table};

/// Show a dataset with its versions
#[derive(Debug, clap::Args)]
pub struct ShowFlags {
    /// Its name or id
    dataset: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &ShowFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.dataset(&find::dataset(&client, &flags.dataset)?.id)?;
    if flags.ask.printed(&answer) {
        return Ok(ExitCode::SUCCESS);
    }
    let paint = Paint::for_stdout();
    let dataset = &answer.data;
    let mut out = format!("{}\n\n", paint.bold(&dataset.name));
    out.push_str(&table::facts(
        [
            ("ID", Some(dataset.id.clone())),
            (pick("说明", "description"), dataset.description.clone()),
            (pick("创建", "created"), Some(span::ago(dataset.created_at))),
        ],
        paint,
    ));
    let mut versions = Table::new([pick("版本", "VERSION"), "ID", pick("路径", "PATH"), pick("创建", "CREATED")]);
    for version in &dataset.versions {
        versions.row([
            Cell::coloured(&version.version, Colour::Strong),
            Cell::coloured(&version.id, Colour::Faint),
            version.path.as_str().into(),
            span::ago(version.created_at).into(),
        ]);
    }
    if !versions.is_empty() {
        out.push_str(&format!("\n{}", versions.render(paint)));
    }
    speech::print(&out);
    Ok(ExitCode::SUCCESS)
}
