//! `fermi env`: the places where ranks can run.

mod delete;
mod duty;
pub mod find;
mod list;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use fermi_api::client::EnvironmentWord;

use crate::connection;

/// Environments: list, show, drain, resume, lost, replace, delete
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct EnvFlags {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[command(alias = "ls")]
    List(list::ListFlags),
    Show(show::ShowFlags),
    /// Take an environment out of service: what runs goes on, nothing new starts
    Drain(duty::DutyFlags),
    /// Put an environment back into service
    Resume(duty::DutyFlags),
    /// Declare the machine of an environment lost: what ran there counts as ended, and its tasks go on or end
    Lost(duty::DutyFlags),
    /// Declare it lost, and let another machine take its name
    Replace(duty::DutyFlags),
    #[command(alias = "rm")]
    Delete(delete::DeleteFlags),
}

pub fn execute(flags: &EnvFlags) -> ExitCode {
    connection::answer(match &flags.verb {
        Verb::List(flags) => list::execute(flags),
        Verb::Show(flags) => show::execute(flags),
        Verb::Drain(flags) => duty::execute(flags, EnvironmentWord::Drain),
        Verb::Resume(flags) => duty::execute(flags, EnvironmentWord::Resume),
        Verb::Lost(flags) => duty::execute(flags, EnvironmentWord::Lost),
        Verb::Replace(flags) => duty::execute(flags, EnvironmentWord::Replace),
        Verb::Delete(flags) => delete::execute(flags),
    })
}
