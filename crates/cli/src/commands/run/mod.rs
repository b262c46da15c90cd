//! `fermi run`: starts a script in several processes on this machine, instead of torchrun.
//!
//! [`flags`] and [`spellings`] read the command line, [`plan`] decides everything from it and from what [`machine`] saw,
//! [`session`] runs the plan at the user's terminal, [`report`] tells why it failed.

mod affinity;
mod devices;
mod dry_run;
mod filters;
mod flags;
mod gathering;
mod interpreter;
mod json;
mod machine;
mod narrate;
mod plan;
mod report;
mod session;
pub mod spellings;
mod streams;
mod terminal;
mod torchrun;

use std::process::ExitCode;

use fermi_domain::messages::run::RunProblem;

pub use flags::RunFlags;

use crate::{exit_code, speech};

pub fn execute(flags: RunFlags) -> ExitCode {
    match start(flags) {
        Ok(code) => code,
        Err(problem) => {
            speech::complain(&problem.text(), &problem.hint());
            ExitCode::from(exit_code::USAGE)
        }
    }
}

fn start(flags: RunFlags) -> Result<ExitCode, RunProblem> {
    spellings::refuse_unknown(&flags.script)?;
    if flags.use_torchrun {
        return torchrun::replace_this_process(&flags);
    }
    let machine = machine::Machine::look()?;
    let plan = plan::plan(&flags, &machine)?;
    if flags.dry_run {
        dry_run::show(&plan, flags.json);
        return Ok(ExitCode::SUCCESS);
    }
    session::run(plan, &flags)
}
