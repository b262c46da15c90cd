//! The commands: one folder or file each.

mod agent;
mod audit;
mod bench;
mod chapters;
mod complete;
mod completions;
mod daemon_output;
mod dataset;
mod demo;
mod doctor;
mod engine;
mod env;
mod group;
mod launch;
mod launch_files;
mod login;
mod man;
mod model;
mod password;
mod plan;
mod quickstart;
mod recipe;
mod reference;
pub mod run;
mod scale;
mod secret;
mod server;
mod setup_cluster;
mod slurm;
mod spelling;
pub mod supervise;
mod task;
mod token;
mod top;
mod train;
mod trainer;
mod up;
pub mod usage;
mod user;
mod webhook;
mod worker;

pub use task::colour as task_colour;
pub use task::logs::parse_ranks;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use fermi_domain::language::Language;

use crate::help;

const NAME: &str = "fermi";
pub const RUN: &str = "run";
/// Columns of a help page.
const WIDEST: usize = 100;

/// Distributed training that just works.
#[derive(Debug, Parser)]
#[command(name = NAME, version, about, long_about = None, disable_help_subcommand = true, max_term_width = WIDEST)]
#[command(
    after_help = "Messages follow FERMI_LANG or the locale (zh-CN, en). Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 not allowed, 5 conflict, 6 time-out, 7 unreachable, 128+n on signal n."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::RunFlags>),
    Train(Box<train::TrainFlags>),
    Up(up::UpFlags),
    Server(Box<server::ServerFlags>),
    Agent(agent::AgentFlags),
    #[command(subcommand)]
    Task(Box<task::Verb>),
    Top(top::TopFlags),
    #[command(subcommand)]
    Env(env::Verb),
    #[command(subcommand)]
    Group(Box<group::Verb>),
    #[command(subcommand)]
    Worker(worker::Verb),
    #[command(subcommand)]
    Dataset(dataset::Verb),
    #[command(subcommand)]
    Model(model::Verb),
    Login(login::LoginFlags),
    Logout(login::LogoutFlags),
    #[command(subcommand)]
    User(user::Verb),
    #[command(subcommand)]
    Token(token::Verb),
    #[command(subcommand)]
    Secret(secret::Verb),
    Audit(audit::AuditFlags),
    #[command(subcommand)]
    Webhook(webhook::Verb),
    Demo(demo::DemoFlags),
    #[command(name = launch::words::NAME)]
    Launch(Box<launch::LaunchFlags>),
    #[command(subcommand, name = "launch")]
    LaunchFiles(launch_files::Verb),
    #[command(subcommand)]
    Slurm(Box<slurm::Verb>),
    SetupCluster(setup_cluster::SetupFlags),
    Quickstart(quickstart::QuickstartFlags),
    Doctor(doctor::DoctorFlags),
    #[command(subcommand)]
    Bench(bench::Verb),
    Scale(Box<scale::ScaleFlags>),
    Plan(Box<plan::PlanFlags>),
    Trainer(trainer::TrainerFlags),
    Completions(completions::CompletionsFlags),
    Man(man::ManFlags),
    #[command(hide = true)]
    Complete(complete::CompleteFlags),
    #[command(hide = true)]
    Recipe(recipe::RecipeFlags),
    #[command(hide = true)]
    Reference,
    #[command(hide = true, name = fermi_agent::PREFLIGHT_COMMAND)]
    PreflightPart,
}

/// What clap has to know to read this command line, with its texts in a language. `fermi run` starts in milliseconds:
/// describing the options of all other commands would take half of the time until its keepers are there, and memory that
/// these inherit.
fn described(arguments: &[OsString], language: Language) -> clap::Command {
    let is_run = arguments.get(1).is_some_and(|word| word == RUN);
    let command = if is_run {
        let run = run::RunFlags::augment_args(clap::Command::new(RUN));
        clap::Command::new(NAME).disable_help_subcommand(true).max_term_width(WIDEST).subcommand(run)
    } else {
        Cli::command()
    };
    let command = match language {
        Language::ZhCn => help::in_chinese(command),
        Language::En => command,
    };
    if is_run { command } else { chapters::arranged(command, language) }
}

