//! One task never runs twice: agents of equal names, copied folders, files that are gone, machines that are lost, and
//! what operators say of them. Ranks write their generation into one file, as a training would its checkpoint.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::support::{Fleet, Run, eventually, signal};
use serde_json::{Value, json};

/// Appends the generation to one file each tenth of a second, for so many of them.
fn writes(file: &str, tenths: u32) -> String {
    format!("for i in $(seq {tenths}); do echo $FERMI_GENERATION >> {file}; sleep 0.1; done; echo done")
}

struct Checkpoint(PathBuf);

impl Checkpoint {
    fn of(fleet: &Fleet) -> Self {
        Self(fleet.place.path().join("checkpoint"))
    }

    fn script(&self, tenths: u32) -> String {
        writes(self.0.to_str().unwrap(), tenths)
    }

    fn generations(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn has_begun(&self) {
        eventually("ranks to write", || (self.generations().len() > 3).then_some(()));
    }
}

fn second_agent(fleet: &Fleet, name: &str, folder: &str) -> Run {
    let server = format!("http://{}", fleet.address());
    let mut command =
        fleet.place.fermi(["agent", "--server", &server, "--name", name, "--zone", "z", "--workers", "1"]);
    Run::start(command.arg("--data-dir").arg(fleet.place.path().join(folder)))
}

fn ends_well(fleet: &Fleet, task: &str) {
    let ended = fleet.task_is(task, "succeeded");
    assert_eq!(ended["attempts"].as_array().map(Vec::len), Some(1), "{ended:#}");
}

#[test]
fn another_machine_does_not_take_the_name_of_one_that_may_still_train() {
    let fleet = Fleet::of(&[("gn6", 1)]);
    let checkpoint = Checkpoint::of(&fleet);
    let task = fleet.run_script(&checkpoint.script(150), 3);
    checkpoint.has_begun();
    signal(fleet.agent_pid(0), libc::SIGSTOP);
    fleet.environment_is("gn6", "suspect");
    std::thread::sleep(Duration::from_secs(2));
    let second = second_agent(&fleet, "gn6", "other");
    second.says("another machine's, which is out of reach and may still be training");
    second.says("fermi env replace gn6");
    second.signal(libc::SIGTERM);
    second.ended();
    signal(fleet.agent_pid(0), libc::SIGCONT);
    ends_well(&fleet, &task);
    assert!(checkpoint.generations().iter().all(|generation| generation == "1"));
}

#[test]
fn a_copy_of_a_data_folder_does_not_speak_for_the_original() {
    let fleet = Fleet::of(&[("gn6", 1)]);
    let checkpoint = Checkpoint::of(&fleet);
    let task = fleet.run_script(&checkpoint.script(80), 3);
    checkpoint.has_begun();
    let copy = fleet.place.path().join("copy");
    assert!(Command::new("cp").arg("-a").arg(fleet.agent_data(0)).arg(&copy).status().unwrap().success());
    let second = second_agent(&fleet, "gn6", "copy");
    second.says("another agent is connected under the name gn6");
    second.signal(libc::SIGTERM);
    second.ended();
    ends_well(&fleet, &task);
    assert!(checkpoint.generations().iter().all(|generation| generation == "1"));
    fleet.assert_idle();
}

/// What a purge of old files, a torn write or another release leaves of a run whose ranks live.
#[test]
fn files_that_are_gone_or_torn_are_not_taken_for_death() {
    for (file, content) in
        [("keepers.lock", None), ("assignment.json", Some("{\"ranks\": [")), ("assignment.json", None)]
    {
        let mut fleet = Fleet::of(&[("gn6", 1)]);
        let checkpoint = Checkpoint::of(&fleet);
        let task = fleet.run_script(&checkpoint.script(60), 3);
        checkpoint.has_begun();
        fleet.kill_agent(0);
        let run = find(&fleet.agent_data(0), file);
        match content {
            Some(text) => fs::write(&run, text).unwrap(),
            None => fs::remove_file(&run).unwrap(),
        }
        fleet.start_agent(0);
        ends_well(&fleet, &task);
        assert!(checkpoint.generations().iter().all(|generation| generation == "1"), "{file}");
        fleet.assert_idle();
    }
}

fn find(folder: &std::path::Path, name: &str) -> PathBuf {
    let found = Command::new("find").arg(folder).args(["-name", name]).output().unwrap();
    PathBuf::from(String::from_utf8(found.stdout).unwrap().lines().next().unwrap_or_else(|| panic!("no {name}")))
}

#[test]
fn a_machine_that_is_lost_frees_its_task_and_another_one_goes_on() {
    let mut fleet = Fleet::of(&[("gn6", 1)]);
    let checkpoint = Checkpoint::of(&fleet);
    let task = fleet.run_script(&checkpoint.script(30), 3);
    checkpoint.has_begun();
    let id = fleet.environment_id("gn6");
    let (status, answer) = fleet.post(&format!("/environments/{id}/lost"), &json!({}));
    assert_eq!((status, answer["error"]["id"].as_str()), (409, Some("environment_online")), "{answer}");
    fleet.kill_environment(0);
    fleet.environment_is("gn6", "offline");
    let answer = fermi(&fleet, &["env", "replace", "gn6"]);
    assert!(answer.contains("another one may take its name"), "{answer}");
    fleet.environment_is("gn6", "lost");
    let waiting = fleet.task_is(&task, "queued");
    assert!(waiting["reason"]["en"].as_str().unwrap_or_default().contains("gn6"), "{waiting:#}");
    let second = second_agent(&fleet, "gn6", "other");
    let ended = fleet.task_is(&task, "succeeded");
    assert_eq!(ended["attempts"].as_array().map(Vec::len), Some(2), "{ended:#}");
    second.signal(libc::SIGTERM);
    second.ended();
}

/// It was not off, and comes back when the other one has long begun.
#[test]
fn a_machine_that_was_replaced_ends_what_it_still_runs_and_gets_its_name_no_more() {
    let fleet = Fleet::of(&[("gn6", 1)]);
    let checkpoint = Checkpoint::of(&fleet);
    let task = fleet.run_script(&checkpoint.script(3_000), 1);
    checkpoint.has_begun();
    signal(fleet.agent_pid(0), libc::SIGSTOP);
    fleet.environment_is("gn6", "offline");
    fermi(&fleet, &["env", "replace", "gn6"]);
    let second = second_agent(&fleet, "gn6", "other");
    eventually("the other machine to train", || checkpoint.generations().contains(&"2".to_owned()).then_some(()));
    signal(fleet.agent_pid(0), libc::SIGCONT);
    eventually("the first machine to be told", || {
        fleet.agent_log(0).contains("another machine was put in the place of gn6").then_some(())
    });
    eventually("what it runs to end", || fleet.keepers(0).is_none().then_some(()));
    assert_eq!(fleet.task(&task)["generation"], 2);
    fleet.task_is(&task, "running");
    fleet.post(&format!("/training-tasks/{task}/stop"), &json!({ "force": true }));
    fleet.task_is(&task, "stopped");
    // Idle and away, the other one keeps the name.
    second.signal(libc::SIGTERM);
    second.ended();
    fleet.environment_is("gn6", "offline");
    let told = fleet.agent_log(0).matches("in the place of gn6").count();
    eventually("the first machine to be told again", || {
        (fleet.agent_log(0).matches("in the place of gn6").count() > told).then_some(())
    });
    fleet.environment_is("gn6", "offline");
}

#[test]
fn a_lost_machine_without_restarts_ends_its_task_with_the_reason() {
    let mut fleet = Fleet::of(&[("gn6", 1)]);
    let task = fleet.run_script("echo up; sleep 600", 0);
    fleet.says(&task, 1, 0, "up");
    fleet.kill_environment(0);
    fleet.environment_is("gn6", "offline");
    let told = fermi(&fleet, &["task", "explain", &task]);
    for said in ["gn6 is out of reach since 20", "sets no limit to that", "fermi env lost gn6"] {
        assert!(told.contains(said), "{said} is missing in\n{told}");
    }
    fermi(&fleet, &["env", "lost", "gn6"]);
    let ended = fleet.task_is(&task, "failed");
    assert!(ended["verdict"].to_string().contains("gn6"), "{ended:#}");
    // And it comes back by itself.
    fleet.start_agent(0);
    fleet.environment_is("gn6", "running");
    fleet.assert_idle();
}

#[test]
fn a_drained_environment_finishes_what_it_has_and_takes_nothing_new() {
    let fleet = Fleet::of(&[("gn6", 1)]);
    let first = fleet.run_script("echo up; sleep 3", 0);
    fleet.says(&first, 1, 0, "up");
    fermi(&fleet, &["env", "drain", "gn6"]);
    fleet.environment_is("gn6", "drained");
    let second = fleet.run_script("true", 0);
    fleet.task_is(&first, "succeeded");
    fleet.task_is(&second, "queued");
    fermi(&fleet, &["env", "resume", "gn6"]);
    fleet.task_is(&second, "succeeded");
}

#[test]
fn a_task_that_is_over_starts_again_on_an_idle_cluster_and_once_per_key() {
    let fleet = Fleet::of(&[("gn6", 1)]);
    let task = fleet.run_script("echo again", 0);
    fleet.task_is(&task, "succeeded");
    let restart = || {
        let path = format!("http://{}/api/v1/training-tasks/{task}/restart", fleet.address());
        ureq::post(path)
            .header("authorization", fleet.bearer())
            .header("idempotency-key", "once")
            .header("content-type", "application/json")
            .send("{}")
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!((restart(), restart()), (200, 200));
    let ended = eventually("the second attempt", || {
        let now = fleet.task(&task);
        (now["status"] == "succeeded" && now["attempts"].as_array().map(Vec::len) == Some(2)).then_some(now)
    });
    assert_eq!(ended["generation"], json!(2), "{ended:#}");
    assert_eq!(restart(), 200);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(fleet.task(&task)["generation"], json!(2));
}

#[test]
fn an_environment_that_a_task_waits_for_is_not_deleted() {
    let mut fleet = Fleet::of(&[("gn6", 1), ("gn7", 1)]);
    let busy = fleet.environment_id("gn6");
    let request = json!({ "taskName": "holds", "command": { "argv": ["sleep", "600"] }, "distributedConfig": { "nodeIds": [busy] } });
    let (_, holds) = fleet.post("/training-tasks", &request);
    fleet.task_is(holds["data"]["taskId"].as_str().unwrap(), "running");
    let waits = fleet.run_script("true", 0);
    fleet.task_is(&waits, "queued");
    fleet.kill_agent(1);
    fleet.environment_is("gn7", "offline");
    let id = fleet.environment_id("gn7");
    let (status, answer): (u16, Value) = fleet.delete(&format!("/environments/{id}"));
    assert_eq!((status, answer["error"]["id"].as_str()), (409, Some("environment_named")), "{answer}");
}

fn fermi(fleet: &Fleet, args: &[&str]) -> String {
    let server = format!("http://{}", fleet.address());
    let mut command = fleet.place.fermi(args.iter().copied());
    let output = command.args(["--server", &server]).env("LANG", "en_US.UTF-8").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
