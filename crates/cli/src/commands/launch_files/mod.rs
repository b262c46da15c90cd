//! `fermi launch`: what a framework needs to start, as files. ([`super::launch`] is `fermi launch-multi-node`.)

mod cluster;
pub(super) mod generate;
pub(super) mod settings;
mod write;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use fermi_domain::language::Text;
use fermi_frameworks::LaunchRefusal;

use crate::{exit_code, speech};

/// Files, arguments and variables of a launch
#[derive(Debug, Args)]
pub struct LaunchFilesFlags {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Generate(Box<generate::GenerateFlags>),
}

/// Why nothing was written.
#[derive(Debug)]
pub(super) struct Refused {
    pub text: Text,
    pub hint: Text,
}

impl From<LaunchRefusal> for Refused {
    fn from(refusal: LaunchRefusal) -> Self {
        Self { text: refusal.text(), hint: refusal.hint() }
    }
}

pub fn execute(flags: &LaunchFilesFlags) -> ExitCode {
    let Verb::Generate(flags) = &flags.verb;
    match generate::execute(flags) {
        Ok(()) => ExitCode::from(exit_code::DONE),
        Err(refused) => {
            speech::complain(&refused.text, &refused.hint);
            ExitCode::from(exit_code::USAGE)
        }
    }
}
