//! Disks of 16 MiB that are full in every phase: registration, launch, training, upload, end, restart, deletion, backup, and new
//! starts of the server and the agent. All end right or say why not, and nothing is doubled.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::support::{Fleet, Trail, eventually, is_left_out};
use serde_json::{Value, json};

const SIZE: &str = "16m";

/// A file that takes all the room of a disk, as long as it is held.
struct Filler(PathBuf);

impl Filler {
    fn on(fleet: &Fleet, folder: &Path) -> Self {
        let path = fleet.on_disk(folder).join("filler");
        let mut file = File::create(&path).unwrap();
        let piece = [b'x'; 65_536];
        for size in [piece.len(), 4_096, 1] {
            while file.write(&piece[..size]).is_ok_and(|written| written > 0) {}
        }
        Self(path)
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn is_done(status: u16, answer: &Value) {
    assert_eq!(status, 200, "{answer}");
}

/// Starts a task again and waits until it has succeeded in so many attempts.
fn succeeds_again(fleet: &Fleet, id: &str, attempts: usize) {
    let (status, answer) = fleet.post(&format!("/training-tasks/{id}/restart"), &json!({}));
    is_done(status, &answer);
    eventually("the next attempt to succeed", || {
        let task = fleet.task(id);
        (task["status"] == "succeeded" && task["attempts"].as_array()?.len() == attempts).then_some(())
    });
}

/// The server looks now and then: what comes before it has seen that there is room is not kept.
fn sees_room(fleet: &Fleet) {
    eventually("the server to see the room", || {
        fleet.get("/server/status")["disk"]["complaint"].is_null().then_some(())
    });
}

fn is_stopped_and_deleted(fleet: &Fleet, id: &str) {
    let (status, answer) = fleet.post(&format!("/training-tasks/{id}/stop"), &json!({}));
    is_done(status, &answer);
    fleet.task_is(id, "stopped");
    eventually("the task to be deleted", || {
        let (status, answer) = fleet.delete(&format!("/training-tasks/{id}"));
        let waits = matches!(answer["error"]["id"].as_str(), Some("not_swept" | "logs_follow"));
        assert!(status == 200 || waits, "{answer}");
        (status == 200).then_some(())
    });
}

#[test]
fn a_server_whose_disk_is_full_in_every_phase_goes_on_and_says_what_it_does_not_keep() {
    if is_left_out("mount") {
        return;
    }
    let mut fleet = Fleet::on_disks(SIZE, &["one", "two"]);
    fleet.add("one", 1, &[]);
    let data = fleet.data();
    let folder = data.to_str().unwrap();
    let backup = |fleet: &Fleet, name: &str| {
        let to = fleet.place.path().join(name);
        fleet.beside_disks(&["server", "backup", to.to_str().unwrap(), "--data-dir", folder]).expect(0);
    };

    let full = Filler::on(&fleet, &data);
    fleet.begin("two", 1);
    fleet.environment_is("two", "running");
    let loud = fleet.run_script_on("one", "for i in 1 2 3; do echo line $i; done", 0);
    fleet.task_is(&loud, "succeeded");
    fleet.says(&loud, 1, 0, "bytes were not kept here, the server's disk is full");
    let status = fleet.get("/server/status");
    let said = status["disk"]["complaint"]["en"].as_str().unwrap_or_default();
    assert!(said.contains("no logs are kept any more"), "{status}");
    backup(&fleet, "while-full");
    drop(full);
    sees_room(&fleet);

    let trail = Trail::new(fleet.place.path(), "server", 1);
    let trained = fleet.run_script_on("one", &trail.script(), 0);
    let slept = fleet.run_script_on("two", "echo begun; sleep 1000", 0);
    trail.has_begun();
    fleet.says(&slept, 1, 0, "begun");
    let full = Filler::on(&fleet, &data);
    trail.open_gate();
    fleet.task_is(&trained, "succeeded");
    fleet.kill_server();
    assert!(fleet.begin_server(), "it starts with the room that it had set aside");
    fleet.environment_is("one", "running");
    assert_eq!(fleet.task(&trained)["status"], "succeeded");
    succeeds_again(&fleet, &trained, 2);
    is_stopped_and_deleted(&fleet, &slept);
    drop(full);
    sees_room(&fleet);

    let attempts = trail.attempts();
    assert!(attempts.len() == 2 && attempts.values().all(|ended| *ended == 1), "{attempts:?}");
    let after = fleet.run_script_on("two", "echo fine", 0);
    fleet.task_is(&after, "succeeded");
    fleet.says(&after, 1, 0, "fine\n");
    backup(&fleet, "afterwards");
    fleet.assert_idle();
}

#[test]
fn an_agent_whose_disk_is_full_in_every_phase_ends_well_or_says_why_not() {
    if is_left_out("mount") {
        return;
    }
    let mut fleet = Fleet::on_disks(SIZE, &["one"]);
    let folder = fleet.folder_of("one");
    let full = Filler::on(&fleet, &folder);
    fleet.begin("one", 1);
    eventually("the agent to end", || fleet.agent_is_over(0).then_some(()));
    let said = fleet.agent_log(0);
    assert!(said.contains("no space is left on the disk") || said.contains("磁盘空间不足"), "{said}");
    drop(full);
    fleet.start_agent(0);
    fleet.environment_is("one", "running");

    let full = Filler::on(&fleet, &folder);
    let refused = fleet.run_script_on("one", "echo fine", 2);
    let task = fleet.task_is(&refused, "failed");
    let said = task["verdict"]["headline"]["en"].as_str().unwrap_or_default();
    assert!(said.contains("no space is left on the disk"), "{task:#}");
    drop(full);
    succeeds_again(&fleet, &refused, 1);

    let trail = Trail::new(fleet.place.path(), "agent", 1);
    let trained = fleet.run_script_on("one", &trail.script(), 2);
    trail.has_begun();
    let full = Filler::on(&fleet, &folder);
    // The next one keeps no word of what it is told, and is known all the same, twice.
    for _ in 0..2 {
        let welcomes = |fleet: &Fleet| fleet.agent_log(0).matches("connected to the server").count();
        let before = welcomes(&fleet);
        fleet.kill_agent(0);
        fleet.start_agent(0);
        eventually("the agent to be welcomed", || (welcomes(&fleet) > before).then_some(()));
    }
    trail.open_gate();
    let task = fleet.task_is(&trained, "succeeded");
    trail.agrees_with(&fleet, &trained, &task);
    assert_eq!(trail.attempts().len(), 1, "{task:#}");
    drop(full);

    let slept = fleet.run_script_on("one", "echo begun; sleep 1000", 0);
    fleet.says(&slept, 1, 0, "begun");
    let full = Filler::on(&fleet, &folder);
    is_stopped_and_deleted(&fleet, &slept);
    drop(full);
    succeeds_again(&fleet, &refused, 2);
    fleet.assert_idle();
}
