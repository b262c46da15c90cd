//! Data folders of every release so far, as machines left them that lost their power (`tests/corpus/make.py`): this release
//! opens them, knows all that was acknowledged, and finishes what was begun.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fermi_domain::event::{Record, RunEvent};
use fermi_process::journal;
use serde_json::Value;

use crate::support::{Fleet, Run, eventually, python};

/// What one archive may take in the repository: there will be many.
const LARGEST: u64 = 40 << 10;

fn archives() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "xz"));
    found.sort();
    assert!(found.len() >= 2, "one release back needs two: {found:?}");
    found
}

/// Unpacks an archive where a fleet looks for its folders, before anything is started. Gives what was acknowledged.
fn unpack(archive: &Path) -> (Fleet, Value) {
    assert!(fs::metadata(archive).unwrap().len() <= LARGEST, "{} is too large", archive.display());
    let fleet = Fleet::at_rest(None, &[]);
    let (from, to) = (archive.display().to_string(), fleet.place.path().display().to_string());
    let done = Command::new("tar").args(["-xpJf", &from, "-C", &to]).output().unwrap();
    assert!(done.status.success(), "{from}: {}", String::from_utf8_lossy(&done.stderr));
    let expected = serde_json::from_slice(&fs::read(fleet.place.path().join("expected.json")).unwrap()).unwrap();
    (fleet, expected)
}

/// Changes the database of a server that does not run.
fn change(fleet: &Fleet, sql: &str) {
    let code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit(); c.close()";
    let done = Command::new(python()).args(["-c", code]).arg(fleet.data().join("fermi.db")).arg(sql).output().unwrap();
    assert!(done.status.success(), "{sql}: {}", String::from_utf8_lossy(&done.stderr));
}

fn names(list: &Value) -> Vec<String> {
    let mut names: Vec<String> =
        list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn folders_of_every_release_are_opened_and_their_tasks_finished() {
    std::thread::scope(|scope| {
        for archive in archives() {
            scope.spawn(move || finish(&archive));
        }
    });
}

fn finish(archive: &Path) {
    let (mut fleet, expected) = unpack(archive);
    let shown = archive.file_name().unwrap().display();
    fleet.start_server();
    for (id, known) in expected["tasks"].as_object().unwrap() {
        let task = fleet.task(id);
        assert_eq!((&task["name"], &task["status"]), (&known["name"], &known["status"]), "{shown}: {id}");
    }
    for noun in ["environments", "datasets", "models", "users", "tokens", "secrets", "webhooks", "groups"] {
        let expected: Vec<&str> = expected[noun].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let mut found = names(&fleet.get(&format!("/{noun}"))["items"]);
        // The group of the workers that are in no other is called in the reader's language.
        let is_named = |name: &&str| !matches!(*name, "unassigned" | "未分组");
        let expected: Vec<&str> = expected.into_iter().filter(is_named).collect();
        found.retain(|name| is_named(&name.as_str()));
        assert_eq!(found, expected, "{shown}: {noun}");
    }
    let events = fleet.get("/events?pageSize=1000")["items"].as_array().unwrap().len() as u64;
    assert!(events >= expected["events"].as_u64().unwrap(), "{shown}: {events} events");
    for (id, text) in expected["logs"].as_object().unwrap() {
        assert_eq!(Some(fleet.log(id, 1, 0).as_str()), text.as_str(), "{shown}: {id}");
    }
    let status = fleet.get("/server/status");
    assert!(status["unreadable"].as_array().is_none_or(Vec::is_empty), "{shown}: {status}");

    fleet.add("gn6", 1, &[]);
    fleet.add("gn7", 1, &[]);
    let task = fleet.task_is("task-3", "succeeded");
    assert_eq!(task["generation"], 2, "{shown}: its machine was started anew, and it with it");
    fleet.says("task-3", 2, 0, "begun in generation 2\ndone\n");
    assert_eq!(fleet.log("task-3", 1, 0), "begun in generation 1\n", "{shown}: what it wrote before is kept once");
    fleet.task_is("task-4", "succeeded");
    fleet.says("task-4", 1, 0, "waited and ran\n");
    fleet.assert_idle();
}

#[test]
fn a_row_that_cannot_be_read_is_set_aside_and_the_others_go_on() {
    let (mut fleet, _) = unpack(archives().last().unwrap());
    change(&fleet, "UPDATE tasks SET document = '{\"of\":\"another world' WHERE seq = 4");
    fleet.start_server();
    fleet.add("gn6", 1, &[]);
    fleet.add("gn7", 1, &[]);
    fleet.task_is("task-3", "succeeded");
    let told = fleet.get("/server/status")["unreadable"][0]["en"].as_str().unwrap_or_default().to_owned();
    assert!(told.starts_with("task-4 cannot be read and is set aside"), "{told}");
    let status = fleet.typed("owner", &["server", "status"]).expect(0);
    assert!((status.out() + &status.err()).contains("task-4 cannot be read"), "{}", status.out());
}

#[test]
fn a_folder_of_a_later_release_is_refused_with_a_sentence_and_left_as_it_is() {
    let (fleet, _) = unpack(archives().last().unwrap());
    change(&fleet, "PRAGMA user_version = 99");
    let database = || fs::read(fleet.data().join("fermi.db")).unwrap();
    let before = database();
    let folder = fleet.data().display().to_string();
    let ended = fleet.typed("owner", &["server", "--listen", "127.0.0.1:0", "--data-dir", &folder]);
    assert_ne!(ended.code(), Some(0));
    ended.says(&["is of version 99; this Fermi understands versions up to", "hint: install a newer fermi"]);
    assert!(database() == before, "nothing was changed");
}

#[test]
fn runs_of_every_release_are_read_and_what_was_cut_off_is_swept() {
    for archive in archives() {
        let (fleet, _) = unpack(&archive);
        let mut has_ended = Vec::new();
        for folder in fleet.place.run_folders() {
            let story: Vec<Record> =
                journal::read(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            assert!(matches!(story[0].event, RunEvent::RunStarted { .. }), "{:?}", story[0]);
            has_ended.push(story.iter().any(|record| matches!(record.event, RunEvent::RunEnded { .. })));
        }
        has_ended.sort_unstable();
        assert_eq!(has_ended, [false, true], "one has failed and one was cut off");
        assert_eq!(fleet.place.live_notes().len(), 1);
        let ended = Run::whole(&mut fleet.place.run(["--no-python", "echo", "hello"])).expect(0);
        assert!(ended.out().contains("hello"), "{}", ended.out());
        eventually("the note of the dead to go", || fleet.place.live_notes().is_empty().then_some(()));
        assert_eq!(fleet.place.run_folders().len(), 3, "what it wrote is kept");
    }
}
