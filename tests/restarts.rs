//! What follows a failed attempt: another one, later, or none, and each time the reason.

use std::fs;

use crate::support::{self, Ended, Place, Run, host_name, script};
use serde_json::Value;

/// Writes down who it is, and fails in all attempts before the one that is named.
const ATTEMPTS: &str = "\
import json, os, sys, time
names = ['TORCHELASTIC_RESTART_COUNT', 'TORCHELASTIC_MAX_RESTARTS', 'FERMI_ATTEMPT', 'FERMI_RESUME', 'FERMI_CHECKPOINT_DIR',
         'TORCHELASTIC_RUN_ID', 'MASTER_PORT']
with open('seen-' + os.environ['RANK'], 'a') as file:
    file.write(json.dumps({name: os.environ.get(name) for name in names}) + '\\n')
def lines(rank): return open(f'seen-{rank}').read().count('\\n') if os.path.exists(f'seen-{rank}') else 0
# Nobody ends before all have written: the first that fails has the others stopped.
while min(lines(0), lines(1)) < int(os.environ['FERMI_ATTEMPT']): time.sleep(0.005)
if 'progress' in sys.argv:
    with open(os.environ['FERMI_PROGRESS_FILE'], 'a') as file: file.write('{\"time\": 1.5, \"step\": 1}\\n')
sys.exit(0 if int(os.environ['FERMI_ATTEMPT']) >= int(sys.argv[1]) else 3)
";

fn attempts(place: &Place, options: &[&str], arguments: &[&str]) -> Ended {
    let script = place.file("attempts.py", ATTEMPTS);
    Run::whole(place.run(["-n", "2"]).args(options).arg(script).args(arguments))
}

/// What a rank wrote down in each attempt.
fn seen(place: &Place, rank: u32, name: &str) -> Vec<Option<String>> {
    let text = fs::read_to_string(place.work().join(format!("seen-{rank}"))).unwrap();
    text.lines()
        .map(|line| {
            let all: Value = serde_json::from_str(line).unwrap();
            all[name].as_str().map(str::to_owned)
        })
        .collect()
}

fn texts(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|value| Some((*value).to_owned())).collect()
}

#[test]
fn every_attempt_knows_its_number_and_has_a_folder_of_its_own() {
    let place = Place::new();
    attempts(&place, &["--max-restarts", "2"], &["3"]).expect(0);
    // Two ranks fail in each attempt; that costs one restart, not two, and both are started anew.
    let rank = 1;
    assert_eq!(seen(&place, rank, "TORCHELASTIC_RESTART_COUNT"), texts(&["0", "1", "2"]));
    assert_eq!(seen(&place, rank, "TORCHELASTIC_MAX_RESTARTS"), texts(&["2", "2", "2"]));
    assert_eq!(seen(&place, rank, "FERMI_ATTEMPT"), texts(&["1", "2", "3"]));
    assert_eq!(seen(&place, rank, "FERMI_RESUME"), [vec![None], texts(&["1", "1"])].concat());
    for same in ["FERMI_CHECKPOINT_DIR", "TORCHELASTIC_RUN_ID"] {
        let values = seen(&place, rank, same);
        assert!(values.iter().all(|value| value.is_some() && *value == values[0]), "{same}: {values:?}");
    }
    let codes = |attempt| -> Vec<Option<i64>> {
        let record = |rank| serde_json::from_str::<Value>(&place.rank_text(attempt, rank, "exit.json")).unwrap();
        [record(0), record(1)].iter().map(|record| record["exit"]["code"].as_i64()).collect()
    };
    // The other one may have been stopped before it could fail by itself.
    assert!(codes(0).contains(&Some(3)) && codes(1).contains(&Some(3)));
    assert_eq!(codes(2), [Some(0), Some(0)]);
    assert!(!place.run_folder().join("attempt_3").exists());
}

