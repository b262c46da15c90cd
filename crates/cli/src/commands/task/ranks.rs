//! `fermi task ranks`.

use fermi_api::client::Client;
use fermi_api::v1::{Rank, RankState};
use fermi_domain::language::Explained;
use fermi_domain::task::MissingPart;

use super::find;
use crate::connection::{AskFlags, CommandProblem, Outcome};
use crate::span;
use crate::speech::{self, pick};
use crate::table::{Cell, Colour, Table};

/// Who is which rank, and how each fares
#[derive(Debug, clap::Args)]
pub struct RanksFlags {
    /// Its id, its number, its name, or last for the newest
    task: String,
    /// An earlier attempt [default: the newest]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &RanksFlags) -> Outcome {
    let client = flags.ask.connect()?;
    let answer = client.ranks(&find::id(&client, &flags.task)?, flags.attempt)?;
    flags.ask.show(&answer, |ranks, paint| table(&ranks.items).render(paint))
}

/// Refuses ranks that the task does not have, where a command picks them from an answer about all.
pub fn check(client: &Client, task: &str, wanted: impl IntoIterator<Item = u32>) -> Result<(), CommandProblem> {
    let ranks = client.ranks(task, None)?.data.items.len();
    let ranks = u32::try_from(ranks).unwrap_or(u32::MAX);
    let Some(rank) = wanted.into_iter().find(|rank| ranks > 0 && *rank >= ranks) else { return Ok(()) };
    let missing = MissingPart::Rank { task: task.to_owned(), rank, ranks };
    Err(CommandProblem::not_found(missing.text(), speech::hint(&missing).unwrap_or_else(|| missing.text())))
}

fn table(ranks: &[Rank]) -> Table {
    let mut table = Table::new([
        "RANK",
        "WORKER",
        "LOCAL_RANK",
        "NODE_RANK",
        pick("状态", "STATE"),
        "PID",
        "CPU",
        pick("内存", "MEMORY"),
        pick("步", "STEP"),
        "LOSS",
        "",
    ]);
    let dash = || "-".to_owned();
    for rank in ranks {
        let exit = rank.exit.as_ref().map(|exit| exit.text().in_language(speech::language()).to_owned());
        let exit = exit.or_else(|| rank.exit_text.clone()).unwrap_or_default();
        table.row([
            Cell::number(rank.rank.to_string()),
            rank.worker.as_str().into(),
            Cell::number(rank.local_rank.to_string()),
            Cell::number(rank.node_rank.to_string()),
            Cell::coloured(rank.state_text.in_language(speech::language()), colour(rank.state)),
            Cell::number(rank.pid.map_or_else(dash, |pid| pid.to_string())),
            Cell::number(rank.cpus.map_or_else(dash, |cpus| format!("{cpus:.2}"))),
            Cell::number(rank.memory.map_or_else(dash, span::bytes)),
            Cell::number(rank.step.map_or_else(dash, |step| step.to_string())),
            Cell::number(rank.loss.map_or_else(dash, |loss| format!("{loss:.4}"))),
            Cell::coloured(exit, Colour::Faint),
        ]);
    }
    table
}

fn colour(state: RankState) -> Colour {
    match state {
        RankState::Waiting => Colour::Faint,
        RankState::Running => Colour::Strong,
        RankState::Succeeded => Colour::Good,
        RankState::Failed => Colour::Bad,
        RankState::Stopped => Colour::Faint,
    }
}
