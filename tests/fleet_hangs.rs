//! Ranks of a task that hang are named through agents and server, with their stacks as evidence; where the time of the task
//! has gone is told.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::hangs::await_many_more_steps;
use crate::support::{Fleet, Run, eventually, script, signal, torch_python};

/// A task of `torch_hang.py`, and the folder by which its ranks are told what to do.
fn training(fleet: &Fleet, how: &[&str], policies: &Value) -> (String, PathBuf) {
    training_by(fleet, "torch_hang.py", how, policies)
}

fn training_by(fleet: &Fleet, name: &str, how: &[&str], policies: &Value) -> (String, PathBuf) {
    let folder = fleet.place.path().join("told");
    std::fs::create_dir_all(&folder).unwrap();
    let mut argv = vec![script(name).display().to_string(), folder.display().to_string()];
    argv.extend(how.iter().map(|word| (*word).to_owned()));
    let id = fleet.create(json!({
        "taskName": "a test",
        "command": { "argv": argv, "env": { "GLOO_SOCKET_IFNAME": "lo" }, "interpreter": torch_python() },
        "policies": policies,
        "distributedConfig": { "framework": "command" },
    }));
    (id, folder)
}

/// The events of the one run whose folder is below this one.
fn journal_below(folder: &Path) -> Vec<Value> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if let Ok(text) = std::fs::read_to_string(folder.join("journal.ndjson")) {
            return text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        }
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        folders.extend(entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|it| it.path()));
    }
    Vec::new()
}

/// The verdict on this rank; what a busy machine makes of others meanwhile is none of it.
fn verdict(fleet: &Fleet, id: &str, rank: u32) -> Value {
    eventually(&format!("a verdict on rank {rank} of {id}"), || {
        let (_, answer) = fleet.try_get(&format!("/training-tasks/{id}/events?pageSize=200"))?;
        let mut hangs = answer["data"]["items"].as_array()?.iter().map(|event| event["detail"]["hang"].clone());
        hangs.find(|hang| hang["kind"] == "notEntered" && hang["ranks"] == json!([rank]))
    })
}

fn ms(ledger: &Value, cause: &str) -> u64 {
    let causes = ledger["causes"].as_array().unwrap();
    causes.iter().find(|time| time["cause"] == cause).map_or(0, |time| time["ms"].as_u64().unwrap())
}

/// Causes add up to the time from the task's creation to its end.
fn adds_up(task: &Value) {
    let ledger = &task["ledger"];
    let sum: u64 = ledger["causes"].as_array().unwrap().iter().map(|time| time["ms"].as_u64().unwrap()).sum();
    assert_eq!(sum, ledger["wallMs"].as_u64().unwrap(), "{ledger}");
    let lived = task["endedAt"].as_u64().unwrap() - task["createdAt"].as_u64().unwrap();
    assert!(sum.abs_diff(lived) <= 10, "{sum} ms of {lived} ms: {ledger}");
}

