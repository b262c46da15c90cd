//! Backups of a server that runs, and what becomes of trainings when an older state of its database is put back.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::support::{Fleet, eventually};
use serde_json::Value;

/// Runs `fermi` against the fleet's server.
fn fermi(fleet: &Fleet, args: &[&str]) -> Output {
    fleet.place.fermi(args.iter().copied()).env("FERMI_SERVER", format!("http://{}", fleet.address())).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn data(fleet: &Fleet) -> String {
    fleet.data().display().to_string()
}

fn backup(fleet: &Fleet, name: &str, options: &[&str]) -> PathBuf {
    let to = fleet.place.path().join(name);
    let (folder, data) = (to.display().to_string(), data(fleet));
    let mut args = vec!["server", "backup", &folder, "--data-dir", &data];
    args.extend(options);
    let output = fermi(fleet, &args);
    assert!(output.status.success(), "{}", said(&output));
    to
}

/// The server is stopped, the backup put back, and the server started again.
fn restore(fleet: &mut Fleet, from: &std::path::Path) -> String {
    fleet.kill_server();
    put_back(fleet, from)
}

fn put_back(fleet: &mut Fleet, from: &std::path::Path) -> String {
    let (from, data) = (from.display().to_string(), data(fleet));
    let output = fermi(fleet, &["server", "restore", &from, "--data-dir", &data]);
    assert!(output.status.success(), "{}", said(&output));
    fleet.start_server();
    said(&output)
}

fn strays(fleet: &Fleet) -> Vec<Value> {
    fleet.get("/server/strays")["items"].as_array().cloned().unwrap_or_default()
}

#[test]
fn what_was_started_since_the_backup_goes_on_and_no_number_is_given_twice() {
    let mut fleet = Fleet::of(&[("gn6", 1), ("gn7", 1)]);
    let before = fleet.run_script_on("gn6", "echo before; sleep 600", 0);
    fleet.says(&before, 1, 0, "before");
    let from = backup(&fleet, "monday", &[]);
    let ticks = fleet.place.path().join("ticks");
    let script = format!("while true; do echo tick >> {}; sleep 0.1; done", ticks.display());
    let since = fleet.run_script_on("gn7", &script, 0);
    let count = || fs::read_to_string(&ticks).unwrap_or_default().lines().count();
    eventually("the training since to run", || (count() > 3).then_some(()));

    let told = restore(&mut fleet, &from);
    assert!(told.contains("task-10001") && told.contains("before-restore-"), "{told}");
    // What the backup knows goes on as if nothing had been.
    fleet.task_is(&before, "running");
    let found = eventually("the stray to be found", || strays(&fleet).first().cloned());
    assert_eq!(found["run"].as_str(), Some(format!("{since}-g1-n0-i1").as_str()), "{found}");
    assert_eq!((found["environment"].as_str(), found["alive"].as_bool()), (Some("gn7"), Some(true)));
    let had = count();
    eventually("the stray to go on", || (count() > had + 5).then_some(()));
    // A new task has a number of its own, and waits for the worker that the stray has.
    let next = fleet.run_script_on("gn7", "echo next", 0);
    assert_eq!(next, "task-10001");
    let reason = eventually("the reason", || {
        let reason = fleet.task(&next)["reason"]["en"].as_str().map(str::to_owned);
        reason.filter(|reason| reason.contains("waits for"))
    });
    assert!(reason.contains(&format!("{since}-g1-n0-i1 on gn7")) && reason.contains("fermi server strays"), "{reason}");
    let run = format!("{since}-g1-n0-i1");
    assert!(fermi(&fleet, &["server", "strays", "--end", &run]).status.success());
    fleet.task_is(&next, "succeeded");
    assert_eq!(strays(&fleet), [] as [Value; 0]);
    let had = count();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(count(), had, "the stray has ended");
    fleet.post(&format!("/training-tasks/{before}/stop"), &serde_json::json!({ "force": true }));
    fleet.task_is(&before, "stopped");
}

/// Everything beside the database went back with it, and no command was told.
#[test]
fn a_data_folder_that_was_put_back_by_hand_is_found_out_by_what_a_task_has_left_on_a_node() {
    let mut fleet = Fleet::of(&[("gn6", 1)]);
    let before = fleet.run_script("true", 0);
    fleet.task_is(&before, "succeeded");
    let (data, copy) = (fleet.data(), fleet.place.path().join("copy"));
    let put = |from: &std::path::Path, to: &std::path::Path| {
        assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
    };
    put(&data, &copy);
    let lost = fleet.run_script("echo weights > \"$FERMI_CHECKPOINT_DIR/model.pt\"", 0);
    fleet.task_is(&lost, "succeeded");
    fleet.kill_server();
    fs::remove_dir_all(&data).unwrap();
    put(&copy, &data);
    fleet.start_server();
    let found_out = format!("has {lost}");
    eventually("what the node has to be told", || fleet.get("/events").to_string().contains(&found_out).then_some(()));
    let next = fleet.run_script("ls \"$FERMI_CHECKPOINT_DIR\"", 0);
    assert_eq!(next, "task-10001");
    fleet.task_is(&next, "succeeded");
    assert!(!fleet.log(&next, 1, 0).contains("model.pt"));
}

/// It was restarted since: the database knows generation 1, and generation 2 runs.
#[test]
fn a_task_that_has_moved_on_since_the_backup_is_taken_up_where_it_is() {
    let mut fleet = Fleet::of(&[("gn6", 1)]);
    let file = fleet.place.path().join("generations");
    let script = format!("echo $FERMI_GENERATION >> {}; sleep 600", file.display());
    let task = fleet.run_script(&script, 0);
    let written = || fs::read_to_string(&file).unwrap_or_default();
    eventually("generation 1", || (written() == "1\n").then_some(()));
    fleet.task_is(&task, "running");
    let from = backup(&fleet, "monday", &["--logs"]);
    fleet.post(&format!("/training-tasks/{task}/stop"), &serde_json::json!({ "force": true }));
    fleet.task_is(&task, "stopped");
    let (status, answer) = fleet.post(&format!("/training-tasks/{task}/restart"), &serde_json::json!({}));
    assert_eq!(status, 200, "{answer}");
    eventually("generation 2", || (written() == "1\n2\n").then_some(()));
    restore(&mut fleet, &from);
    eventually("generation 2 to be taken up", || (fleet.task(&task)["generation"] == 2).then_some(()));
    fleet.task_is(&task, "running");
    assert_eq!(strays(&fleet), [] as [Value; 0]);
    fleet.post(&format!("/training-tasks/{task}/stop"), &serde_json::json!({ "force": true }));
    fleet.task_is(&task, "stopped");
    assert_eq!(written(), "1\n2\n", "nothing was started twice");
    fleet.assert_idle();
}

/// A task that ran when the backup was made and has succeeded since; its agent has forgotten it. The file has a line for each
/// time that it was run.
fn ended_since_the_backup(fleet: &Fleet) -> (String, PathBuf, PathBuf) {
    let (ran, go) = (fleet.place.path().join("ran"), fleet.place.path().join("go"));
    let script = format!("echo ran >> {}; until [ -e {} ]; do sleep 0.1; done", ran.display(), go.display());
    let task = fleet.run_script(&script, 2);
    fleet.task_is(&task, "running");
    let from = backup(fleet, "monday", &[]);
    fs::write(&go, "").unwrap();
    fleet.task_is(&task, "succeeded");
    eventually("the agent to forget the run", || {
        let clusters = fs::read_dir(fleet.agent_data(0)).ok()?.flatten();
        let runs = clusters.filter_map(|cluster| fs::read_dir(cluster.path().join("runs")).ok());
        (runs.map(Iterator::count).sum::<usize>() == 0).then_some(())
    });
    (task, from, ran)
}

#[test]
fn what_has_ended_since_the_backup_ended_as_the_database_of_before_says() {
    let mut fleet = Fleet::of(&[("gn6", 1)]);
    let (task, from, ran) = ended_since_the_backup(&fleet);
    let told = restore(&mut fleet, &from);
    assert!(told.contains("1 of its tasks had ended since"), "{told}");
    fleet.task_is(&task, "succeeded");
    fleet.environment_is("gn6", "running");
    let next = fleet.run_script("true", 0);
    fleet.task_is(&next, "succeeded");
    assert_eq!(fleet.task(&task)["status"], "succeeded");
    assert_eq!(fs::read_to_string(ran).unwrap(), "ran\n");
}

/// The database of before cannot be read, and so cannot say that it has succeeded. A token of before does not come back either.
#[test]
fn what_may_have_ended_since_the_backup_is_not_run_again_by_itself_and_no_old_token_is_good() {
    let mut fleet = Fleet::of(&[("gn6", 1)]);
    let (task, from, ran) = ended_since_the_backup(&fleet);
    fleet.kill_server();
    let token = fs::read_to_string(fleet.data().join("token")).unwrap();
    fs::write(from.join("token"), "of-before-it-was-replaced\n").unwrap();
    fs::write(fleet.data().join("fermi.db"), "damaged").unwrap();
    let told = put_back(&mut fleet, &from);
    assert!(!told.contains("had ended since"), "{told}");
    assert_eq!(fs::read_to_string(fleet.data().join("token")).unwrap(), token);
    let ended = fleet.task_is(&task, "failed");
    assert!(ended["verdict"].to_string().contains("resultUnknown"), "{ended:#}");
    assert_eq!(ended["attempts"].as_array().map(Vec::len), Some(1), "{ended:#}");
    assert_eq!(fs::read_to_string(ran).unwrap(), "ran\n");
    fleet.assert_idle();
}

#[test]
fn an_older_database_beside_the_log_of_a_server_that_was_killed_is_not_mixed_with_it() {
    let mut fleet = Fleet::of(&[]);
    let (data, from) = (fleet.data(), backup(&fleet, "monday", &[]));
    fleet.kill_server();
    assert!(fs::metadata(data.join("fermi.db-wal")).unwrap().len() > 0);
    let own = fs::read(data.join("fermi.db")).unwrap();
    fs::copy(from.join("fermi.db"), data.join("fermi.db")).unwrap();
    assert!(!fleet.try_start_server(), "it has started on a mixture");
    let log = fleet.server_log();
    assert!(log.contains("belongs to another state") && log.contains("server restore"), "{log}");
    fs::write(data.join("fermi.db"), own).unwrap();
    fleet.start_server();
}

#[test]
fn a_restore_is_refused_while_the_server_runs_and_without_a_backup() {
    let fleet = Fleet::of(&[]);
    let from = backup(&fleet, "monday", &[]);
    let (folder, data) = (from.display().to_string(), data(&fleet));
    let output = fermi(&fleet, &["server", "restore", &folder, "--data-dir", &data]);
    assert!(!output.status.success() && said(&output).contains("another server"), "{}", said(&output));
    let output = fermi(&fleet, &["server", "backup", &folder, "--data-dir", &data]);
    assert!(!output.status.success() && said(&output).contains("is not empty"), "{}", said(&output));
    let other = fleet.place.path().join("other").display().to_string();
    fs::remove_file(from.join("manifest.json")).unwrap();
    let output = fermi(&fleet, &["server", "restore", &folder, "--data-dir", &other]);
    assert!(!output.status.success() && said(&output).contains("is no backup"), "{}", said(&output));
}

/// A damaged database is the reason why one restores.
#[test]
fn a_backup_takes_the_place_of_a_database_that_cannot_be_read() {
    let mut fleet = Fleet::of(&[("gn6", 1)]);
    let task = fleet.run_script("echo hello", 0);
    fleet.task_is(&task, "succeeded");
    let from = backup(&fleet, "monday", &[]);
    fleet.kill_server();
    fs::write(fleet.data().join("fermi.db"), "garbage").unwrap();
    put_back(&mut fleet, &from);
    fleet.task_is(&task, "succeeded");
    fleet.says(&task, 1, 0, "hello");
}

/// One task that this release cannot read holds up nothing else.
#[test]
fn a_row_that_cannot_be_read_is_set_aside_and_named() {
    let mut fleet = Fleet::of(&[("gn6", 1), ("gn7", 1)]);
    let bad = fleet.run_script_on("gn6", "sleep 600", 0);
    fleet.task_is(&bad, "running");
    fleet.kill_server();
    let script = "import sqlite3, sys; database = sqlite3.connect(sys.argv[1]); \
                  database.execute(\"UPDATE tasks SET document = json_set(document, '$.phase', 'dreaming')\"); \
                  database.commit()";
    let spoilt = Command::new("python3").args(["-c", script]).arg(fleet.data().join("fermi.db")).status().unwrap();
    assert!(spoilt.success());
    fleet.start_server();
    let good = fleet.run_script_on("gn7", "echo fine", 0);
    fleet.task_is(&good, "succeeded");
    let status = fleet.get("/server/status");
    let told = status["unreadable"][0]["en"].as_str().unwrap_or_default();
    assert!(told.contains(&bad) && told.contains("dreaming"), "{status:#}");
    // Its ranks go on: what cannot be read cannot say that it wants nothing.
    assert!(fleet.keepers(0).is_some());
    let waits = fleet.run_script_on("gn6", "echo never", 0);
    fleet.task_is(&waits, "queued");
    fleet.kill_environment(0);
}
