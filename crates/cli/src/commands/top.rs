//! `fermi top`.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use super::task::parse_time;
use crate::connection::{self, CommandProblem, Outcome, ServerFlags};
use crate::top;

/// How long one request may take: the screen says sooner that the server is away.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tasks, ranks, GPUs and logs of a server on this terminal, as they change
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Keys: arrows or j/k, Enter opens, Esc goes back, Tab next pane, s stop, e explain, l log of which ranks, / filter, ? help, q quit."
)]
pub struct TopFlags {
    /// How often the server is asked, such as 2s
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_time)]
    interval: Duration,
    #[command(flatten)]
    server: ServerFlags,
}

pub fn execute(flags: &TopFlags) -> ExitCode {
    connection::answer(show(flags))
}

fn show(flags: &TopFlags) -> Outcome {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if is_dumb || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        let (message, hint) = top::no_terminal();
        return Err(CommandProblem::usage(message, hint));
    }
    top::run(flags.server.connect_within(PATIENCE)?, flags.interval)
}
