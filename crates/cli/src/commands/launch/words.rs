//! Sorts the command line: options of the launch, options that are for `fermi run` on the hosts, and the words.
//!
//! `fermi launch-multi-node MASTER NODES GPUS [options] SCRIPT …` has words before its options, and takes options of two
//! commands in any order. What follows the script's name is the script's and stays as it is.

use std::ffi::OsString;

use clap::Command;

use crate::commands::run::spellings::Given;

pub const NAME: &str = "launch-multi-node";
pub const NAMES: [&str; 2] = [NAME, "launch_multi_node"];
/// MASTER NODES GPUS.
const WORDS: usize = 3;

/// Rewrites the command line of a launch so that clap can read it.
pub fn unify(cli: &Command, arguments: Vec<OsString>) -> Vec<OsString> {
    let (Some(launch), Some(run)) = (cli.find_subcommand(NAME), cli.find_subcommand("run")) else {
        return arguments;
    };
    let mut unified: Vec<OsString> = arguments.iter().take(1).cloned().chain([NAME.into()]).collect();
    let mut words: Vec<OsString> = Vec::new();
    let mut rest = arguments.into_iter().skip(2);
    while let Some(word) = rest.next() {
        let option = word.to_str().filter(|text| text.starts_with('-') && text.len() > 1 && *text != "--");
        let Some(option) = option.map(Given::read) else {
            if word == "--" && words.len() < WORDS {
                continue;
            }
            words.push(word);
            if words.len() > WORDS {
                break;
            }
            continue;
        };
        let ours = option.clone().parted(launch);
        let theirs = option.parted(run);
        let (option, command) = match ours.argument_of(launch) {
            None if theirs.is_known_to(run) => (theirs, run),
            _ => (ours, launch),
        };
        let value = match &option.value {
            None if option.takes_value(command) => rest.next(),
            value => value.clone().map(OsString::from),
        };
        let is_theirs = std::ptr::eq(command, run);
        for word in option.spelled_our_way(value) {
            unified.push(if is_theirs { passed_on(&word) } else { word });
        }
    }
    unified.push("--".into());
    unified.extend(words);
    unified.extend(rest);
    // `-h` and a bare command are for clap to answer.
    if unified.last().is_some_and(|word| word == "--") {
        unified.pop();
    }
    unified
}

fn passed_on(word: &OsString) -> OsString {
    let mut option = OsString::from("--run-option=");
    option.push(word);
    option
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unified(line: &str) -> String {
        crate::commands::unified(line, unify)
    }

    #[test]
    fn options_of_both_commands_may_stand_anywhere_before_the_script() {
        assert_eq!(
            unified(
                "fermi launch-multi-node --hostfile h gn6 2 4 --max_restarts 3 -x A=1 --copy_binary train.py --hostfile x"
            ),
            "fermi launch-multi-node --hostfile=h --run-option=--max-restarts=3 -x A=1 --copy-binary -- gn6 2 4 train.py --hostfile x"
        );
    }

    #[test]
    fn short_options_of_fermi_run_keep_their_values() {
        assert_eq!(
            unified("fermi launch_multi_node gn6 2 4 -t3 -m pkg.train -m 1"),
            "fermi launch-multi-node --run-option=-t --run-option=3 --run-option=-m -- gn6 2 4 pkg.train -m 1"
        );
    }

    #[test]
    fn an_unknown_option_is_left_for_clap_to_refuse() {
        assert_eq!(
            unified("fermi launch_multi_node gn6 2 4 --nope t.py"),
            "fermi launch-multi-node --nope -- gn6 2 4 t.py"
        );
    }
}
