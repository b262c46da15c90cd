//! `fermi model`: networks that trainings begin with, by name.

mod create;
mod delete;
pub mod find;
mod list;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::connection;

/// Models: create, list, show, delete
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct ModelFlags {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Create(create::CreateFlags),
    #[command(alias = "ls")]
    List(list::ListFlags),
    Show(show::ShowFlags),
    #[command(alias = "rm")]
    Delete(delete::DeleteFlags),
}

pub fn execute(flags: &ModelFlags) -> ExitCode {
    connection::answer(match &flags.verb {
        Verb::Create(flags) => create::execute(flags),
        Verb::List(flags) => list::execute(flags),
        Verb::Show(flags) => show::execute(flags),
        Verb::Delete(flags) => delete::execute(flags),
    })
}