/// Reads the command line and does what it says.
pub fn execute(arguments: Vec<OsString>) -> ExitCode {
    // English is read without a table of texts; a page is made again for the reader.
    let command = described(&arguments, Language::En);
    let arguments = spelling::unify(&command, arguments);
    let cli = command.try_get_matches_from(&arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    match cli {
        Ok(Cli { command: Command::Run(flags) }) => run::execute(*flags),
        Ok(Cli { command: Command::Train(flags) }) => train::execute(*flags),
        Ok(Cli { command: Command::Up(flags) }) => up::execute(&flags),
        Ok(Cli { command: Command::Server(flags) }) => server::execute(&flags),
        Ok(Cli { command: Command::Agent(flags) }) => agent::execute(&flags),
        Ok(Cli { command: Command::Demo(flags) }) => demo::execute(&flags),
        Ok(Cli { command: Command::Task(verb) }) => task::execute(&verb),
        Ok(Cli { command: Command::Top(flags) }) => top::execute(&flags),
        Ok(Cli { command: Command::Env(verb) }) => env::execute(&verb),
        Ok(Cli { command: Command::Group(verb) }) => group::execute(&verb),
        Ok(Cli { command: Command::Worker(verb) }) => worker::execute(&verb),
        Ok(Cli { command: Command::Dataset(verb) }) => dataset::execute(&verb),
        Ok(Cli { command: Command::Model(verb) }) => model::execute(&verb),
        Ok(Cli { command: Command::Login(flags) }) => login::log_in(&flags),
        Ok(Cli { command: Command::Logout(flags) }) => login::log_out(&flags),
        Ok(Cli { command: Command::User(verb) }) => user::execute(&verb),
        Ok(Cli { command: Command::Token(verb) }) => token::execute(&verb),
        Ok(Cli { command: Command::Secret(verb) }) => secret::execute(&verb),
        Ok(Cli { command: Command::Audit(flags) }) => audit::execute(&flags),
        Ok(Cli { command: Command::Webhook(verb) }) => webhook::execute(&verb),
        Ok(Cli { command: Command::Launch(flags) }) => launch::execute(&flags),
        Ok(Cli { command: Command::LaunchFiles(verb) }) => launch_files::execute(&verb),
        Ok(Cli { command: Command::Slurm(verb) }) => slurm::execute(&verb),
        Ok(Cli { command: Command::SetupCluster(flags) }) => setup_cluster::execute(&flags),
        Ok(Cli { command: Command::Quickstart(flags) }) => quickstart::execute(&flags),
        Ok(Cli { command: Command::Doctor(flags) }) => doctor::execute(&flags),
        Ok(Cli { command: Command::Bench(verb) }) => bench::execute(&verb),
        Ok(Cli { command: Command::Scale(flags) }) => scale::execute(&flags),
        Ok(Cli { command: Command::Plan(flags) }) => plan::execute(&flags),
        Ok(Cli { command: Command::Trainer(flags) }) => trainer::execute(&flags),
        Ok(Cli { command: Command::Completions(flags) }) => completions::execute(&flags),
        Ok(Cli { command: Command::Man(flags) }) => man::execute(&flags),
        Ok(Cli { command: Command::Complete(flags) }) => complete::execute(&flags),
        Ok(Cli { command: Command::Recipe(flags) }) => recipe::execute(&flags),
        Ok(Cli { command: Command::PreflightPart }) => doctor::part::execute(),
        Ok(Cli { command: Command::Reference }) => reference::execute(),
        Err(error) => {
            usage::refuse(&usage::for_the_reader(error, |language| described(&arguments, language), &arguments))
        }
    }
}

/// A command line as `unify` leaves it, for the tests of those who rewrite it.
#[cfg(test)]
pub fn unified(line: &str, unify: impl Fn(&clap::Command, Vec<OsString>) -> Vec<OsString>) -> String {
    let words = line.split(' ').map(OsString::from).collect();
    let unified = unify(&Cli::command(), words);
    unified.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
