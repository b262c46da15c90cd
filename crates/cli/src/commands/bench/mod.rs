//! `fermi bench`: what the machines can do, measured.

mod collective;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Measure what the machines can do: collective
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct BenchFlags {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Collective(collective::CollectiveFlags),
}

pub fn execute(flags: &BenchFlags) -> ExitCode {
    let Verb::Collective(flags) = &flags.verb;
    collective::execute(flags)
}
