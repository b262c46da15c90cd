//! The queue of a server with real agents: what is picked, who waits for whom and until when, limits of time, giving way,
//! and the same after the server was killed.

use crate::support::{Fleet, eventually};
use serde_json::{Value, json};

/// Three environments with two workers each, two of them in one zone.
fn fleet(options: &[&str]) -> Fleet {
    let mut fleet = Fleet::server_with(None, options);
    fleet.add_in_zone("gn1", 2, "a", &["--label", "disk=nvme"]);
    fleet.add_in_zone("gn2", 2, "a", &[]);
    fleet.add_in_zone("gn3", 2, "b", &[]);
    fleet
}

/// A task that Fermi shall place, which says `up` and trains until it is stopped.
fn auto(fleet: &Fleet, name: &str, wish: &Value, more: &Value) -> String {
    let mut request = json!({
        "taskName": name,
        "launchMode": { "auto": wish },
        "command": { "argv": ["/bin/sh", "-c", "trap 'echo saved; exit 0' TERM; echo up; sleep 1000 & wait"] },
        "distributedConfig": { "framework": "command" },
    });
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (status, answer) = fleet.post("/training-tasks", &request);
    assert_eq!(status, 200, "{answer}");
    answer["data"]["taskId"].as_str().unwrap().to_owned()
}

fn nodes(task: &Value) -> Vec<&str> {
    task["nodes"].as_array().unwrap().iter().map(|node| node["name"].as_str().unwrap()).collect()
}

fn why(fleet: &Fleet, id: &str) -> String {
    fleet.get(&format!("/training-tasks/{id}/explain"))["summary"]["en"].as_str().unwrap().to_owned()
}

fn stop(fleet: &Fleet, id: &str) {
    assert_eq!(fleet.post(&format!("/training-tasks/{id}/stop"), &json!({})).0, 200);
    fleet.task_is(id, "stopped");
}

#[test]
fn fermi_picks_one_zone_first_and_says_why_and_the_next_says_for_whom_it_waits() {
    let mut fleet = fleet(&[]);
    let pair = json!({ "nodes": 2, "workersPerNode": 2 });
    let first = auto(&fleet, "first", &pair, &json!({ "policies": { "timeLimit": 3_600 } }));
    let task = fleet.task_is(&first, "running");
    assert_eq!(nodes(&task), ["gn1", "gn2"]);
    assert_eq!(task["distributedInfo"]["nodeCount"], 2, "{task:#}");
    let events = fleet.get(&format!("/training-tasks/{first}/explain"))["events"].to_string();
    assert!(events.contains("takes gn1 (2), gn2 (2): one zone (a)"), "{events}");

    // It waits with a promise, because the first states a limit; without one nothing is known.
    let second = auto(&fleet, "second", &pair, &json!({}));
    fleet.task_is(&second, "queued");
    let told = why(&fleet, &second);
    assert!(told.starts_with("waits for 2 nodes × 2 workers, in use by task-1 (first) (until"), "{told}");
    assert!(told.contains("; starts at") && told.ends_with("at the latest"), "{told}");
    let queue = fleet.get(&format!("/training-tasks/{second}/explain"))["queue"].clone();
    assert!(queue["isPromised"] == true && queue["startsBy"].is_u64() && queue["before"] == 0, "{queue}");

    // gn3 is not needed by those that wait; a label that only a busy environment has is waited for.
    let third = auto(&fleet, "third", &json!({ "zone": "b" }), &json!({}));
    assert_eq!(nodes(&fleet.task_is(&third, "running")), ["gn3"]);
    let labelled = auto(&fleet, "labelled", &json!({ "labels": { "disk": "nvme" } }), &json!({}));
    fleet.task_is(&labelled, "queued");
    let (_, told_never) = fleet.post(
        "/training-tasks/preview",
        &json!({ "taskName": "x", "launchMode": { "auto": { "nodes": 4 } }, "command": { "argv": ["true"] },
            "distributedConfig": { "framework": "command" } }),
    );
    assert!(told_never["data"]["warnings"].to_string().contains("never_fits"), "{told_never}");
    let never = auto(&fleet, "never", &json!({ "nodes": 4 }), &json!({}));
    fleet.task_is(&never, "queued");
    assert!(why(&fleet, &never).starts_with("4 nodes"), "{}", why(&fleet, &never));
    let (status, preview) = fleet.post(
        "/training-tasks/preview",
        &json!({ "taskName": "x", "launchMode": { "auto": { "zone": "b" } }, "command": { "argv": ["true"] } }),
    );
    assert_eq!(status, 200, "{preview}");
    assert!(preview["data"]["placement"]["en"].as_str().unwrap().starts_with("it would start at once"), "{preview}");

    // All of it is the same to a server that was killed.
    fleet.kill_server();
    fleet.start_server();
    for (name, status) in [("gn1", "busy"), ("gn2", "busy"), ("gn3", "running")] {
        fleet.environment_is(name, status);
    }
    eventually("the same answer", || (why(&fleet, &second) == told).then_some(()));
    stop(&fleet, &first);
    assert_eq!(nodes(&fleet.task_is(&second, "running")).len(), 2);
    for id in [&second, &third, &labelled, &never] {
        stop(&fleet, id);
    }
    fleet.assert_idle();
}

#[test]
fn a_time_limit_ends_a_task_and_a_task_of_higher_priority_may_take_the_place_of_another() {
    let rules = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(rules.path(), "queue:\n  preemption: {after: 30}\n").unwrap();
    let fleet = fleet(&["--config", rules.path().to_str().unwrap()]);
    let all = json!({ "nodes": 3, "workersPerNode": 2 });
    let low = auto(&fleet, "low", &all, &json!({}));
    fleet.task_is(&low, "running");
    (0..6).for_each(|rank| fleet.says(&low, 1, rank, "up"));
    let high = auto(&fleet, "high", &all, &json!({ "priority": 5, "policies": { "timeLimit": 1 } }));
    // The first saves, gives way, and comes back with its next attempt when the limit of the other is over.
    fleet.says(&low, 1, 0, "saved");
    let ended = fleet.task_is(&high, "stopped");
    assert_eq!(ended["verdict"]["kind"], "timeLimitReached", "{ended:#}");
    fleet.says(&low, 2, 0, "up");
    let events = fleet.get(&format!("/training-tasks/{low}/explain"))["events"].to_string();
    assert!(events.contains("gives its workers to task-2 (high)"), "{events}");
    stop(&fleet, &low);
    fleet.assert_idle();
}

#[test]
fn a_task_that_is_stopped_while_it_is_first_in_line_holds_up_no_other() {
    let fleet = Fleet::of(&[("gn1", 1)]);
    let one = json!({});
    let ids = ["first", "second", "third"].map(|name| auto(&fleet, name, &one, &json!({})));
    fleet.task_is(&ids[0], "running");
    fleet.task_is(&ids[2], "queued");
    stop(&fleet, &ids[1]);
    stop(&fleet, &ids[0]);
    fleet.task_is(&ids[2], "running");
    // One that is restarted waits again.
    assert_eq!(fleet.post(&format!("/training-tasks/{}/restart", ids[1]), &json!({})).0, 200);
    fleet.task_is(&ids[1], "queued");
    stop(&fleet, &ids[2]);
    fleet.task_is(&ids[1], "running");
    stop(&fleet, &ids[1]);
    fleet.assert_idle();
}
