//! `--hook` and `--warm`: what a rank finds is the same with them and without; a parked interpreter becomes the rank at a
//! restart, and where it cannot the rank starts cold, which is said.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Place, Run, eventually, python, script, signal, torch_python};

/// Two ranks of `torch_warm.py`, and the folder in which they write.
fn training(place: &Place, options: &[&str]) -> (Command, PathBuf) {
    training_by(place, options, &script("torch_warm.py"))
}

fn training_by(place: &Place, options: &[&str], script: &Path) -> (Command, PathBuf) {
    let folder = place.path().join("told");
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = place.run(["--json", "-n", "2", "--max-restarts", "3"]);
    command.args(options).env("PYTHON_EXEC", torch_python()).env("GLOO_SOCKET_IFNAME", "lo");
    command.arg(script).arg(&folder);
    (command, folder)
}

fn pid_of(event: &Value) -> i32 {
    i32::try_from(event["pid"].as_i64().unwrap()).unwrap()
}

/// The process that is this rank in this attempt.
fn rank(run: &Run, attempt: u64, rank: u64) -> i32 {
    eventually("the rank has started", || {
        let events = run.events();
        let is_it =
            |event: &&Value| event["event"] == "rank.started" && event["attempt"] == attempt && event["rank"] == rank;
        events.iter().find(is_it).map(pid_of)
    })
}

fn text(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    eventually(name, || std::fs::read_to_string(&path).ok().filter(|text| !text.is_empty()))
}

/// What a rank found, without what differs in every attempt or place.
fn found(folder: &Path, place: &Place, attempt: u32, rank: u32) -> String {
    let mut found: Value = serde_json::from_str(&text(folder, &format!("found-{attempt}-{rank}"))).unwrap();
    let own = |name: &str| found["environ"][name].as_str().unwrap().to_owned();
    let (mark, port) = (own("FERMI_RUN_MARK"), own("MASTER_PORT"));
    found["environ"]["MASTER_PORT"] = Value::from(port.len());
    // The mark of the test, by which its processes are found.
    found["environ"].as_object_mut().unwrap().retain(|name, _| !name.starts_with("FERMI_TEST"));
    serde_json::to_string_pretty(&found)
        .unwrap()
        .replace(&mark, "<run>")
        .replace(place.path().to_str().unwrap(), "<place>")
}

/// What is kept of the start of a rank of the second attempt is what its script has found, beside the traces of the hook.
fn is_recorded_as_found(folder: &Path, place: &Place, rank: usize, is_released: bool) {
    let found: Value = serde_json::from_str(&text(folder, &format!("found-2-{rank}"))).unwrap();
    let record: Value = serde_json::from_str(&place.rank_text(1, 0, "start.json")).unwrap();
    let of_rank = &record["ranks"][rank];
    let given: BTreeMap<&String, &Value> =
        record["env"].as_object().unwrap().iter().chain(of_rank["env"].as_object().unwrap()).collect();
    for (name, value) in &given {
        if !["FERMI_HOOK", "PYTHONPATH"].contains(&name.as_str()) {
            assert_eq!(found["environ"][name.as_str()], **value, "{name}");
        }
    }
    assert!(given.contains_key(&"FERMI_HOOK".to_owned()) && given.len() > 30, "{record:#}");
    assert_eq!(of_rank["isReleased"].as_bool().unwrap_or_default(), is_released, "{record:#}");
}

/// Kills rank 1 when it has saved, lets the second attempt take its steps, and ends the run.
fn killed_once(options: &[&str], parked: usize) -> (String, String, Vec<Value>) {
    let place = Place::new();
    let (mut command, folder) = training(&place, options);
    let run = Run::start(&mut command);
    text(&folder, "losses-1-0");
    run.event_count("rank.parked", parked);
    signal(rank(&run, 1, 1), libc::SIGKILL);
    let losses = format!("{}\n{}", text(&folder, "losses-2-0"), text(&folder, "losses-2-1"));
    std::fs::write(folder.join("end"), "").unwrap();
    let ended = run.ended().expect(0);
    place.assert_empty();
    (0..2).for_each(|rank| is_recorded_as_found(&folder, &place, rank, parked > 0));
    let around = (0..2).map(|rank| found(&folder, &place, 2, rank)).collect::<Vec<_>>().join("\n");
    (around, losses, ended.events())
}

