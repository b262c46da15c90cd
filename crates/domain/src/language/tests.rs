//! Domain sentences are read on the command line, through the API and on pages, so they name no flag of one of these.

use std::fs;
use std::path::{Path, PathBuf};

/// What the command line alone says, and where settings get their names.
const COMMAND_LINE_ONLY: [&str; 9] = [
    // Flags with which operators start a server or an agent; there is no other way to set these.
    "access/oidc/problem.rs",
    "access/run_as.rs",
    "language/setting.rs",
    "messages/launch.rs",
    "messages/quickstart.rs",
    "messages/run/told.rs",
    "messages/setup_cluster.rs",
    "messages/slurm.rs",
    "slurm/script.rs",
];

/// Flags of other programs, which an advice may tell to use.
const OF_OTHER_PROGRAMS: [&str; 15] = [
    "--add-port",
    "--epochs",
    "--force-reinstall",
    "--gpu-reset",
    "--gpus",
    "--help",
    "--index-url",
    "--ipc",
    "--list-all",
    "--no-build-isolation",
    "--no-cache-dir",
    "--no-deps",
    "--pid",
    "--shm-size",
    "--ulimit",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The flags in a file, without those in comments and tests.
fn flags(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    lines
        .flat_map(|line| line.match_indices("--").map(|(at, _)| &line[at..]).collect::<Vec<_>>())
        .map(|rest| rest.chars().take_while(|letter| is_part(*letter)).collect::<String>())
        .filter(|flag| flag.len() > 2 && flag.as_bytes()[2].is_ascii_lowercase())
        .collect()
}

#[test]
fn no_sentence_names_a_flag_unless_the_command_line_alone_says_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 50, "the sources were not found");
    let mut wrong = Vec::new();
    for path in files {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        if COMMAND_LINE_ONLY.contains(&name.as_str()) {
            continue;
        }
        let found = flags(&fs::read_to_string(&path).unwrap());
        let ours = found.into_iter().filter(|flag| !OF_OTHER_PROGRAMS.contains(&flag.as_str()) && flag != "--version");
        wrong.extend(ours.map(|flag| format!("{name}: {flag}")));
    }
    assert!(wrong.is_empty(), "name a Setting instead of a flag:\n{}", wrong.join("\n"));
}

#[test]
fn the_files_that_the_command_line_alone_says_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for name in COMMAND_LINE_ONLY {
        assert!(root.join(name).is_file(), "{name}");
    }
}
