//! Ranks that hang are named, with the line at which they stand; those that work are not. Where the time has gone is told
//! at the end.

mod nodes;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::engines::job::free_port;
use crate::support::{Place, Run, eventually, script, signal, torch_python};

/// Ranks of `torch_hang.py`, and the folder by which they are told what to do.
fn training(place: &Place, options: &[&str], how: &[&str]) -> (Command, PathBuf) {
    let folder = place.path().join("told");
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = place.run(["--json", "--shutdown-timeout", "0.1"]);
    command.args(options).env("PYTHON_EXEC", torch_python()).env("GLOO_SOCKET_IFNAME", "lo");
    command.arg(script("torch_hang.py")).arg(&folder).args(how);
    (command, folder)
}

fn events(run: &Run, name: &str) -> Vec<Value> {
    run.events().into_iter().filter(|event| event["event"] == name).collect()
}

/// The first verdict of this kind on these ranks; what a busy machine makes of others meanwhile is none of it.
fn verdict(run: &Run, kind: &str, ranks: &Value) -> Value {
    eventually(&format!("a verdict {kind} on {ranks}"), || {
        events(run, "hang.verdict").into_iter().find(|event| event["kind"] == kind && event["ranks"] == *ranks)
    })
}

/// Waits until things have moved again since then.
fn passed(run: &Run, verdict: &Value) {
    let then = verdict["timeMs"].as_u64();
    eventually("things move again", || {
        events(run, "hang.passed").into_iter().find(|event| event["timeMs"].as_u64() >= then).map(drop)
    });
}

fn ms(account: &Value, cause: &str) -> u64 {
    let causes = account["causes"].as_array().unwrap();
    causes.iter().find(|time| time["cause"] == cause).map_or(0, |time| time["ms"].as_u64().unwrap())
}

fn text(event: &Value) -> &str {
    event["text"]["en"].as_str().unwrap()
}

/// What is usual is known by the last steps after this, and no longer by those around a save or a stop.
pub(crate) fn await_many_more_steps(folder: &Path) {
    let steps = || std::fs::read_to_string(folder.join("steps")).ok()?.parse::<u32>().ok();
    let many = eventually("a first step", steps) + 120;
    eventually("many more steps", || steps().filter(|steps| *steps >= many));
}

#[test]
fn a_save_is_no_hang_a_stopped_rank_and_a_late_one_are_and_the_time_of_all_is_told() {
    let place = Place::new();
    let (mut command, folder) = training(&place, &["-n", "2"], &[]);
    let run = Run::start(&mut command);
    eventually("the slow checkpoint is written", || folder.join("saved").exists().then_some(()));
    let named = |event: &&Value| event["ranks"] == serde_json::json!([0]);
    assert_eq!(events(&run, "hang.verdict").iter().find(named), None, "of a rank that saves");

    let started = run.event_count("rank.started", 2);
    let rank_1 = started.iter().find(|event| event["rank"] == 1).unwrap()["pid"].as_i64().unwrap();
    let rank_1 = i32::try_from(rank_1).unwrap();
    signal(rank_1, libc::SIGSTOP);
    let stopped = verdict(&run, "stopped", &serde_json::json!([1]));
    signal(rank_1, libc::SIGCONT);
    assert!(text(&stopped).contains(&format!("process {rank_1}")), "{stopped}");
    passed(&run, &stopped);

    await_many_more_steps(&folder);
    std::fs::write(folder.join("late"), "").unwrap();
    let late = verdict(&run, "notEntered", &serde_json::json!([1]));
    std::fs::remove_file(folder.join("late")).unwrap();
    assert_eq!(late["place"]["function"], "comes_late", "{late}");
    assert!(text(&late).contains("has not entered all_reduce #"), "{late}");
    assert!(text(&late).contains("torch_hang.py:"), "{late}");
    assert_eq!(late["stacks"].as_array().unwrap().len(), 2, "{late}");
    let kept = std::fs::read_to_string(late["evidence"].as_str().unwrap()).unwrap();
    assert!(kept.contains("comes_late") && kept.contains("== rank 0"), "{kept}");
    let waited = late["timeMs"].as_u64().unwrap() - late["sinceMs"].as_u64().unwrap();
    assert!(waited < 10_000, "{waited} ms");
    passed(&run, &late);

    std::fs::write(folder.join("end"), "").unwrap();
    let ended = run.ended().expect(0);
    let ledger = ended.events_named("run.ledger").remove(0);
    assert!(ms(&ledger, "slowRank") >= waited, "{ledger}");
    assert!(ms(&ledger, "checkpointStall") >= 4_000, "{ledger}");
    assert!(ms(&ledger, "productive") > 0 && ms(&ledger, "import") > 0, "{ledger}");
    let causes = ledger["causes"].as_array().unwrap();
    let sum: u64 = causes.iter().map(|time| time["ms"].as_u64().unwrap()).sum();
    assert_eq!(sum, ledger["wallMs"].as_u64().unwrap());
    place.assert_empty();
}

