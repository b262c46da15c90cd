//! `fermi group`: named sets of workers that are launched together.

mod change;
mod checks;
mod create;
mod delete;
mod list;
mod members;
mod ranks;
mod show;
mod start;
mod stop;

use std::process::ExitCode;

use clap::Subcommand;
use fermi_api::client::Client;
use fermi_api::v1::Group;

use crate::connection::{self, CommandProblem, Noun};

pub use ranks::colour;

/// Groups of workers: create, list, show, rename, config, move, ranks, check, start, stop, delete
#[derive(Debug, Subcommand)]
pub enum Verb {
    Create(create::CreateFlags),
    #[command(alias = "ls")]
    List(list::ListFlags),
    Show(show::ShowFlags),
    Rename(change::RenameFlags),
    Config(change::ConfigFlags),
    Move(members::MoveFlags),
    Ranks(ranks::RanksFlags),
    Check(checks::CheckFlags),
    Start(Box<start::StartFlags>),
    Stop(stop::StopFlags),
    #[command(alias = "rm")]
    Delete(delete::DeleteFlags),
}

pub fn execute(verb: &Verb) -> ExitCode {
    connection::answer(match verb {
        Verb::Create(flags) => create::execute(flags),
        Verb::List(flags) => list::execute(flags),
        Verb::Show(flags) => show::execute(flags),
        Verb::Rename(flags) => change::rename(flags),
        Verb::Config(flags) => change::configure(flags),
        Verb::Move(flags) => members::execute(flags),
        Verb::Ranks(flags) => ranks::execute(flags),
        Verb::Check(flags) => checks::execute(flags),
        Verb::Start(flags) => start::execute(flags),
        Verb::Stop(flags) => stop::execute(flags),
        Verb::Delete(flags) => delete::execute(flags),
    })
}

/// The group that is meant; an id wins over a name.
pub fn find(client: &Client, text: &str) -> Result<Group, CommandProblem> {
    let by_id = client.group(text);
    let noun = Noun { zh: "分组", en: "group", list: "fermi group list" };
    connection::find(text, noun, by_id, |query| client.groups(query), |group| &group.name)
}
