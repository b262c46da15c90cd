//! `fermi launch`: what a framework needs to start, as files. ([`super::launch`] is `fermi launch-multi-node`.)

mod cluster;
mod generate;
mod settings;
mod write;

use std::process::ExitCode;

use clap::Subcommand;
use fermi_frameworks::LaunchRefusal;

use super::engine::EngineRefusal;
use crate::{exit_code, speech};

/// Files, arguments and variables of a launch
#[derive(Debug, Subcommand)]
pub enum Verb {
    Generate(Box<generate::GenerateFlags>),
    Settings(settings::SettingsFlags),
}

impl From<LaunchRefusal> for EngineRefusal {
    fn from(refusal: LaunchRefusal) -> Self {
        Self::of(&refusal)
    }
}

pub fn execute(verb: &Verb) -> ExitCode {
    let done = match verb {
        Verb::Generate(flags) => generate::execute(flags),
        Verb::Settings(flags) => settings::execute(flags),
    };
    match done {
        Ok(()) => ExitCode::from(exit_code::DONE),
        Err(refused) => {
            speech::complain(&refused);
            ExitCode::from(exit_code::USAGE)
        }
    }
}
