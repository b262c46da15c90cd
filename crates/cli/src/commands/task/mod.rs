//! `fermi task`: what people train on the cluster.
//!
//! [`request`] reads what is wanted from the command line for `create` and `preview`, [`work`] the part of it that has nothing to do with workers; [`source`] packs a folder of code;
//! [`find`] knows which task is meant; [`stay`] and [`watch`] stay with a task until it is over; [`verdict`] says why it ended. The other files are one verb each.

mod clone;
mod create;
mod delete;
mod events;
mod explain;
mod file;
mod find;
mod follow;
mod heard;
mod launch;
pub mod ledger;
mod list;
mod log_writer;
pub mod logs;
mod metrics;
mod preview;
mod ranks;
mod request;
mod restart;
mod show;
mod source;
mod stacks;
pub mod stay;
pub mod stop;
mod sweep;
pub mod verdict;
mod wait;
pub mod watch;
pub mod work;

pub use fermi_domain::sweep::LABEL as SWEEP_LABEL;
pub use wait::parse_time;
pub use work::parse_pair;

use std::process::ExitCode;

use clap::Subcommand;
use fermi_domain::phase::TaskPhase;

use crate::connection;
use crate::table::Colour;

/// Training tasks: create, watch, explain, stop
#[derive(Debug, Subcommand)]
pub enum Verb {
    Create(Box<create::CreateFlags>),
    Sweep(sweep::SweepFlags),
    Preview(Box<preview::PreviewFlags>),
    #[command(alias = "ls")]
    List(list::ListFlags),
    Show(show::ShowFlags),
    Logs(logs::LogsFlags),
    Wait(wait::WaitFlags),
    Explain(explain::ExplainFlags),
    Events(events::EventsFlags),
    Ranks(ranks::RanksFlags),
    Launch(launch::LaunchFlags),
    Stacks(stacks::StacksFlags),
    Metrics(metrics::MetricsFlags),
    Stop(stop::StopFlags),
    Restart(restart::RestartFlags),
    Clone(clone::CloneFlags),
    #[command(alias = "rm")]
    Delete(delete::DeleteFlags),
}

pub fn execute(verb: &Verb) -> ExitCode {
    connection::answer(match verb {
        Verb::Create(flags) => create::execute(flags),
        Verb::Sweep(flags) => sweep::execute(flags),
        Verb::Preview(flags) => preview::execute(flags),
        Verb::List(flags) => list::execute(flags),
        Verb::Show(flags) => show::execute(flags),
        Verb::Logs(flags) => logs::execute(flags),
        Verb::Wait(flags) => wait::execute(flags),
        Verb::Explain(flags) => explain::execute(flags),
        Verb::Events(flags) => events::execute(flags),
        Verb::Ranks(flags) => ranks::execute(flags),
        Verb::Launch(flags) => launch::execute(flags),
        Verb::Stacks(flags) => stacks::execute(flags),
        Verb::Metrics(flags) => metrics::execute(flags),
        Verb::Stop(flags) => stop::execute(flags),
        Verb::Restart(flags) => restart::execute(flags),
        Verb::Clone(flags) => clone::execute(flags),
        Verb::Delete(flags) => delete::execute(flags),
    })
}

/// The colour of a task's status.
pub fn colour(phase: TaskPhase) -> Colour {
    match phase {
        TaskPhase::Succeeded => Colour::Good,
        TaskPhase::Failed => Colour::Bad,
        TaskPhase::Stopped => Colour::Faint,
        TaskPhase::Running => Colour::Strong,
        TaskPhase::Initializing
        | TaskPhase::Queued
        | TaskPhase::Starting
        | TaskPhase::Restarting
        | TaskPhase::Stopping => Colour::Busy,
    }
}
