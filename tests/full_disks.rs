//! Disks that fill up, under the real binary: what a run came to is known all the same.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::support::{self, Fleet, Place, Run, eventually};
use serde_json::{Value, json};

/// Writes until the disk takes nothing more, not even a byte.
const FILL: &str = "
import os
def fill(folder):
    file = os.open(os.path.join(folder, 'ballast'), os.O_CREAT | os.O_WRONLY)
    for size in (65536, 4096, 1):
        try:
            while True: os.write(file, b'x' * size)
        except OSError: pass
";

/// `fermi run` with its folder on a disk of 2 MiB; what stands on it afterwards is copied out.
fn run_on_a_small_disk(place: &Place, before: &str, script: &str, ranks: u32) -> support::Ended {
    let disk = place.path().join("small");
    let kept = place.path().join("kept");
    fs::create_dir(&disk).unwrap();
    let train = place.file("train.py", format!("{FILL}\ndisk = {disk:?}\n{script}"));
    let before = place.file("before.py", format!("{FILL}\ndisk = {disk:?}\n{before}"));
    let (python, fermi) = (support::python().display(), env!("CARGO_BIN_EXE_fermi"));
    let (train, before, disk, kept) = (train.display(), before.display(), disk.display(), kept.display());
    let line = format!(
        "{python} {before} || exit 9; {fermi} run --json -n {ranks} --redirects 3 --log-dir {disk} {train}; code=$?; \
         cp -r {disk} {kept}; exit $code"
    );
    let mut command = place.with_mounts(&format!("mount -t tmpfs -o size=2m,mode=755 none '{disk}'"));
    command.args(["sh", "-c", &line]);
    Run::whole(&mut command)
}

fn only_folder(folder: &Path) -> std::path::PathBuf {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).find(|path| path.join("journal.ndjson").exists()).expect("a run's folder")
}

fn journal(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("journal.ndjson")).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn a_run_whose_ranks_fill_the_disk_and_return_0_has_succeeded_in_journal_and_result() {
    if support::is_left_out("mount") {
        return;
    }
    let place = Place::new();
    let script = "fill(disk)\nimport sys\nsys.exit(0)";
    let ended = run_on_a_small_disk(&place, "", script, 24).expect(0);
    assert_eq!(ended.events_named("rank.exited").len(), 24);
    let run = only_folder(&place.path().join("kept"));
    let events = journal(&run);
    let named = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!((named("rank.exited"), named("run.ended")), (24, 1), "{events:#?}");
    let result: Value = serde_json::from_slice(&fs::read(run.join("result.json")).unwrap()).unwrap();
    assert_eq!((&result["outcome"], &result["attempts"]), (&Value::from("succeeded"), &Value::from(1)), "{result}");
    for rank in 0..24 {
        let record = fs::read(run.join(format!("attempt_0/{rank}/exit.json"))).unwrap();
        let record: Value = serde_json::from_slice(&record).unwrap();
        assert_eq!(record["exit"]["code"], 0, "{record}");
    }
}

#[test]
fn a_disk_that_fills_while_a_failing_run_goes_on_hides_neither_cause_nor_restart() {
    if support::is_left_out("mount") {
        return;
    }
    let place = Place::new();
    let script = "fill(disk)\nimport os, sys\nsys.exit(3 if os.environ['RANK'] == '1' else 0)";
    run_on_a_small_disk(&place, "", script, 4).expect(1);
    let run = only_folder(&place.path().join("kept"));
    let result: Value = serde_json::from_slice(&fs::read(run.join("result.json")).unwrap()).unwrap();
    assert_eq!(result["outcome"], "failed");
    assert_eq!(result["verdict"]["first"]["exit"]["code"], 3, "{result}");
    assert_eq!(journal(&run).last().unwrap()["event"], "run.ended");
}

#[test]
fn a_run_that_begins_on_a_full_disk_is_told_as_it_is() {
    if support::is_left_out("mount") {
        return;
    }
    let place = Place::new();
    let ended = run_on_a_small_disk(&place, "fill(disk)", "print('hello')", 2).expect(0);
    assert_eq!(ended.events_named("run.ended")[0]["outcome"], "succeeded");
    assert_eq!(ended.events_named("rank.exited").len(), 2);
}

/// Starts servers on a disk of 3 MiB: on one that is full, and again on one that has filled up while nobody served it.
const SERVERS: &str = "
import subprocess, sys
def served(folder, language):
    command = [fermi, 'server', '--json', '--listen', '127.0.0.1:0', '--data-dir', folder]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={'FERMI_LANG': language, 'HOME': home})
    is_up = any('listening' in line for line in server.stdout)
    server.terminate()
    print('up' if is_up else server.stderr.read(), flush=True)
    server.wait()