#[test]
fn ranks_in_different_collectives_are_named_with_their_lines() {
    let place = Place::new();
    let (mut command, _) = training(&place, &["-n", "2"], &["mismatch"]);
    let run = Run::start(&mut command);
    let verdict = run.event("hang.verdict");
    assert_eq!(verdict["kind"], "mismatched", "{verdict}");
    assert!(text(&verdict).contains("rank 0 all_reduce, rank 1 broadcast"), "{verdict}");
    let stacks = verdict["stacks"].to_string();
    assert!(stacks.contains("takes_another_turn"), "{stacks}");
    run.signal(libc::SIGTERM);
    run.ended();
    place.assert_empty();
}

#[test]
fn of_several_process_groups_the_one_is_named_in_which_a_rank_is_behind() {
    let place = Place::new();
    let folder = place.path().join("told");
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = place.run(["--json", "-n", "4", "--shutdown-timeout", "0.1"]);
    command.env("PYTHON_EXEC", torch_python()).env("GLOO_SOCKET_IFNAME", "lo");
    command.arg(script("torch_faults.py")).arg(&folder).args(["oneTooMany", "0"]);
    let run = Run::start(&mut command);
    // The other group has made three times as many collectives, and stands as the rest waits.
    let verdict = verdict(&run, "notEntered", &serde_json::json!([0]));
    let said = text(&verdict);
    assert!(said.contains("rank 0 has not entered all_reduce #"), "{verdict}");
    assert!(said.contains("of the default group for ") && said.contains("and 3 others wait in it"), "{verdict}");
    assert!(
        said.contains("rank 0 itself waits in all_reduce #") && said.contains("of group 1 (ranks 0, 1)"),
        "{verdict}"
    );
    run.signal(libc::SIGTERM);
    run.ended();
    place.assert_empty();
}

#[test]
fn a_rank_that_returns_early_is_the_cause_and_not_the_connections_that_break_by_it() {
    let place = Place::new();
    let folder = place.path().join("told");
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = place.run(["--json", "-n", "3"]);
    command.env("PYTHON_EXEC", torch_python()).env("GLOO_SOCKET_IFNAME", "lo");
    command.arg(script("torch_faults.py")).arg(&folder).args(["earlyReturn", "1"]);
    let ended = Run::whole(&mut command).expect(1);
    let failed = ended.events_named("attempt.failed").remove(0);
    let verdict = &failed["verdict"];
    let named = (&verdict["diagnosis"]["id"], &verdict["first"]["rank"], &verdict["others"][0]["role"]);
    assert_eq!(named, (&"early_return".into(), &1.into(), &"victim".into()), "{failed}");
    let cause = verdict["diagnosis"]["cause"]["en"].as_str().unwrap();
    assert!(cause.starts_with("rank 1 returned (exit code 0) while 2 other ranks still waited for it in all_reduce #"));
    assert!(cause.contains("it was last seen at torch_faults.py:"), "{cause}");
    place.assert_empty();
}

#[test]
fn a_hang_ends_the_attempt_where_that_is_asked_for_with_its_cause() {
    let place = Place::new();
    let options = ["-n", "2", "--on-hang", "restart", "--hang-after", "3", "--max-restarts", "1"];
    let (mut command, _) = training(&place, &options, &["gil"]);
    let ended = Run::whole(&mut command).expect(0);
    let verdict = ended.events_named("hang.verdict").remove(0);
    assert_eq!((&verdict["ranks"], &verdict["place"]["function"]), (&serde_json::json!([1]), &"holds_the_lock".into()));
    assert!(text(&verdict).contains("native code holds the GIL"), "{verdict}");
    let failed = ended.events_named("attempt.failed").remove(0);
    assert_eq!(failed["verdict"]["diagnosis"]["id"], "hang", "{failed}");
    assert_eq!(failed["verdict"]["first"]["rank"], 1, "{failed}");
    let ledger = ended.events_named("run.ledger").remove(0);
    assert!(ms(&ledger, "hang") >= 2_000, "{ledger}");
    place.assert_empty();
}

#[test]
fn a_rank_for_which_another_node_waits_is_named_at_the_first_node() {
    let places = [Place::new(), Place::new()];
    let port = free_port();
    let mut folders = Vec::new();
    let runs = [0, 1].map(|node| {
        let rank = node.to_string();
        let options =
            ["-n", "1", "--nnodes", "2", "--node-rank", &rank, "--master-addr", "127.0.0.1", "--master-port", &port];
        let (mut command, folder) = training(&places[node], &options, &[]);
        folders.push(folder);
        Run::start(&mut command)
    });
    eventually("the slow checkpoint is written", || folders[0].join("saved").exists().then_some(()));
    await_many_more_steps(&folders[0]);
    std::fs::write(folders[1].join("late"), "").unwrap();
    let late = verdict(&runs[0], "notEntered", &serde_json::json!([1]));
    assert_eq!(late["place"]["function"], "comes_late", "{late}");
    std::fs::remove_file(folders[1].join("late")).unwrap();
    passed(&runs[0], &late);
    std::fs::write(folders[0].join("end"), "").unwrap();
    let told = runs.map(|run| run.ended().expect(0).events_named("hang.verdict"));
    let of_rank_1 = |verdicts: &[Value]| verdicts.iter().filter(|it| it["ranks"] == serde_json::json!([1])).count();
    assert_eq!(
        of_rank_1(&told[0]),
        of_rank_1(&told[1]),
        "what the second node finds is told at the first, once: {told:?}"
    );
}
