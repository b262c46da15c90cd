//! `fermi model show`.

use std::process::ExitCode;

use super::find;
use crate::connection::{AskFlags, Outcome};
use crate::speech::{self, Paint, pick};
use crate::{span, table};

/// Show a model
#[derive(Debug, clap::Args)]
pub struct ShowFlags {
    /// Its name or id
    model: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &ShowFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.model(&find::model(&client, &flags.model)?.id)?;
    if flags.ask.printed(&answer) {
        return Ok(ExitCode::SUCCESS);
    }
    let (model, paint) = (&answer.data, Paint::for_stdout());
    let facts = table::facts(
        [
            ("ID", Some(model.id.clone())),
            (pick("路径", "path"), model.path.clone()),
            (pick("说明", "description"), model.description.clone()),
            (pick("创建", "created"), Some(span::ago(model.created_at))),
        ],
        paint,
    );
    speech::print(&format!("{}\n\n{facts}", paint.bold(&model.name)));
    Ok(ExitCode::SUCCESS)
}
