//! What sentences say of the command line is true of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clap::CommandFactory;
use fermi_domain::language::{FrontEnd, Language, Setting};
use fermi_planner::catalogue::Catalogue;

use super::{Cli, described};

/// The flags of a command, those of all commands below it, and their other names.
fn flags(command: &clap::Command) -> BTreeSet<String> {
    let own = command.get_arguments().flat_map(|argument| {
        let long = argument.get_long().into_iter();
        long.chain(argument.get_all_aliases().unwrap_or_default()).map(|name| format!("--{name}")).collect::<Vec<_>>()
    });
    own.chain(command.get_subcommands().flat_map(flags)).collect()
}

#[test]
fn every_setting_is_called_by_a_flag_of_fermi_run_or_task_create() {
    let cli = Cli::command();
    let mut run = flags(cli.find_subcommand("run").unwrap());
    run.extend(flags(cli.find_subcommand("task").unwrap().find_subcommand("create").unwrap()));
    for setting in Setting::ALL {
        for language in Language::ALL {
            let flag = setting.spelled(FrontEnd::CommandLine, language);
            assert!(run.contains(&*flag), "{setting:?} is called {flag}");
        }
    }
}

#[test]
fn every_flag_that_the_command_lines_own_sentences_name_exists() {
    let of_slurm = ["--distribution", "--kill-on-bad-exit", "--ntasks-per-node"];
    let known = flags(&Cli::command());
    let messages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../domain/src/messages");
    for name in ["run/told.rs", "slurm.rs", "launch.rs", "setup_cluster.rs", "quickstart.rs"] {
        let text = fs::read_to_string(messages.join(name)).unwrap();
        let sentences = text.split("#[cfg(test)]").next().unwrap();
        for (at, _) in sentences.match_indices("--") {
            let rest = &sentences[at..];
            let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
            let flag = rest[..end].trim_end_matches('-');
            if flag.len() > 2 && !["--help", "--version"].contains(&flag) {
                assert!(known.contains(flag) || of_slurm.contains(&flag), "{name} names {flag}");
            }
        }
    }
}

/// A card that is declared without its memory has the same in the planner; the planner knows more cards.
#[test]
fn a_declared_gpu_has_the_memory_that_the_planner_expects() {
    // Its four GPUs are for desktops; the planner has no numbers for it.
    const NOT_FOR_TRAINING: &str = "A16";
    let catalogue = Catalogue::builtin();
    for (model, gib) in fermi_agent::KNOWN_GPUS.iter().filter(|(model, _)| *model != NOT_FOR_TRAINING) {
        let gpu = catalogue.gpu(model, None).unwrap_or_else(|error| panic!("{model}: {error}"));
        assert_eq!(gpu.memory_gib, *gib as f64, "{model}");
    }
}

#[test]
fn run_alone_is_described_as_it_is_among_all_commands() {
    let help = |mut cli: clap::Command| {
        cli.build();
        cli.find_subcommand_mut("run").unwrap().render_long_help().to_string()
    };
    let words = ["fermi", "run", "train.py"].map(Into::into);
    assert_eq!(described(&words, Language::En).get_subcommands().count(), 1);
    assert_eq!(help(described(&words, Language::En)), help(Cli::command()));
}
