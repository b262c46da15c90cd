//! `fermi task metrics`.

use std::process::ExitCode;

use fermi_api::client::Query;
use fermi_api::v1::Series;

use super::find;
use crate::connection::{AskFlags, Outcome};
use crate::sparkline::sparkline;
use crate::speech::{self, Paint, pick};
use crate::table::{Cell, Colour, Table};

/// Columns of a drawn series.
const COLUMNS: usize = 40;

/// Loss, speed and what machines did, as numbers and small pictures
#[derive(Debug, clap::Args)]
pub struct MetricsFlags {
    /// Its id, its number, its name, or last for the newest
    task: String,
    /// An earlier attempt [default: the newest]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// How many points of each series at most
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    points: u32,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &MetricsFlags) -> Outcome {
    let query = Query::new().with("maxPoints", flags.points).with_some("attempt", flags.attempt);
    let client = flags.ask.connect()?;
    let answer = client.task_metrics(&find::id(&client, &flags.task)?, &query)?;
    if flags.ask.printed(&answer) {
        return Ok(ExitCode::SUCCESS);
    }
    let head = [pick("名称", "NAME"), pick("来源", "OF"), pick("最先", "FIRST"), pick("最后", "LAST"), ""];
    let mut table = Table::new(head);
    for series in answer.data.series.iter().filter(|series| !series.points.is_empty()) {
        let number = |at: Option<&fermi_api::v1::Point>| at.map_or_else(String::new, |point| short(point.value));
        table.row([
            Cell::coloured(&series.name, Colour::Strong),
            of(series).into(),
            Cell::number(number(series.points.first())),
            Cell::number(number(series.points.last())),
            sparkline(&series.points.iter().map(|point| point.value).collect::<Vec<_>>(), COLUMNS).into(),
        ]);
    }
    if table.is_empty() {
        speech::say(pick("还没有指标。\n", "There are no metrics yet.\n"));
    } else {
        speech::print(&table.render(Paint::for_stdout()));
    }
    Ok(ExitCode::SUCCESS)
}

fn of(series: &Series) -> String {
    let rank = series.rank.map(|rank| format!("rank {rank}"));
    let gpu = series.gpu.map(|gpu| format!("GPU {gpu}"));
    [rank, series.environment.clone(), gpu].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1e9 => format!("{:.1}G", value / 1e9),
        size if size >= 1e6 => format!("{:.1}M", value / 1e6),
        size if size >= 1e4 => format!("{:.1}k", value / 1e3),
        size if size >= 100.0 => format!("{value:.0}"),
        _ => format!("{value:.4}"),
    }
}