#[test]
fn a_parked_rank_finds_what_a_cold_one_finds_and_computes_the_same() {
    let (cold, cold_losses, events) = killed_once(&["--warm", "off"], 0);
    assert!(events.iter().all(|event| event["event"] != "ranks.released" && event["event"] != "ranks.cold"));
    let (warm, warm_losses, events) = killed_once(&["--warm", "on"], 2);
    let released: Vec<&Value> = events.iter().filter(|event| event["event"] == "ranks.released").collect();
    assert_eq!(released.len(), 1, "{events:?}");
    assert_eq!(released[0]["ranks"], serde_json::json!([0, 1]));
    assert_eq!(warm, cold);
    assert_eq!(warm_losses, cold_losses);
    assert!(events.iter().all(|event| event["event"] != "hook.trouble"), "{events:?}");
}

/// What happens to the parked process of rank 0 is said, and that rank alone starts cold.
fn starts_cold_after(what_happens: i32, reason: &str) {
    let place = Place::new();
    let (mut command, folder) = training(&place, &["--warm", "on"]);
    let run = Run::start(&mut command);
    text(&folder, "losses-1-0");
    let parked = run.event_count("rank.parked", 2);
    let of_rank_0 = parked.iter().find(|event| event["rank"] == 0).unwrap();
    signal(pid_of(of_rank_0), what_happens);
    signal(rank(&run, 1, 1), libc::SIGKILL);
    text(&folder, "losses-2-0");
    std::fs::write(folder.join("end"), "").unwrap();
    let ended = run.ended().expect(0);
    let cold = ended.events_named("ranks.cold");
    assert_eq!(cold.len(), 1, "{cold:?}");
    assert_eq!((&cold[0]["ranks"], &cold[0]["reason"]["kind"]), (&serde_json::json!([0]), &Value::from(reason)));
    assert_eq!(ended.events_named("ranks.released")[0]["ranks"], serde_json::json!([1]));
    place.assert_empty();
}

#[test]
fn a_parked_process_that_was_killed_is_said_and_its_rank_starts_cold() {
    starts_cold_after(libc::SIGKILL, "parkedEnded");
}

#[test]
fn a_parked_process_that_is_stopped_is_said_and_its_rank_starts_cold() {
    starts_cold_after(libc::SIGSTOP, "parkedStopped");
}

/// Kills rank 1 of two warm ones that begin with these lines; the answer is what was told of the sweep.
fn swept_after(first_lines: &str) -> Value {
    let place = Place::new();
    let begins = format!("import os, runpy, sys\nfolder = sys.argv[1]\n{first_lines}\n");
    let goes_on = format!("runpy.run_path({:?}, run_name='__main__')\n", script("torch_warm.py").display().to_string());
    let holds = place.file("holds.py", format!("{begins}{goes_on}"));
    let (mut command, folder) = training_by(&place, &["--warm", "on"], &holds);
    let run = Run::start(&mut command);
    text(&folder, "losses-1-0");
    run.event_count("rank.parked", 2);
    signal(rank(&run, 1, 1), libc::SIGKILL);
    text(&folder, "losses-2-0");
    std::fs::write(folder.join("end"), "").unwrap();
    let ended = run.ended().expect(0);
    assert_eq!(ended.events_named("ranks.released")[0]["ranks"], serde_json::json!([0, 1]));
    place.assert_empty();
    ended.events_named("attempt.swept").first().cloned().unwrap_or_default()
}

#[test]
fn the_next_attempt_begins_while_the_kernel_still_frees_the_memory_of_the_last() {
    let swept = swept_after("");
    assert!(swept["freeing"].as_array().is_some_and(|pids| !pids.is_empty()), "{swept}");
    assert!(swept["kept"].is_null() && swept["killed"] == 0, "{swept}");
}

