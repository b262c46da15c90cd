//! `fermi group ranks`.

use fermi_api::v1::{GroupRanks, WorkerStatus};

use super::find;
use crate::connection::{AskFlags, Outcome};
use crate::speech::{self, Paint, pick};
use crate::table::{Cell, Colour, Table};

/// Who would be which rank, as things stand
#[derive(Debug, clap::Args)]
pub struct RanksFlags {
    /// Its name or id
    group: String,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &RanksFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.group_ranks(&find(&client, &flags.group)?.id)?;
    flags.ask.show(&answer, render)
}

/// The table, and below it why there are no ranks.
pub fn render(ranks: &GroupRanks, paint: Paint) -> String {
    let language = speech::language();
    let mut table =
        Table::new(["WORKER", "RANK", "LOCAL_RANK", "NODE_RANK", "WORLD_SIZE", "GPU", pick("状态", "STATUS"), ""]);
    let number = |number: Option<u32>| Cell::number(number.map_or_else(|| "-".to_owned(), |number| number.to_string()));
    for row in &ranks.rows {
        table.row([
            Cell::coloured(&row.worker, Colour::Strong),
            number(row.rank),
            number(row.local_rank),
            number(row.node_rank),
            number(row.world_size),
            number(row.gpu),
            Cell::coloured(row.status_text.in_language(language), colour(row.status)),
            Cell::coloured(if row.standby { pick("待命", "standby") } else { "" }, Colour::Faint),
        ]);
    }
    let mut out = if table.is_empty() { String::new() } else { table.render(paint) };
    if let Some(problem) = &ranks.problem {
        out.push_str(&format!("\n{} {}\n", paint.red("✗"), problem.text.in_language(language)));
        if let Some(hint) = &problem.hint {
            out.push_str(&format!("  {}\n", paint.dim(hint.in_language(language))));
        }
    }
    out
}

/// The colour of a worker's status.
pub fn colour(status: WorkerStatus) -> Colour {
    match status {
        WorkerStatus::Free => Colour::Good,
        WorkerStatus::Busy | WorkerStatus::Suspect | WorkerStatus::Drained => Colour::Busy,
        WorkerStatus::Offline | WorkerStatus::Lost | WorkerStatus::Missing => Colour::Bad,
    }
}
