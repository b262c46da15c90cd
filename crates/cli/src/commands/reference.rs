//! `fermi reference`, hidden: docs/reference/cli.md, from the same definition that reads the command line.

use std::process::ExitCode;

use clap::{Command, CommandFactory};
use fermi_domain::language::Language;

use super::chapters;
use crate::speech;

const WIDTH: usize = 100;

pub fn execute() -> ExitCode {
    let mut root = chapters::arranged(super::Cli::command(), Language::En).term_width(WIDTH);
    // Gives every command its whole name and what it inherits.
    root.build();
    let mut page = String::from("# Command line\n\nWritten by `make docs` from the built binary; do not edit.\n");
    write(&mut root, "fermi", &mut page);
    speech::print(&page);
    ExitCode::SUCCESS
}

/// The help of a command as `-h` prints it, then those of the commands below, without hidden ones.
fn write(command: &mut Command, name: &str, page: &mut String) {
    let help = command.render_help();
    page.push_str(&format!("\n## {name}\n\n```text\n{help}```\n"));
    for below in command.get_subcommands_mut().filter(|below| !below.is_hide_set()) {
        let name = format!("{name} {}", below.get_name());
        write(below, &name, page);
    }
}
