//! `fermi slurm`: writes the batch file that starts one launcher per node, submits it, and follows the job.
//!
//! [`flags`] read the command line, [`batch`] makes the file's contents of them, [`script`] writes it, [`submit`] hands it
//! to Slurm, and [`follow`] stays until the job ends, with [`queue`] to ask Slurm, [`tail`] for the job's output and
//! [`journals`] for what the runs themselves wrote.

mod batch;
mod flags;
mod follow;
mod journals;
mod queue;
mod script;
mod submit;
mod tail;

use std::process::ExitCode;

use clap::Subcommand;
use fermi_domain::messages::run::RunProblem;
use fermi_domain::messages::slurm::SlurmNews;

use super::run::RunFlags;
use crate::{exit_code, speech};

/// Train on a Slurm cluster: write a batch file, submit it, follow the job
#[derive(Debug, Subcommand)]
pub enum Verb {
    Script(script::ScriptFlags),
    Submit(submit::SubmitFlags),
}

pub fn execute(verb: &Verb) -> ExitCode {
    answer(match verb {
        Verb::Script(flags) => script::execute(flags),
        Verb::Submit(flags) => submit::execute(flags),
    })
}

/// `fermi run --mode create_slurm`: the same file from the options of `fermi run`.
pub fn create_from_run(flags: &RunFlags) -> ExitCode {
    answer(flags::JobFlags::of_run(flags).and_then(|job| script::write_and_tell(&job, flags.json)))
}

fn answer(outcome: Result<ExitCode, RunProblem>) -> ExitCode {
    outcome.unwrap_or_else(|problem| {
        speech::complain(&problem);
        ExitCode::from(exit_code::USAGE)
    })
}

fn tell(news: &SlurmNews) {
    speech::say(&format!("fermi: {}\n", news.text().in_language(speech::language())));
}

/// Whether a batch file can be made of these flags, for the tests of those who build them.
#[cfg(test)]
pub fn takes(flags: &RunFlags) -> bool {
    flags::JobFlags::of_run(flags).is_ok()
}
