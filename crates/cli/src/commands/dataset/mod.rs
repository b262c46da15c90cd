//! `fermi dataset`: named data with versions that never change.

mod add_version;
mod create;
mod delete;
pub mod find;
mod list;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::connection;

/// Datasets: create, add-version, list, show, delete
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct DatasetFlags {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Create(create::CreateFlags),
    AddVersion(add_version::AddVersionFlags),
    #[command(alias = "ls")]
    List(list::ListFlags),
    Show(show::ShowFlags),
    #[command(alias = "rm")]
    Delete(delete::DeleteFlags),
}

pub fn execute(flags: &DatasetFlags) -> ExitCode {
    connection::answer(match &flags.verb {
        Verb::Create(flags) => create::execute(flags),
        Verb::AddVersion(flags) => add_version::execute(flags),
        Verb::List(flags) => list::execute(flags),
        Verb::Show(flags) => show::execute(flags),
        Verb::Delete(flags) => delete::execute(flags),
    })
}
