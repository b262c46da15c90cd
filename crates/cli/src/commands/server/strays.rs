//! `fermi server strays`: runs that a restored database does not know.

use fermi_api::v1::Stray;

use crate::connection::{AskFlags, Outcome};
use crate::span;
use crate::speech::pick;
use crate::table::{Cell, Colour, Table};

/// Runs that the server's database has never launched, since an older state of it was put back; they go on until ended
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example: fermi server strays --end task-12-g1-n0-i1")]
pub struct StraysFlags {
    /// End this run
    #[arg(long, value_name = "RUN")]
    end: Option<String>,
    #[command(flatten)]
    ask: AskFlags,
}

pub fn execute(flags: &StraysFlags) -> Outcome {
    let client = flags.ask.connect()?;
    if let Some(run) = &flags.end {
        return flags.ask.done(&client.end_stray(run)?);
    }
    let none = pick("没有数据库不认识的运行。", "The database knows all runs.");
    flags.ask.list(&client.strays()?, none, "fermi server status", table)
}

fn table(strays: &[Stray]) -> Table {
    let headings =
        [pick("运行", "RUN"), pick("开发环境", "ENVIRONMENT"), pick("状态", "STATE"), pick("发现于", "FOUND")];
    let mut table = Table::new(headings);
    for stray in strays {
        let (state, colour) = match (stray.ending, stray.alive) {
            (true, _) => (pick("正在结束", "ending"), Colour::Busy),
            (false, true) => (pick("运行中", "running"), Colour::Good),
            (false, false) => (pick("已结束，文件保留", "over, files kept"), Colour::Faint),
        };
        table.row([
            Cell::coloured(&stray.run, Colour::Strong),
            stray.environment.clone().into(),
            Cell::coloured(state, colour),
            span::long(span::now_ms().saturating_sub(stray.found_at)).into(),
        ]);
    }
    table
}