#[test]
fn the_budget_counts_per_run_and_later_restarts_wait() {
    let place = Place::new();
    let ended = attempts(&place, &["--max-restarts", "2", "--json"], &["99"]).expect(1);
    let scheduled = ended.events_named("restart.scheduled");
    let numbers = |name: &str| -> Vec<u64> { scheduled.iter().map(|event| event[name].as_u64().unwrap()).collect() };
    assert_eq!(numbers("restartsUsed"), [1, 2]);
    assert_eq!(numbers("afterMs"), [0, 1_000]);
    let starts: Vec<u64> =
        ended.events_named("attempt.started").iter().map(|event| event["timeMs"].as_u64().unwrap()).collect();
    let waited = starts[2] - scheduled[1]["timeMs"].as_u64().unwrap();
    assert!((995..6_000).contains(&waited), "{waited} ms");
    assert_eq!(ended.events_named("restart.refused")[0]["reason"], "budgetSpent");
    ended.says(&["all 2 restarts are used"]);
    assert_eq!(seen(&place, 0, "FERMI_ATTEMPT").len(), 3);
}

#[test]
fn attempts_that_made_progress_are_restarted_at_once() {
    let place = Place::new();
    let ended = attempts(&place, &["--max-restarts", "4", "--json"], &["5", "progress"]).expect(0);
    let waits: Vec<_> = ended.events_named("restart.scheduled").iter().map(|event| event["afterMs"].clone()).collect();
    assert_eq!(waits, [0, 0, 0, 0]);
}

#[test]
fn people_are_told_what_failed_and_what_follows() {
    let place = Place::new();
    let ended = attempts(&place, &["--max-restarts", "1"], &["2"]).expect(0);
    ended.says(&["ended with exit code 3", "restarting: attempt 2, restart 1 of 1"]);
}

#[test]
fn with_resume_the_first_attempt_goes_on_too() {
    let place = Place::new();
    attempts(&place, &["--resume"], &["1"]).expect(0);
    assert_eq!(seen(&place, 0, "FERMI_RESUME"), texts(&["1"]));
}

#[test]
fn a_start_up_error_that_would_repeat_is_not_restarted_and_costs_nothing() {
    let place = Place::new();
    let script = place.file("a.py", "import no_such_module_anywhere");
    let ended = Run::whole(place.run(["-n", "2", "--max-restarts", "3", "--json"]).arg(script)).expect(1);
    assert_eq!(ended.events_named("attempt.started").len(), 1);
    assert_eq!(ended.events_named("restart.refused")[0]["reason"], "wouldRepeat");
    ended.says(&[
        "The Python module no_such_module_anywhere is not installed",
        "not restarted: this start-up error would only repeat; no restart was spent on it",
    ]);
}

#[test]
fn what_the_first_attempt_left_behind_is_dead_before_the_second_begins() {
    let place = Place::new();
    let body = format!(
        "import os, subprocess, sys, time\n\
         numbers = {numbers:?}\n\
         left = [f'{{numbers}}/{{rank}}-daemon' for rank in (0, 1)]\n\
         if os.environ['FERMI_ATTEMPT'] == '1':\n\
         \x20   subprocess.Popen([sys.executable, {hostile:?}, numbers, 'daemon'], start_new_session=True)\n\
         \x20   while not all(map(os.path.exists, left)): time.sleep(0.005)\n\
         \x20   sys.exit(3)\n\
         def lives(path):\n\
         \x20   pid, started = open(path).read().split()\n\
         \x20   try: fields = open(f'/proc/{{pid}}/stat').read().rsplit(')', 1)[1].split()\n\
         \x20   except OSError: return False\n\
         \x20   return fields[19] == started and fields[0] not in 'ZX'\n\
         open('alive-' + os.environ['RANK'], 'w').write(repr([lives(path) for path in left]))\n",
        numbers = place.numbers(),
        hostile = script("hostile.py"),
    );
    let train = place.file("a.py", body);
    let ended = Run::whole(place.run(["-n", "2", "--max-restarts", "1", "--json"]).arg(train)).expect(0);
    for rank in 0..2 {
        assert_eq!(fs::read_to_string(place.work().join(format!("alive-{rank}"))).unwrap(), "[False, False]");
    }
    let swept = ended.events_named("attempt.swept");
    assert!(swept[0]["killed"].as_u64() >= Some(2), "{swept:?}");
    place.assert_empty();
}

/// Rank 0 listens on the master's port, the others connect, except those that are named.
const MEETS: &str = "\
import os, socket, sys, time
rank, port = os.environ['RANK'], int(os.environ['MASTER_PORT'])
if rank == '0':
    server = socket.create_server(('127.0.0.1', port)); kept = []
    while True: kept.append(server.accept())
