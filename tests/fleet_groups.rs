//! Groups of workers: the flow of the specification with real agents and ranks, and many who move the same workers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::support::{self, Fleet, eventually, is_left_out, python};
use serde_json::{Value, json};

/// The four nodes of the specification; gn6 and gn7 have the second worker of its second table.
fn specified() -> Fleet {
    let mut fleet = Fleet::server();
    fleet.know(&["gn6", "gn39", "gn40", "gn7"]);
    for (name, workers) in [("gn6", 2), ("gn39", 1), ("gn40", 1), ("gn7", 2)] {
        fleet.add(name, workers, &[]);
    }
    fleet
}

/// (worker, RANK, LOCAL_RANK, NODE_RANK), as the specification's tables show them.
fn table(ranks: &Value) -> Vec<(String, u64, u64, u64)> {
    let number = |row: &Value, field: &str| row[field].as_u64().unwrap_or_else(|| panic!("{field} of {row}"));
    let rows = ranks["rows"].as_array().unwrap().iter().filter(|row| row["standby"] == false);
    rows.map(|row| {
        let worker = row["worker"].as_str().unwrap().to_owned();
        (worker, number(row, "rank"), number(row, "localRank"), number(row, "nodeRank"))
    })
    .collect()
}

fn row(worker: &str, rank: u64, local_rank: u64, node_rank: u64) -> (String, u64, u64, u64) {
    (worker.to_owned(), rank, local_rank, node_rank)
}

/// `fermi group …`, which must succeed; its stdout.
fn group(fleet: &Fleet, arguments: &[&str]) -> String {
    let (code, out, talk) = fermi(fleet, &[&["group"], arguments].concat());
    assert_eq!(code, 0, "{arguments:?}: {out}{talk}");
    out
}

fn fermi(fleet: &Fleet, arguments: &[&str]) -> (i32, String, String) {
    let mut command = fleet.place.fermi(arguments);
    command.env("FERMI_SERVER", format!("http://{}", fleet.address()));
    let done = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
}

