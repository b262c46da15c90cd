//! `fermi env`: the places where ranks can run.

mod delete;
mod duty;
pub mod find;
mod join;
mod list;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

use fermi_api::client::EnvironmentWord;

use crate::connection;

/// Environments: join, list, show, drain, resume, lost, replace, revoke, rotate, delete
#[derive(Debug, Subcommand)]
pub enum Verb {
    #[command(alias = "ls")]
    List(list::ListFlags),
    Show(show::ShowFlags),
    Join(join::JoinFlags),
    /// Take an environment out of service: what runs goes on, nothing new starts
    Drain(duty::DutyFlags),
    /// Put an environment back into service
    Resume(duty::DutyFlags),
    /// Declare the machine of an environment lost: what ran there counts as ended, and its tasks go on or end
    Lost(duty::DutyFlags),
    /// Declare it lost, and let another machine take its name
    Replace(duty::DutyFlags),
    /// Revoke an environment's credential: its agent is hung up on, and only a new token brings a machine in under its name
    Revoke(duty::DutyFlags),
    /// Give an environment's agent another credential; nothing that runs notices
    Rotate(duty::DutyFlags),
    #[command(alias = "rm")]
    Delete(delete::DeleteFlags),
}

pub fn execute(verb: &Verb) -> ExitCode {
    connection::answer(match verb {
        Verb::List(flags) => list::execute(flags),
        Verb::Show(flags) => show::execute(flags),
        Verb::Drain(flags) => duty::execute(flags, EnvironmentWord::Drain),
        Verb::Resume(flags) => duty::execute(flags, EnvironmentWord::Resume),
        Verb::Lost(flags) => duty::execute(flags, EnvironmentWord::Lost),
        Verb::Replace(flags) => duty::execute(flags, EnvironmentWord::Replace),
        Verb::Join(flags) => join::execute(flags),
        Verb::Revoke(flags) => duty::execute(flags, EnvironmentWord::Revoke),
        Verb::Rotate(flags) => duty::execute(flags, EnvironmentWord::Rotate),
        Verb::Delete(flags) => delete::execute(flags),
    })
}