if rank in sys.argv[1:]: time.sleep(1000)
while True:
    try: link = socket.create_connection(('127.0.0.1', port)); break
    except OSError: time.sleep(0.01)
time.sleep(1000)
";

#[test]
fn a_start_timeout_names_the_ranks_that_never_came() {
    let place = Place::new();
    let train = place.file("a.py", MEETS);
    let ended = Run::whole(place.run(["-n", "4", "--start-timeout", "10"]).arg(train).args(["2", "3"])).expect(1);
    let host = host_name();
    ended.says(&[&format!("the start timed out waiting for ranks 2, 3 on {host}; ranks 0, 1 have joined")]);
    place.assert_empty();
}

#[test]
fn ranks_that_came_are_not_ended_by_the_start_timeout() {
    let place = Place::new();
    let train = place.file("a.py", MEETS.replace("time.sleep(1000)\n", "time.sleep(0)\n"));
    // Rank 0 serves for ever: let it end when the others have.
    let body = fs::read_to_string(&train).unwrap().replace("while True: kept.append", "for _ in '12': kept.append");
    fs::write(
        &train,
        body.replace("if rank in sys.argv[1:]", "if False").replace("\ntime.sleep(0)", "\ntime.sleep(1.2)"),
    )
    .unwrap();
    Run::whole(place.run(["-n", "3", "--start-timeout", "0.8"]).arg(train)).expect(0);
}

#[test]
fn the_port_can_be_listened_on_again_by_the_next_attempt() {
    let place = Place::new();
    let body = "\
import os, socket, sys, time
rank, port = os.environ['RANK'], int(os.environ['MASTER_PORT'])
if rank == '0':
    server = socket.create_server(('127.0.0.1', port)); link = server.accept()[0]; link.sendall(b'x'); link.recv(1)
else:
    while True:
        try: link = socket.create_connection(('127.0.0.1', port)); break
        except OSError: time.sleep(0.01)
    link.recv(1); link.sendall(b'y')
sys.exit(0 if os.environ['FERMI_ATTEMPT'] == '3' else 5)
";
    let train = place.file("a.py", body);
    Run::whole(place.run(["-n", "2", "--max-restarts", "2"]).arg(train)).expect(0);
}

/// A rank that writes to a disk which does not answer is deaf to SIGKILL until it does.
#[test]
fn no_attempt_begins_beside_a_rank_that_cannot_be_killed() {
    if support::is_left_out("mount") {
        return;
    }
    let place = Place::new();
    let at = |name: &str| place.path().join(name).display().to_string();
    let (disk, image, frozen, thaw, thawed) = (at("disk"), at("image"), at("frozen"), at("thaw"), at("thawed"));
    fs::create_dir(&disk).unwrap();
    let train = place.file(
        "train.sh",
        format!(
            "case $FERMI_ATTEMPT:$RANK in\n\
             1:0) fsfreeze -f {disk}; touch {frozen}; echo late > {disk}/written ;;\n\
             1:1) until [ -e {frozen} ]; do sleep 0.05; done; exit 3 ;;\n\
             *) [ -e {thawed} ] || exit 9 ;;\n\
             esac\n"
        ),
    );
    // The disk answers again when the test says so, or has gone.
    let (fermi, folder) = (env!("CARGO_BIN_EXE_fermi"), place.path().display());
    let line = format!(
        "(exec 9< {disk}; until [ -e {thaw} ] || [ ! -d {folder} ]; do sleep 0.05; done; touch {thawed}; fsfreeze -u /proc/self/fd/9) & \
         exec {fermi} run --json -n 2 --max-restarts 1 --no-python sh {}",
        train.display()
    );
    let mut command = place.with_mounts(&format!(
        "truncate -s 8M '{image}' && mkfs.ext4 -qF '{image}' && mount -o loop '{image}' '{disk}'"
    ));
    let run = Run::start(command.args(["sh", "-c", &line]));
    let held_back = run.event("restart.heldBack");
    assert!(
        held_back["text"]["en"].as_str().unwrap().starts_with("processes of attempt 1 cannot be killed"),
        "{held_back}"
    );
    fs::write(&thaw, "").unwrap();
    let ended = run.ended().expect(0);
    assert_eq!(ended.events_named("attempt.started").len(), 2);
}