#[test]
fn the_flow_of_the_specification_ends_with_its_verification_lines() {
    if is_left_out("mount") {
        return;
    }
    let fleet = specified();
    // A group with its workers, and its configuration.
    let id = group(&fleet, &["create", "llm"]).trim().to_owned();
    group(&fleet, &["move", "llm", "gn7-0", "gn40-0", "gn6-0", "gn39-0"]);
    let (status, refused) = fleet.post(&format!("/groups/{id}/start"), &json!({"command": {"argv": ["true"]}}));
    assert_eq!((status, refused["error"]["id"].as_str()), (422, Some("master_required")), "{refused}");
    let (code, _, talk) = fermi(&fleet, &["group", "config", "llm", "--master", "gn6-0"]);
    assert_eq!(code, 0, "{talk}");
    let (status, refused) = fleet.post(&format!("/groups/{id}/start"), &json!({"command": {"argv": ["true"]}}));
    assert_eq!(status, 422, "{refused}");
    assert_eq!(refused["error"]["hint"], "give the node's name without the worker's number: gn6");
    group(&fleet, &["config", "llm", "--master", "gn6", "--world-size", "4", "--backend", "gloo"]);
    let ranks = fleet.get(&format!("/groups/{id}/ranks"));
    let expected = [row("gn6-0", 0, 0, 0), row("gn39-0", 1, 0, 1), row("gn40-0", 2, 0, 2), row("gn7-0", 3, 0, 3)];
    assert_eq!(table(&ranks), expected);
    assert_eq!((&ranks["worldSize"], &ranks["masterPort"]), (&json!(4), &json!(29_500)));
    // Every line of the troubleshooting list is answered by its nodes.
    let (status, checks) = fleet.post(&format!("/groups/{id}/check"), &json!({}));
    assert_eq!(status, 200);
    let states: BTreeMap<&str, &str> = checks["data"]["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| (check["id"].as_str().unwrap(), check["state"].as_str().unwrap()))
        .collect();
    for id in ["master_address", "world_size", "configuration_saved", "nodes_online", "network", "master_resolves"] {
        assert_eq!(states[id], "passed", "{checks:#}");
    }
    // The ranks say where they stand.
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/test_launch.py");
    let python = python();
    let command = [python.to_str().unwrap(), "-S", script];
    let task = group(&fleet, &[&["start", "llm", "--"], &command[..]].concat()).trim().to_owned();
    fleet.task_is(&task, "succeeded");
    for rank in 0..4 {
        let line = format!("[Rank {rank}] World Size: 4, Local Rank: 0, Master Addr: gn6\n");
        // The last bytes of a log may come after the result.
        fleet.says(&task, 1, rank, &line);
    }
    assert_eq!(fleet.task(&task)["spec"]["launchMode"], json!({"group": id}));
    // The second table, in a group of its own: gn6-0 and gn7-0 leave the first one.
    let pair = group(&fleet, &["create", "pair", "--master", "gn6", "gn6-0", "gn6-1", "gn7-0", "gn7-1"]);
    let pair = pair.trim();
    let ranks = fleet.get(&format!("/groups/{pair}/ranks"));
    let expected = [row("gn6-0", 0, 0, 0), row("gn6-1", 1, 1, 0), row("gn7-0", 2, 0, 1), row("gn7-1", 3, 1, 1)];
    assert_eq!(table(&ranks), expected);
    assert_eq!(fleet.get(&format!("/groups/{id}"))["workers"], json!(["gn39-0", "gn40-0"]));
    let task = group(&fleet, &[&["start", "pair", "--"], &command[..]].concat()).trim().to_owned();
    fleet.task_is(&task, "succeeded");
    for (rank, local) in [(0, 0), (1, 1), (2, 0), (3, 1)] {
        let line = format!("[Rank {rank}] World Size: 4, Local Rank: {local}, Master Addr: gn6\n");
        // The last bytes of a log may come after the result.
        fleet.says(&task, 1, rank, &line);
    }
    fleet.assert_idle();
}

#[test]
fn what_a_group_holds_stays_until_its_task_is_over() {
    let fleet = Fleet::of(&[("gn6", 2), ("gn7", 1)]);
    let id = group(&fleet, &["create", "llm", "--master", "gn6", "--world-size", "2", "gn6-0", "gn6-1", "gn7-0"]);
    let id = id.trim();
    let sleep = json!({"command": {"argv": ["/bin/sh", "-c", "echo up; sleep 600"]}, "framework": "command"});
    let (status, started) = fleet.post(&format!("/groups/{id}/start"), &sleep);
    assert_eq!(status, 200, "{started}");
    let task = started["data"]["taskId"].as_str().unwrap().to_owned();
    fleet.says(&task, 1, 1, "up");
    let shown = fleet.get(&format!("/groups/{id}"));
    assert_eq!((&shown["tasks"][0]["id"], &shown["standby"]), (&json!(task), &json!(1)));
    let (status, refused) = fleet.delete(&format!("/groups/{id}"));
    assert_eq!((status, refused["error"]["id"].as_str()), (409, Some("in_use")));
    assert!(refused["message"].as_str().unwrap().contains(&task), "{refused}");
    let (status, refused) = fleet.post("/groups/unassigned/workers", &json!({"workers": ["gn7-0", "gn6-1"]}));
    assert_eq!((status, refused["error"]["id"].as_str()), (409, Some("worker_in_use")));
    assert_eq!(fleet.get(&format!("/groups/{id}"))["workers"].as_array().unwrap().len(), 3, "all of them or none");
    let (status, moved) = fleet.post("/groups/unassigned/workers", &json!({"workers": ["gn7-0"]}));
    assert_eq!((status, &moved["data"]["moved"]), (200, &json!(1)), "it stands by: {moved}");
    let workers = fleet.get("/workers?pageSize=100");
    let status_of = |name: &str| {
        let found = workers["items"].as_array().unwrap().iter().find(|worker| worker["id"] == name).unwrap();
        (found["groupName"].as_str().unwrap().to_owned(), found["status"].as_str().unwrap().to_owned())
    };
    assert_eq!(status_of("gn6-0"), ("llm".to_owned(), "busy".to_owned()));
    assert_eq!(status_of("gn7-0"), ("unassigned".to_owned(), "free".to_owned()));
    group(&fleet, &["stop", "llm", "--force", "--wait"]);
    fleet.task_is(&task, "stopped");
    group(&fleet, &["delete", "llm"]);
    assert_eq!(fleet.try_get(&format!("/groups/{id}")).unwrap().0, 404);
    fleet.assert_idle();
}

#[test]
fn a_worker_that_stands_by_takes_the_place_of_a_lost_machine_at_the_next_attempt() {
    let mut fleet = Fleet::of(&[("gn6", 1), ("gn7", 1), ("gn8", 1)]);
    let create = ["create", "llm", "--master", "gn6", "--world-size", "2", "gn6-0", "gn7-0", "gn8-0"];
    let id = group(&fleet, &create).trim().to_owned();
    let start = json!({
        "command": {"argv": ["/bin/sh", "-c", "echo \"rank $RANK at $FERMI_NODE_NAME\"; sleep 600"]},
        "framework": "command",
        "policies": {"restart": {"maxRestarts": 2}, "nodeLostAfter": 5, "standby": "replace"},
    });
    let (status, started) = fleet.post(&format!("/groups/{id}/start"), &start);
    assert_eq!(status, 200, "{started}");
    let task = started["data"]["taskId"].as_str().unwrap().to_owned();
    fleet.says(&task, 1, 1, "rank 1 at gn7");
    fleet.kill_environment(1);
    fleet.environment_is("gn7", "offline");
    let lost = fleet.environment_id("gn7");
    let (status, answer) = fleet.post(&format!("/environments/{lost}/lost"), &json!({}));
    assert_eq!(status, 200, "{answer}");
    eventually("rank 1 to be at gn8", || {
        (2..=3).any(|attempt| fleet.log(&task, attempt, 1).contains("rank 1 at gn8")).then_some(())
    });
    assert!(fleet.log(&task, 1, 1).contains("rank 1 at gn7"), "what was written before is kept");
    let events = fleet.get(&format!("/training-tasks/{task}/events?pageSize=1000"));
    let kinds: Vec<&str> =
        events["items"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"nodes.replaced"), "{kinds:?}");
    group(&fleet, &["stop", "llm", "--force", "--wait"]);
    fleet.task_is(&task, "stopped");
}

