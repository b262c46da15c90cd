//! `fermi completions SHELL`.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::speech;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "For bash: fermi completions bash > ~/.local/share/bash-completion/completions/fermi")]
pub struct CompletionsFlags {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

pub fn execute(flags: &CompletionsFlags) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut super::Cli::command(), "fermi", &mut script);
    speech::print(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