#[test]
fn a_rank_that_others_wait_for_on_another_node_is_named_and_the_time_is_told() {
    let fleet = Fleet::of(&[("first", 1), ("second", 1)]);
    let (id, folder) = training(&fleet, &[], &json!({}));
    eventually("the slow checkpoint is written", || folder.join("saved").exists().then_some(()));
    await_many_more_steps(&folder);
    std::fs::write(folder.join("late"), "").unwrap();
    let hang = verdict(&fleet, &id, 1);
    assert_eq!((&hang["nodes"], &hang["place"]["function"]), (&json!(["second"]), &json!("comes_late")), "{hang}");
    let task = fleet.task(&id);
    assert_eq!(task["hang"]["ranks"], json!([1]), "{task:#}");
    let explained = fleet.get(&format!("/training-tasks/{id}/explain"));
    assert!(explained["summary"]["en"].as_str().unwrap().contains("rank 1 has not entered"), "{explained:#}");
    assert!(explained["advice"]["en"].as_str().unwrap().contains("see why that line does not return"), "{explained:#}");
    eventually("the stacks to be there", || {
        let path = format!("/training-tasks/{id}/logs?stream=hang&rank=1&offset=0");
        let (_, answer) = fleet.try_get(&path)?;
        answer["data"]["chunks"][0]["text"].as_str().filter(|text| text.contains("comes_late")).map(drop)
    });
    let (status, asked) = fleet.post(&format!("/training-tasks/{id}/stacks"), &json!({}));
    let stacks = &asked["data"];
    assert_eq!((status, &stacks["silent"], &stacks["silentNodes"]), (200, &json!([]), &json!([])), "{asked:#}");
    let of_rank_1 = stacks["groups"].as_array().unwrap().iter().find(|group| group["ranks"] == json!([1]));
    assert!(of_rank_1.unwrap().to_string().contains("comes_late"), "{asked:#}");
    std::fs::remove_file(folder.join("late")).unwrap();
    eventually("things move again", || fleet.task(&id)["hang"].is_null().then_some(()));
    std::fs::write(folder.join("end"), "").unwrap();
    let task = fleet.task_is(&id, "succeeded");
    let (status, refused) = fleet.post(&format!("/training-tasks/{id}/stacks"), &json!({}));
    assert_eq!((status, &refused["error"]["id"]), (409, &json!("not_running")), "{refused}");
    adds_up(&task);
    let ledger = &task["ledger"];
    for cause in ["productive", "spawn", "import", "slowRank"] {
        assert!(ms(ledger, cause) > 0, "{cause}: {ledger}");
    }
    assert!(ms(ledger, "checkpointStall") >= 4_000, "{ledger}");
    let mut show = fleet.place.fermi(["task", "show", &id]);
    let show = show.env("FERMI_SERVER", format!("http://{}", fleet.address())).env("FERMI_LANG", "en");
    let shown = Run::whole(show).expect(0).out();
    assert!(shown.contains("time spent") && shown.contains("% productive"), "{shown}");
    fleet.assert_idle();
}

#[test]
fn a_hang_ends_the_attempt_of_a_task_that_asks_for_it() {
    let fleet = Fleet::of(&[("only", 2)]);
    let policies = json!({ "restart": { "maxRestarts": 1 }, "onHang": "restart", "hangAfter": 3 });
    let (id, _) = training(&fleet, &["gil"], &policies);
    let task = fleet.task_is(&id, "succeeded");
    let failed = &task["attempts"][0]["verdict"];
    assert_eq!((&failed["signature"], &failed["first"]["rank"]), (&json!("hang"), &json!(1)), "{task:#}");
    assert_eq!(task["attempts"].as_array().unwrap().len(), 2);
    adds_up(&task);
    assert!(ms(&task["ledger"], "hang") >= 2_000, "{:#}", task["ledger"]);
    fleet.assert_idle();
}

#[test]
fn a_rank_that_is_killed_under_an_agent_starts_from_its_parked_interpreter() {
    let fleet = Fleet::of(&[("only", 2)]);
    let policies = json!({ "restart": { "maxRestarts": 1 }, "warm": "on" });
    let (id, folder) = training_by(&fleet, "torch_warm.py", &[], &policies);
    let written = |name: &str| {
        let path = folder.join(name);
        eventually(name, || std::fs::read_to_string(&path).ok().filter(|text| !text.is_empty()))
    };
    written("losses-1-0");
    let journal = || journal_below(&fleet.agent_data(0));
    let parked = eventually("both ranks are parked", || {
        let journal = journal();
        (journal.iter().filter(|event| event["event"] == "rank.parked").count() == 2).then_some(journal)
    });
    let victim = parked.iter().find(|event| event["event"] == "rank.started" && event["rank"] == 1).unwrap();
    signal(i32::try_from(victim["pid"].as_i64().unwrap()).unwrap(), libc::SIGKILL);
    written("losses-2-0");
    let released: Vec<Value> = journal().into_iter().filter(|event| event["event"] == "ranks.released").collect();
    assert_eq!(released.len(), 1, "{:#?}", journal());
    assert_eq!(released[0]["ranks"], json!([0, 1]));
    std::fs::write(folder.join("end"), "").unwrap();
    fleet.task_is(&id, "succeeded");
    fleet.assert_idle();
}
