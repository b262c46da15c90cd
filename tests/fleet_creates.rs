//! What the server has answered, it has: under `kill -9`, under many clients at once, and down to the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{self, Fleet, eventually, is_left_out};
use serde_json::{Value, json};

const CREATES: usize = 2_000;
const CLIENTS: usize = 64;

fn request(fleet: &Fleet, name: &str) -> Value {
    json!({
        "taskName": name,
        "command": { "argv": ["/bin/true"] },
        "distributedConfig": { "nodeIds": [fleet.environment_id("only")] },
    })
}

/// One create; none when the server was gone before it answered.
fn create(http: &ureq::Agent, server: (&str, &str), key: &str, body: &Value) -> Option<String> {
    let (address, bearer) = server;
    let mut answer = http
        .post(format!("http://{address}/api/v1/training-tasks"))
        .header("authorization", bearer)
        .header("content-type", "application/json")
        .header("idempotency-key", key)
        .send(body.to_string())
        .ok()?;
    assert_eq!(answer.status(), 200);
    let answer: Value = serde_json::from_str(&answer.body_mut().read_to_string().ok()?).ok()?;
    Some(answer["data"]["taskId"].as_str()?.to_owned())
}

/// All tasks of the server, names by their ids.
fn all_tasks(fleet: &Fleet) -> BTreeMap<String, String> {
    let mut tasks = BTreeMap::new();
    let mut token = String::new();
    loop {
        let page = fleet.get(&format!("/training-tasks?pageSize=1000&pageToken={token}"));
        for task in page["items"].as_array().unwrap() {
            let text = |field: &str| task[field].as_str().unwrap().to_owned();
            assert!(tasks.insert(text("id"), text("name")).is_none(), "a task came twice in the pages");
        }
        match page["nextPageToken"].as_str() {
            Some(next) => token = next.to_owned(),
            None => return tasks,
        }
    }
}

/// Sends the creates that are not answered yet from many clients; stops when `enough` says so.
fn send(fleet: &Fleet, answered: &Mutex<BTreeMap<usize, String>>, mut enough: impl FnMut(usize) -> bool + Send) {
    let todo: Vec<usize> = (0..CREATES).filter(|number| !answered.lock().unwrap().contains_key(number)).collect();
    let next = AtomicUsize::new(0);
    let body = request(fleet, "");
    let (address, bearer) = (fleet.address().to_owned(), fleet.bearer());
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let http: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
                while let Some(number) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut body = body.clone();
                    body["taskName"] = json!(format!("create {number}"));
                    if let Some(id) = create(&http, (&address, &bearer), &format!("key-{number}"), &body) {
                        answered.lock().unwrap().insert(*number, id);
                    }
                }
            });
        }
        while !enough(answered.lock().unwrap().len()) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
}

#[test]
fn a_server_killed_among_two_thousand_creates_has_every_one_it_answered_and_none_twice() {
    let mut fleet = Fleet::of(&[("only", 1)]);
    // The worker is held, so that what is created waits.
    let holder = fleet.run_script("sleep 600", 0);
    fleet.task_is(&holder, "running");
    let answered = Mutex::new(BTreeMap::new());
    let pid = fleet.server_pid();
    send(&fleet, &answered, |count| {
        if count >= CREATES / 3 {
            support::signal(pid, libc::SIGKILL);
        }
        count >= CREATES / 3
    });
    fleet.kill_server();
    let before = answered.lock().unwrap().clone();
    assert!(before.len() < CREATES, "the server was killed too late to show anything");
    fleet.start_server();
    let tasks = all_tasks(&fleet);
    for (number, id) in &before {
        assert_eq!(tasks.get(id), Some(&format!("create {number}")), "an answered task is lost");
    }
    let names: BTreeSet<&String> = tasks.values().collect();
    assert_eq!(names.len(), tasks.len(), "a task is there twice");

    // Who was not answered asks again with the same key, and gets the task that is there or a new one, never a second.
    fleet.environment_is("only", "busy");
    send(&fleet, &answered, |count| count == CREATES);
    let tasks = all_tasks(&fleet);
    assert_eq!(tasks.len(), CREATES + 1);
    let names: BTreeSet<&String> = tasks.values().collect();
    assert_eq!(names.len(), CREATES + 1);
}

#[test]
fn an_answer_leaves_after_the_disk_has_the_task() {
    if is_left_out("strace") {
        return;
    }
    let fleet = Fleet::of(&[("only", 1)]);
    let trace = fleet.place.path().join("trace");
    let mut strace = Command::new("strace")
        .args(["-f", "-tt", "-e", "trace=fsync,fdatasync,write,writev,sendto,sendmsg", "-s", "120", "-p"])
        .arg(fleet.server_pid().to_string())
        .arg("-o")
        .arg(&trace)
        .stderr(Stdio::piped())
        .spawn()
        .expect("these tests need strace; `make tools` installs it");
    let read = || std::fs::read_to_string(&trace).unwrap_or_default();
    // Heartbeats show that it looks.
    eventually("strace to look", || (!read().is_empty()).then_some(()));
    let (status, _) = fleet.post("/training-tasks", &request(&fleet, "traced"));
    assert_eq!(status, 200);
    let text = eventually("the answer in the trace", || {
        let text = read();
        text.contains("\"taskId").then_some(text).or_else(|| read().contains("\\\"taskId").then(read))
    });
    support::signal(strace.id() as i32, libc::SIGINT);
    strace.wait().unwrap();
    let answer = text.lines().position(|line| line.contains("taskId")).unwrap();
    let synced = text.lines().take(answer).any(|line| line.contains("fsync(") || line.contains("fdatasync("));
    assert!(synced, "no fsync before the answer:\n{text}");
}