served(disk + '/kept', 'en')
fill(disk)
served(disk + '/new', 'en')
served(disk + '/new', 'zh')
served(disk + '/kept', 'en')
fill(disk)
served(disk + '/kept', 'en')
";

#[test]
fn a_limit_on_the_size_of_files_costs_lines_of_logs_and_no_training() {
    let place = Place::new();
    let loud = place.file("loud.py", "for line in range(400): print('x' * 100, line, flush=True)");
    let mut command = place.run(["-n", "2"]);
    command.arg(loud);
    // SAFETY: a system call only.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 16_384, rlim_max: 16_384 };
            if libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) == 0 {
                Ok(())
            } else {
                Err(std::io::Error::last_os_error())
            }
        });
    }
    Run::whole(&mut command).expect(0).says(&["of log were lost"]);
    place.assert_empty();
}

#[test]
fn a_server_that_starts_on_a_full_disk_says_so_and_uses_the_room_that_it_had_set_aside() {
    if support::is_left_out("mount") {
        return;
    }
    let place = Place::new();
    let disk = place.path().join("small");
    fs::create_dir(&disk).unwrap();
    let (fermi, home) = (env!("CARGO_BIN_EXE_fermi"), place.path());
    let script =
        place.file("servers.py", format!("{FILL}\ndisk, fermi, home = {disk:?}, {fermi:?}, {home:?}\n{SERVERS}"));
    let mut command = place.with_mounts(&format!("mount -t tmpfs -o size=3m,mode=700 none '{}'", disk.display()));
    let said = Run::whole(command.arg(support::python()).arg(script)).expect(0).out();
    let full = |folder: &str| format!("error: the disk of {}/{folder} is full", disk.display());
    assert!(said.starts_with(&format!("up\n{}", full("new"))) && said.contains("hint: make some MB of room"), "{said}");
    assert!(said.contains("所在的磁盘已满") && !said.contains("os error"), "{said}");
    let of_kept = said.rsplit_once("--data-dir 换一个文件夹").unwrap().1.trim();
    assert!(of_kept.starts_with("up\n") && of_kept.contains(&full("kept")), "{said}");
}

/// Under an agent: 24 ranks, the agent's disk filled by the first, all return 0.
#[test]
fn a_task_whose_ranks_fill_the_agents_disk_and_return_0_succeeds_in_its_first_attempt() {
    if support::is_left_out("mount") {
        return;
    }
    let mut fleet = Fleet::server();
    fleet.add_with_disk("small", 24, &[], Some("4m"));
    let id = fleet.run_script(
        "[ $RANK = 0 ] && { yes > $FERMI_OUTPUT_DIR/full; touch $FERMI_OUTPUT_DIR/filled; }; \
         while [ ! -e $FERMI_OUTPUT_DIR/filled ]; do sleep 0.02; done; exit 0",
        2,
    );
    let task = fleet.task_is(&id, "succeeded");
    assert_eq!(task["attempts"].as_array().unwrap().len(), 1, "{task:#}");
    let agent = fleet.agent_data(0);
    let results = format!("/proc/{}/root{}/runs", fleet.agent_pid(0), agent.display());
    // Forgotten once the server has all; until then the result is there to be read.
    eventually("the run to be forgotten or its result to say how it ended", || {
        let mut runs = fs::read_dir(&results).into_iter().flatten().flatten();
        runs.all(|run| {
            let text = fs::read_to_string(run.path().join("result.json")).unwrap_or_default();
            text.contains("\"outcome\":\"succeeded\"") || text.is_empty()
        })
        .then_some(())
    });
}

/// A task with one rank on one environment.
fn on(fleet: &Fleet, environment: &str, script: &str) -> String {
    let id = fleet.environment_id(environment);
    let request = json!({
        "taskName": environment,
        "command": { "argv": ["/bin/sh", "-c", script] },
        "distributedConfig": { "enabled": false, "framework": "command", "nodeIds": [id], "masterNode": id },
    });
    let (status, answer) = fleet.post("/training-tasks", &request);
    assert_eq!(status, 200, "{answer}");
    answer["data"]["taskId"].as_str().unwrap().to_owned()
}

/// Prints 6 MB in a second until it is stopped.
const FLOOD: &str = "exec python3 -c 'import time\nwhile True:\n  print((\"x\" * 99 + \"\\n\") * 640, end=\"\", flush=True)\n  time.sleep(0.01)'";

fn readiness(fleet: &Fleet) -> (u16, String) {
    let (status, answer) = fleet.try_get("/readyz").expect("the server answers");
    let said = if status == 200 { &answer["data"]["degraded"]["en"] } else { &answer["message"] };
    (status, said.as_str().unwrap_or_default().to_owned())
}

