//! Other launchers as they are installed: every option that their help lists is in the table of `fermi run`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{self, Place, Run};

/// The options of one launcher in the table, with two hyphens and without underscores.
fn in_the_table(launcher: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/launchers.txt");
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix(&format!("{launcher} | ")));
    let options = rows.flat_map(|row| row.split(" | ").next().unwrap().split(", "));
    options.map(|option| option.split_whitespace().next().unwrap().to_owned()).collect()
}

/// The options at the beginning of the lines of a help page.
fn listed(page: &str) -> BTreeSet<String> {
    let lines = page.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let head = |line: &str| line.split("  ").next().unwrap_or_default().to_owned();
    let words = lines.flat_map(|line| head(line).split([',', '|', ' ']).map(str::to_owned).collect::<Vec<_>>());
    let is_option = |word: &String| {
        word.starts_with('-') && word.trim_start_matches('-').starts_with(|letter: char| letter.is_ascii_alphabetic())
    };
    words.filter(is_option).map(|word| word.split('=').next().unwrap().replace('_', "-")).collect()
}

/// What is listed and not in the table, in whatever spelling.
fn forgotten(launcher: &str, page: &str) -> Vec<String> {
    let known = in_the_table(launcher);
    let is_known = |word: &String| {
        let long = if word.starts_with("--") || word.len() == 2 { word.clone() } else { format!("-{word}") };
        known.contains(word) || known.contains(&long)
    };
    let listed = listed(page);
    assert!(listed.len() > 5, "{launcher} lists nothing: {page}");
    listed.into_iter().filter(|word| !is_known(word)).collect()
}

/// The help of a launcher that is a Python program.
fn page_of(module: &str) -> String {
    let place = Place::new();
    let mut command: Command = place.program(support::torch_python());
    let call = format!("import sys; sys.argv = ['x', '--help']; from {module} import main; main()");
    Run::whole(command.args(["-c", &call]).env("COLUMNS", "200")).expect(0).out()
}

#[test]
fn no_option_of_torchrun_is_forgotten() {
    assert_eq!(forgotten("torchrun", &page_of("torch.distributed.run")), [""; 0]);
}

#[test]
fn no_option_of_deepspeed_is_forgotten() {
    if !support::is_left_out("deepspeed") {
        assert_eq!(forgotten("deepspeed", &page_of("deepspeed.launcher.runner")), [""; 0]);
    }
}

#[test]
fn no_option_of_accelerate_is_forgotten() {
    assert_eq!(forgotten("accelerate", &page_of("accelerate.commands.launch")), [""; 0]);
}

#[test]
fn no_option_of_mpirun_is_forgotten() {
    if support::is_left_out("mpirun") {
        return;
    }
    let place = Place::new();
    let mut pages = String::new();
    for part in
        ["general", "output", "input", "mapping", "ranking", "binding", "launch", "debug", "dvm", "compatibility"]
    {
        let mut command = place.program("mpirun");
        pages += &Run::whole(command.args(["--allow-run-as-root", "--help", part])).expect(0).out();
    }
    assert_eq!(forgotten("mpirun", &pages), [""; 0]);
}
