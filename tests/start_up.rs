//! While an attempt starts it is told which ranks wait for which others: on the terminal, in the journal, and through agents and
//! server.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::support::{Fleet, Hosts, Place, Run, eventually, host_name, python, script};

/// The folder by which `store_waits.py` is told what to do.
fn told(place: &Place) -> PathBuf {
    let folder = place.path().join("told");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("torch.py"), "").unwrap();
    folder
}

fn waits(mut command: Command, folder: &PathBuf) -> Run {
    Run::start(command.arg(script("store_waits.py")).arg(folder))
}

#[test]
fn the_terminal_says_who_waits_for_whom_and_that_they_have_met() {
    let place = Place::new();
    let folder = told(&place);
    let run = waits(place.run(["-n", "4"]), &folder);
    let host = host_name();
    run.says(&format!("fermi: ranks 0–2 wait for rank 3 on {host}, which is importing (for 5 s)"));
    fs::write(folder.join("come"), "").unwrap();
    run.says("fermi: nobody waits for another rank any more, after ");
    fs::write(folder.join("end"), "").unwrap();
    run.ended().expect(0);
    place.assert_empty();
}

#[test]
fn it_is_in_the_journal_within_moments_and_without_the_hook_too() {
    let place = Place::new();
    let folder = told(&place);
    // A shell around the program, so that the rank is not the process that waits.
    let mut command = place.run(["-n", "3", "--json", "--hook", "off", "--store", "fermi", "--no-python", "sh", "-c"]);
    command.arg(format!("{} {} {}; true", python().display(), script("store_waits.py").display(), folder.display()));
    let run = Run::start(&mut command);
    let waiting = run.event("ranks.waiting");
    assert_eq!((&waiting["waiting"], &waiting["awaited"][0]["rank"]), (&json!([0, 1]), &json!(2)), "{waiting}");
    let sentence = format!("ranks 0, 1 wait for rank 2 on {}, which has not joined", host_name());
    assert_eq!(waiting["text"]["en"], sentence);
    fs::write(folder.join("come"), "").unwrap();
    run.event("ranks.met");
    fs::write(folder.join("end"), "").unwrap();
    run.ended().expect(0);
}

#[test]
fn ranks_of_another_machine_are_named_with_it_on_both() {
    let Some(hosts) = Hosts::new(2) else { return };
    let folder = told(hosts.place(1));
    let start = |host: usize| {
        let rank = (host - 1).to_string();
        let options = [
            "--nnodes",
            "2",
            "-n",
            "2",
            "--node-rank",
            &rank,
            "--master-addr",
            "10.77.0.1",
            "--master-port",
            "29555",
            "--json",
        ];
        waits(hosts.run(host, &options), &folder)
    };
    let runs = [start(1), start(2)];
    for run in &runs {
        let waiting = run.event("ranks.waiting");
        assert_eq!(waiting["text"]["en"], "ranks 0–2 wait for rank 3 on gn2, which is importing", "{waiting}");
        assert_eq!(
            waiting["awaited"],
            json!([{ "rank": 3, "node": "gn2", "standing": "notJoined", "phase": "import" }])
        );
    }
    fs::write(folder.join("come"), "").unwrap();
    fs::write(folder.join("end"), "").unwrap();
    for run in runs {
        run.ended().expect(0);
    }
}

#[test]
fn a_task_that_starts_says_whom_it_waits_for() {
    let fleet = Fleet::of(&[("first", 2), ("second", 1)]);
    let folder = told(&fleet.place);
    let id = fleet.create(json!({
        "taskName": "late",
        "command": { "argv": [script("store_waits.py"), folder], "interpreter": python() },
        "distributedConfig": { "framework": "pytorch-ddp" },
    }));
    let waits = eventually("the task to say whom it waits for", || {
        Some(fleet.task(&id)["waits"].clone()).filter(|waits| waits["awaited"][0]["node"] == "second")
    });
    let sentence = "ranks 0, 1 wait for rank 2 on second, which is importing";
    assert_eq!((&waits["waiting"], &waits["text"]["en"]), (&json!([0, 1]), &json!(sentence)), "{waits}");
    let explained = fleet.get(&format!("/training-tasks/{id}/explain"));
    assert_eq!(explained["summary"]["en"], format!("is coming up: {sentence}"), "{explained:#}");
    assert_eq!(explained["waits"], fleet.task(&id)["waits"]);
    let typed = |verb: &str, language: &str| {
        let mut command = fleet.place.fermi(["task", verb, &id]);
        command.env("FERMI_SERVER", format!("http://{}", fleet.address())).env("FERMI_LANG", language);
        Run::whole(&mut command).expect(0).out()
    };
    assert!(typed("show", "en").contains(sentence));
    assert!(typed("explain", "en").contains("see what rank 2 writes"));
    assert!(typed("explain", "zh").contains("正在启动：rank 0, 1 正在等待 second 上的 rank 2（正在导入）"));
    fs::write(folder.join("come"), "").unwrap();
    eventually("nobody to wait any more", || fleet.task(&id)["waits"].is_null().then_some(()));
    fs::write(folder.join("end"), "").unwrap();
    fleet.task_is(&id, "succeeded");
    fleet.assert_idle();
}