#[test]
fn a_lock_that_a_dead_rank_still_holds_is_waited_for() {
    let lock = "import fcntl\nheld = open(folder + '/lock-' + os.environ['RANK'], 'w')\n\
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)";
    let swept = swept_after(lock);
    assert!(swept["freeing"].is_null(), "{swept}");
    assert_eq!(swept["kept"]["kind"], "lock", "{swept}");
}

#[test]
fn nothing_parked_outlives_its_supervisor() {
    let place = Place::new();
    let (mut command, folder) = training(&place, &["--warm", "on"]);
    let run = Run::start(&mut command);
    text(&folder, "losses-1-0");
    let supervisor = run.event("run.started")["supervisorPid"].as_i64().unwrap();
    run.event_count("rank.parked", 2);
    signal(i32::try_from(supervisor).unwrap(), libc::SIGKILL);
    assert_ne!(run.ended().code(), Some(0));
    eventually("nothing lives", || place.alive().is_empty().then_some(()));
}

const TELLS: &str = "\
import os, sys
print('hooked', any(type(finder).__name__ == 'Imports' for finder in sys.meta_path))
print('own', getattr(sys.modules.get('sitecustomize'), 'WHOSE', None))
print('path', os.environ.get('PYTHONPATH'), [entry for entry in sys.path if 'hook' in entry])
print('left', [name for name in os.environ if 'HOOK' in name])
os.system(sys.executable + ' -c \"import sys; print(\\'child\\', len([f for f in sys.meta_path if type(f).__name__ == \\'Imports\\']))\"')
";

#[test]
fn the_hook_leaves_no_trace_in_the_environment_and_gives_way_to_the_users_own() {
    for (options, hooked) in [(&["-n", "1"][..], "True"), (&["-n", "1", "--hook", "off"], "False")] {
        let place = Place::new();
        let own = place.work().join("own");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("sitecustomize.py"), "WHOSE = 'the user'\n").unwrap();
        let mut command = place.run(options);
        command.env("PYTHON_EXEC", python()).env("PYTHONPATH", &own).arg(place.file("tells.py", TELLS));
        let ended = Run::whole(&mut command).expect(0);
        let told = format!("hooked {hooked}\nown the user\npath {} []\nleft []\nchild 0\n", own.display());
        assert_eq!(ended.out(), told, "{options:?}");
    }
}

#[test]
fn the_hook_is_compiled_once_even_where_python_writes_no_bytecode() {
    let place = Place::new();
    let script = place.file("says.py", "import sys\nprint(sys.dont_write_bytecode)\n");
    let mut command = place.run(["-n", "1"]);
    command.env("PYTHON_EXEC", python()).env("PYTHONDONTWRITEBYTECODE", "1").arg(&script);
    assert_eq!(Run::whole(&mut command).expect(0).out(), "True\n", "the script finds what the user has set");
    let folder = std::fs::read_dir(place.state().join("hook")).unwrap().next().unwrap().unwrap().path();
    let kept = std::fs::read_dir(folder.join("__pycache__")).unwrap().map(|entry| entry.unwrap().file_name());
    let kept: Vec<String> = kept.map(|name| name.into_string().unwrap()).collect();
    assert!(kept.iter().any(|name| name.starts_with("sitecustomize.")), "{kept:?}");
}

#[test]
fn a_hook_that_is_broken_is_not_the_reason_that_a_training_stops() {
    let place = Place::new();
    let script = place.file("says.py", "print('trained')\n");
    Run::whole(place.run(["-n", "1"]).env("PYTHON_EXEC", python()).arg(&script)).expect(0);
    let folder = std::fs::read_dir(place.state().join("hook")).unwrap().next().unwrap().unwrap().path();
    // Written anew by a start, so it is the folder itself that is in the way.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "").unwrap();
    let ended = Run::whole(place.run(["-n", "1"]).env("PYTHON_EXEC", python()).arg(&script)).expect(0);
    assert_eq!(ended.out(), "trained\n");
    let ended = Run::whole(place.run(["-n", "1", "--warm", "on"]).env("PYTHON_EXEC", python()).arg(&script));
    ended.expect(2).says(&["cannot write to"]);
}
