//! `fermi launch-multi-node MASTER NODES GPUS SCRIPT`: starts `fermi run` on several hosts over ssh and stays with it.
//!
//! [`words`] and [`flags`] read the command line, [`hosts`] and [`filter`] the list of hosts, [`plan`] decides who starts
//! what. [`check`] looks at every host before anything starts; [`session`] holds the connections ([`connections`]) until the
//! end, which [`ending`] names. What a host is told is a [`script`] over the standard input of a shell, [`quote`]d word by
//! word. The run itself is `fermi run`'s: the hosts find each other without us, and each stops by itself when our
//! connection to it goes.

mod check;
mod connections;
mod dry_run;
mod ending;
mod environment;
mod filter;
mod flags;
mod here;
mod hosts;
pub(super) mod lines;
mod plan;
mod quote;
mod script;
mod session;
mod ssh;
pub mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use fermi_domain::messages::launch::{HostTrouble, LaunchNews, LaunchProblem};

pub use flags::LaunchFlags;

use super::usage;
use crate::exit_code;
use crate::speech::{self, Paint};

pub fn execute(flags: &LaunchFlags) -> ExitCode {
    start(flags).unwrap_or_else(|problem| {
        speech::complain(&problem);
        ExitCode::from(exit_code::USAGE)
    })
}

fn start(flags: &LaunchFlags) -> Result<ExitCode, LaunchProblem> {
    let plan = plan::plan(flags, &here::look(flags)?)?;
    if let Err(error) = read_as_run(&plan.nodes[0]) {
        return Ok(usage::refuse(&error));
    }
    let ssh = ssh::Ssh::new(flags);
    if flags.dry_run {
        dry_run::show(&plan, flags, &ssh);
        return Ok(ExitCode::SUCCESS);
    }
    if flags.copy_binary && !flags.quiet && !flags.json {
        let hosts = plan.nodes.iter().filter(|node| !node.is_here).count();
        speech::say(&format!("fermi: {}\n", LaunchNews::Copying { hosts }.text().in_language(speech::language())));
    }
    let checked = check::all(&plan, flags, &ssh)?;
    let fermis: Vec<String> = checked.iter().filter_map(|state| state.as_ref().ok().cloned()).collect();
    if fermis.len() < plan.nodes.len() {
        return Ok(not_ready(&plan, &checked));
    }
    session::run(&plan, flags, &ssh, &fermis)
}

/// A mistake in an option of `fermi run` is found here, not on every host.
fn read_as_run(node: &plan::Node) -> Result<(), clap::Error> {
    let words = [OsString::from("fermi")].into_iter().chain(node.words.iter().cloned());
    super::Cli::command().try_get_matches_from(words).map(|_| ())
}

fn not_ready(plan: &plan::Plan, checked: &[check::Checked]) -> ExitCode {
    let language = speech::language();
    let troubled = checked.iter().filter(|state| state.is_err()).count();
    let headline = LaunchNews::NotReady { troubled, hosts: checked.len() }.text();
    let (rows, hint) = check::table(plan, checked, language);
    let message = format!("{}\n\n{}", headline.in_language(language), rows.trim_end_matches('\n'));
    let hint = Some(hint.as_str()).filter(|hint| !hint.is_empty());
    speech::say(&speech::error_text(language, Paint::for_stderr(), &message, hint));
    let out_of_reach =
        |state: &check::Checked| matches!(state, Err(HostTrouble::Unreachable { .. } | HostTrouble::Silent { .. }));
    ExitCode::from(if checked.iter().any(out_of_reach) { exit_code::UNREACHABLE } else { exit_code::USAGE })
}
