//! Brings a command line to the one spelling that clap reads. Only here is looked which command it is.

use std::ffi::OsString;

use clap::Command;

use super::{doctor, launch, run, setup_cluster};

/// Rewrites the words of a command that other launchers or the scripts that it replaces spell in their own way.
pub fn unify(cli: &Command, arguments: Vec<OsString>) -> Vec<OsString> {
    match arguments.get(1).and_then(|word| word.to_str()) {
        Some("run") => run::spellings::unify(cli, arguments),
        Some(name) if launch::words::NAMES.contains(&name) => launch::words::unify(cli, arguments),
        Some(setup_cluster::NAME | doctor::NAME | "plan" | "bench" | "scale" | "train") => hyphenated(arguments),
        _ => arguments,
    }
}

/// `--master_addr` is `--master-addr`; a value behind `=` stays as it is, and so does what follows `--`.
fn hyphenated(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    let rest = arguments.split_off(end);
    let option = |word: OsString| match word.to_str().filter(|text| text.starts_with("--")) {
        Some(text) => {
            let (name, value) = text.split_at(text.find('=').unwrap_or(text.len()));
            OsString::from(name.replace('_', "-") + value)
        }
        None => word,
    };
    arguments.into_iter().map(option).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn each_command_has_its_own_rewriter_and_the_others_have_none() {
        for (given, expected) in [
            ("fermi run --hostfile x", "fermi run --hostfile x"),
            ("fermi scale --results_dir a_b -- t.py --my_flag", "fermi scale --results-dir a_b -- t.py --my_flag"),
            ("fermi run --max_restarts 3 a_b.py --c_d", "fermi run --max-restarts=3 a_b.py --c_d"),
            ("fermi launch_multi_node gn6 2 4 t.py", "fermi launch-multi-node -- gn6 2 4 t.py"),
            ("fermi setup-cluster --master_addr=a_b", "fermi setup-cluster --master-addr=a_b"),
            ("fermi plan --gpu_memory 8 a_b", "fermi plan --gpu-memory 8 a_b"),
            ("fermi train --nproc_per_node 2 --set a_b=1", "fermi train --nproc-per-node 2 --set a_b=1"),
            ("fermi task list --a_b", "fermi task list --a_b"),
            ("fermi", "fermi"),
        ] {
            let words = given.split(' ').map(OsString::from).collect();
            let unified = unify(&crate::commands::Cli::command(), words);
            let unified: Vec<_> = unified.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(unified.join(" "), expected);
        }
    }
}
