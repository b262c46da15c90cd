//! What stands between a start and the first line of its slowest rank: nothing that can wait. The room for journal, result and exit
//! records cannot: a rank may fill the disk at once.

use std::collections::BTreeSet;
use std::fs;

use crate::support::{Place, Run, is_left_out};

const RANKS: usize = 4;

/// The first quoted text of a line.
fn quoted(line: &str) -> &str {
    line.split('"').nth(1).unwrap_or_default()
}

#[test]
fn until_all_ranks_are_forked_only_folders_and_records_are_made_and_no_thread_is_started() {
    if is_left_out("strace") {
        return;
    }
    let place = Place::new();
    let trace = place.path().join("trace");
    let mut command = place.program("strace");
    command.args(["-f", "-s", "4096", "-e", "trace=clone,clone3,fork,vfork,execve,mkdir,openat", "-o"]).arg(&trace);
    command.args([
        env!("CARGO_BIN_EXE_fermi"),
        "run",
        "-n",
        &RANKS.to_string(),
        "--store",
        "fermi",
        "--no-python",
        "true",
    ]);
    Run::whole(&mut command).expect(0);

    let text = fs::read_to_string(&trace).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let is_rank = |line: &&&str| line.contains("execve(") && quoted(line).ends_with("/true");
    let ranks: BTreeSet<&str> =
        lines.iter().filter(is_rank).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(ranks.len(), RANKS, "{text}");
    let forked = |pid: &&str| lines.iter().position(|line| line.ends_with(&format!(" = {pid}"))).unwrap();
    let until = ranks.iter().map(forked).max().unwrap();

    let is_made = |line: &&&str| line.contains("mkdir(") || line.contains("openat(") && line.contains("O_CREAT");
    let run = place.run_folder();
    let made = lines[..until].iter().filter(is_made).map(|line| quoted(line));
    let mut made: Vec<&str> = made.filter_map(|path| path.strip_prefix(run.to_str().unwrap())).collect();
    made.sort_unstable();
    made.dedup();
    let folders = (0..RANKS).map(|rank| format!("/attempt_0/{rank}"));
    let mut expected: Vec<String> = folders.collect();
    expected.extend((0..RANKS).map(|rank| format!("/attempt_0/{rank}/.exit.json.new")));
    let of_run = ["", "/attempt_0", "/journal.ndjson", "/outputs", "/outputs/checkpoints", "/result.json"];
    expected.extend(of_run.map(str::to_owned));
    expected.sort_unstable();
    assert_eq!(made, expected);
    let threads: Vec<&&str> = lines[..until].iter().filter(|line| line.contains("CLONE_THREAD")).collect();
    assert!(threads.is_empty(), "{threads:#?}");
    // All of it is made in time for whoever looks.
    for name in ["result.json", "attempt_0/0/exit.json", "attempt_0/0/stdout.log", "attempt_0/3/stderr.log"] {
        assert!(run.join(name).is_file(), "{name}");
    }
}