#[test]
fn a_rank_that_fills_the_servers_disk_with_its_log_costs_the_others_nothing() {
    if support::is_left_out("mount") {
        return;
    }
    let mut fleet = Fleet::server_with(Some("16m"), &[]);
    fleet.add("loud", 1, &[]);
    fleet.add("quiet", 1, &[]);
    assert_eq!(readiness(&fleet), (200, String::new()));
    let flood = on(&fleet, "loud", FLOOD);
    let (status, said) = eventually("readiness to say what is wrong", || {
        let found = readiness(&fleet);
        (!found.1.is_empty()).then_some(found)
    });
    assert!(status == 200 && said.contains("large logs are not kept any more"), "{status} {said}");
    let quiet = on(&fleet, "quiet", "for i in 1 2 3; do echo line $i; sleep 0.1; done; echo done");
    fleet.task_is(&quiet, "succeeded");
    fleet.says(&quiet, 1, 0, "line 3\ndone\n");
    let (status, answer) = fleet.post(&format!("/training-tasks/{flood}/stop"), &json!({}));
    assert_eq!(status, 200, "{answer}");
    fleet.task_is(&flood, "stopped");
    let logs = fleet.get(&format!("/training-tasks/{flood}/logs?tail=5"));
    let shown = logs["chunks"][0]["text"].as_str().unwrap();
    assert!(shown.contains("bytes were not kept here, the server's disk is full]"), "{shown}");
    assert!(logs["chunks"][0]["gaps"][0]["length"].as_u64().unwrap() > 0, "{logs}");
    let events = fleet.get(&format!("/training-tasks/{flood}/events"));
    let told = events["items"].as_array().unwrap().iter().filter(|event| event["kind"] == "task.logs_dropped").count();
    assert_eq!(told, 1, "{events}");
    eventually("the task to be deleted", || {
        let (status, answer) = fleet.delete(&format!("/training-tasks/{flood}"));
        assert!(status == 200 || answer["error"]["id"] == "not_swept", "{answer}");
        (status == 200).then_some(())
    });
    eventually("the disk to have room again", || (readiness(&fleet) == (200, String::new())).then_some(()));
    let status = fleet.get("/server/status");
    assert!(status["logBytesDropped"].as_u64().unwrap() > 0, "{status}");
    let again = on(&fleet, "loud", "echo fine");
    fleet.task_is(&again, "succeeded");
}

#[test]
fn a_budget_keeps_the_first_bytes_of_a_log_and_counts_the_others() {
    let mut fleet = Fleet::server_with(None, &["--log-budget-per-task", "2MB"]);
    fleet.add("one", 1, &[]);
    let id = on(&fleet, "one", "python3 -c 'print((\"x\" * 99 + \"\\n\") * 50000, end=\"\")'");
    fleet.task_is(&id, "succeeded");
    let read = || {
        let path = format!("/training-tasks/{id}/logs?rank=0&stream=stdout&offset=0&limitBytes=8000000");
        fleet.get(&path)["chunks"][0].clone()
    };
    let chunk = eventually("all bytes to be taken", || Some(read()).filter(|chunk| chunk["nextOffset"] == 5_000_000));
    let gaps = chunk["gaps"].as_array().unwrap();
    let missing: u64 = gaps.iter().map(|gap| gap["length"].as_u64().unwrap()).sum();
    assert!((1 << 20..=2 << 20).contains(&(5_000_000 - missing)), "{gaps:?}");
    assert!(chunk["text"].as_str().unwrap().contains("the task has reached its log budget"));
    let mut command = fleet.place.fermi(["task", "logs", &id, "--server"]);
    let said = Run::whole(command.arg(format!("http://{}", fleet.address()))).expect(0).out();
    assert!(said.contains("bytes were not kept here") || said.contains("字节未保存"), "{said}");
}

#[test]
fn code_that_would_take_the_servers_last_room_is_refused_before_it_does() {
    if support::is_left_out("mount") {
        return;
    }
    let mut fleet = Fleet::server_with(Some("24m"), &[]);
    fleet.add("one", 1, &[]);
    let send = |name: &str, bytes: u64| {
        let folder = fleet.place.path().join(name);
        fs::create_dir(&folder).unwrap();
        let random = fs::File::open("/dev/urandom").unwrap();
        std::io::copy(&mut random.take(bytes), &mut fs::File::create(folder.join("data")).unwrap()).unwrap();
        let folder = folder.to_str().unwrap();
        let words = ["task", "create", "--name", name, "--env", "one", "--framework", "command", "--source", folder];
        fleet.typed("owner", &[&words[..], &["--", "true"]].concat())
    };
    let refused = send("large", 23 << 20);
    assert!(refused.err().contains("the server's disk is full") && refused.code() != Some(0), "{}", refused.err());
    assert_eq!(readiness(&fleet), (200, String::new()), "the reserve of the database was not touched");
    send("small", 1 << 20).expect(0);
    fleet.task_is("task-1", "succeeded");
}