const CLIENTS: usize = 50;
const MOVES: usize = 40;

/// Each worker is there once, and the groups have each worker once.
fn assert_each_in_one_group(fleet: &Fleet, expected: usize) {
    let workers = fleet.get("/workers?pageSize=1000");
    let of_worker: BTreeMap<String, String> = workers["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|worker| (worker["id"].as_str().unwrap().to_owned(), worker["groupId"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(of_worker.len(), expected);
    let groups = fleet.get("/groups?pageSize=1000");
    let mut of_group = BTreeMap::new();
    for group in groups["items"].as_array().unwrap() {
        for worker in group["workers"].as_array().unwrap() {
            let (worker, id) = (worker.as_str().unwrap().to_owned(), group["id"].as_str().unwrap().to_owned());
            assert_eq!(of_group.insert(worker.clone(), id), None, "{worker} is in two groups");
        }
    }
    assert_eq!(of_group, of_worker);
}

#[test]
fn fifty_who_move_the_same_workers_leave_each_in_one_group_though_the_server_is_killed() {
    let mut fleet = Fleet::of(&[("a", 4), ("b", 4)]);
    let workers: Vec<String> =
        ["a", "b"].iter().flat_map(|node| (0..4).map(move |at| format!("{node}-{at}"))).collect();
    let mut groups: Vec<String> =
        (0..5).map(|number| group(&fleet, &["create", &format!("g{number}")]).trim().to_owned()).collect();
    groups.push("unassigned".to_owned());
    groups.push("group-999".to_owned());
    for life in 0..2 {
        let (moved, refused, is_down) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let (address, bearer) = (fleet.address().to_owned(), fleet.bearer());
        let pid = fleet.server_pid();
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (groups, workers, address, bearer) = (&groups, &workers, &address, &bearer);
                let (moved, refused, is_down) = (&moved, &refused, &is_down);
                scope.spawn(move || {
                    let http: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
                    for turn in 0..MOVES {
                        let (at, many) = (client * 7 + turn * 3, 1 + (client + turn) % 5);
                        let to = &groups[at % groups.len()];
                        let chosen: Vec<&String> =
                            (0..many).map(|offset| &workers[(at + offset * 3) % workers.len()]).collect();
                        // Every third has seen an old version.
                        let version = (turn % 3 == 0).then_some(1);
                        let sent = http
                            .post(format!("http://{address}/api/v1/groups/{to}/workers"))
                            .header("authorization", bearer)
                            .header("content-type", "application/json")
                            .header("accept-language", "en")
                            .send(json!({"workers": chosen, "version": version}).to_string());
                        let Ok(mut answer) = sent else {
                            assert!(is_down.load(Ordering::Acquire), "the server does not answer");
                            return;
                        };
                        let Ok(text) = answer.body_mut().read_to_string() else { return };
                        let told: Value = serde_json::from_str(&text).unwrap();
                        if answer.status() == 200 {
                            moved.fetch_add(1, Ordering::Relaxed);
                        } else {
                            let id = told["error"]["id"].as_str().unwrap_or_default();
                            assert!(matches!(id, "group_changed" | "not_found"), "{told}");
                            assert!(!told["message"].as_str().unwrap().is_empty());
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            if life == 0 {
                let count = || moved.load(Ordering::Relaxed);
                while count() < CLIENTS * MOVES / 4 {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                is_down.store(true, Ordering::Release);
                support::signal(pid, libc::SIGKILL);
            }
        });
        assert!(moved.into_inner() > 0 && refused.into_inner() > 0, "both happen");
        if life == 0 {
            fleet.kill_server();
            fleet.start_server();
            for name in ["a", "b"] {
                fleet.environment_is(name, "running");
            }
        }
        assert_each_in_one_group(&fleet, workers.len());
    }
    // A task on the groups as they are now starts.
    let whole: Vec<&str> = workers.iter().map(String::as_str).collect();
    group(&fleet, &[&["move", "g0"], &whole[..]].concat());
    group(&fleet, &["config", "g0", "--master", "b"]);
    let ranks = fleet.get(&format!("/groups/{}/ranks", groups[0]));
    assert_eq!(ranks["rows"][0]["worker"], "b-0");
    eventually("both environments", || (fleet.get("/groups")["items"][0]["worldSize"] == 8).then_some(()));
}
