//! `fermi quickstart`: a menu of situations that builds a command, shows and explains it, and runs it if wanted.
//!
//! [`recipe`] builds commands from answers; [`talk`] asks for the answers.

mod recipe;
mod talk;

use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use clap::CommandFactory;
use fermi_domain::language::reason;
use fermi_domain::messages::quickstart::{QuickstartProblem, Scenario};
use serde_json::json;

use crate::exit_code;
use crate::speech;
use recipe::{Abilities, Answers};

/// Build the right command for your situation: a menu that asks, shows, explains and runs
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Without a terminal: fermi quickstart --scenario several --nodes 2 --gpus 4 --master 10.0.0.1 --print"
)]
pub struct QuickstartFlags {
    /// Skip the menu
    #[arg(long, value_name = "NAME", value_parser = ["single", "several", "ssh", "slurm", "test", "trouble"])]
    scenario: Option<String>,
    /// Ask nothing and run nothing: print the command
    #[arg(long)]
    print: bool,
    /// With --print: as one JSON object
    #[arg(long, requires = "print")]
    json: bool,
    #[command(flatten)]
    answers: Answers,
}

pub fn execute(flags: &QuickstartFlags) -> ExitCode {
    match start(flags) {
        Ok(code) => code,
        Err(problem) => {
            speech::complain(&problem);
            ExitCode::from(exit_code::USAGE)
        }
    }
}

fn start(flags: &QuickstartFlags) -> Result<ExitCode, QuickstartProblem> {
    let abilities = abilities();
    let named = flags.scenario.as_deref();
    let named = named.and_then(|name| Scenario::ALL.into_iter().find(|scenario| scenario.name() == name));
    if let Some(scenario) = named.filter(|scenario| !abilities.has(*scenario)) {
        return Err(QuickstartProblem::NotHere { scenario });
    }
    if named == Some(Scenario::Trouble) {
        speech::print(&talk::troubleshooting(speech::language()));
        return Ok(ExitCode::SUCCESS);
    }
    if flags.print {
        let scenario = named.unwrap_or(Scenario::Single);
        if let Some(told) = recipe::left_out(scenario, &flags.answers) {
            speech::say(&format!("fermi: {}\n", told.in_language(speech::language())));
        }
        print(scenario, &flags.answers, abilities, flags.json);
        return Ok(ExitCode::SUCCESS);
    }
    if !std::io::stdin().is_terminal() {
        return Err(QuickstartProblem::NobodyToAsk);
    }
    let language = speech::language();
    let talk = talk::Talk::new(std::io::stdin().lock(), speech::say, language);
    Ok(match talk.hold(named, flags.answers.clone(), abilities) {
        Some(command) => run(&command),
        None => ExitCode::SUCCESS,
    })
}

/// What this very binary can do.
fn abilities() -> Abilities {
    let cli = super::Cli::command();
    Abilities { slurm: cli.find_subcommand("slurm").is_some(), doctor: cli.find_subcommand("doctor").is_some() }
}

fn print(scenario: Scenario, answers: &Answers, abilities: Abilities, as_json: bool) {
    let command = recipe::command(scenario, answers, abilities);
    if as_json {
        let reasons = recipe::reasons(&command);
        let reasons: Vec<_> = reasons.iter().map(|(word, text)| json!({"word": word, "text": text})).collect();
        let line = recipe::line(&command);
        let told =
            json!({"v": 1, "scenario": scenario.name(), "command": line, "argv": command, "explanation": reasons});
        speech::print(&format!("{told}\n"));
    } else {
        speech::print(&format!("{}\n", recipe::line(&command)));
    }
}

/// Becomes the command; returns only if that fails.
fn run(command: &[String]) -> ExitCode {
    let error = std::process::Command::new("/proc/self/exe").arg0("fermi").args(command.iter().skip(1)).exec();
    speech::say(&format!("fermi: {}\n", reason::of_io(&error).in_language(speech::language())));
    ExitCode::from(exit_code::FAILED)
}
