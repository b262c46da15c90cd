//! `fermi bench`: what the machines can do, measured.

mod collective;

use std::process::ExitCode;

use clap::Subcommand;

/// Measure what the machines can do: collective
#[derive(Debug, Subcommand)]
pub enum Verb {
    Collective(collective::CollectiveFlags),
}

pub fn execute(verb: &Verb) -> ExitCode {
    let Verb::Collective(flags) = verb;
    collective::execute(flags)
}
