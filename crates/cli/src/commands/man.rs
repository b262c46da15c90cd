//! `fermi man --out DIR`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory;
use fermi_domain::language::reason;
use fermi_domain::messages::run::RunProblem;

use crate::{exit_code, speech};

/// Write the manual pages into a folder
#[derive(Debug, clap::Args)]
pub struct ManFlags {
    /// Where to write fermi.1, fermi-run.1 …
    #[arg(long, value_name = "DIR", default_value = "man")]
    out: PathBuf,
}

pub fn execute(flags: &ManFlags) -> ExitCode {
    let written =
        std::fs::create_dir_all(&flags.out).and_then(|()| clap_mangen::generate_to(super::Cli::command(), &flags.out));
    match written {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            let problem =
                RunProblem::FolderNotWritable { path: flags.out.display().to_string(), error: reason::of_io(&error) };
            speech::complain(&problem);
            ExitCode::from(exit_code::USAGE)
        }
    }
}
