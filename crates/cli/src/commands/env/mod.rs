//! `fermi env`: the places where ranks can run.

mod delete;
pub mod find;
mod list;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::connection;

/// Environments: list, show, delete
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
    #[command(alias = "rm")]
    Delete(delete::DeleteFlags),
}

pub fn execute(flags: &EnvFlags) -> ExitCode {
    connection::answer(match &flags.verb {
        Verb::List(flags) => list::execute(flags),
        Verb::Show(flags) => show::execute(flags),
        Verb::Delete(flags) => delete::execute(flags),
    })
}
