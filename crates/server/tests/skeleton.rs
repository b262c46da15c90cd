//! What stands behind every request: loops that survive a panic, principals, numbers of requests, lines in the log.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cluster;

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use cluster::Cluster;
use fermi_api::link::ServerMessage;
use fermi_domain::device_fault::DeviceFaultClass;
use fermi_domain::event::{Outcome, Record, RunEvent, VERSION};
use fermi_domain::language::Text;
use fermi_domain::verdict::{Verdict, VerdictKind};
use fermi_server::core::CoreSettings;
use futures_util::StreamExt;
use serde_json::json;

const ONE: &str = r#"{"taskName":"x","command":{"argv":["a"]},"distributedConfig":{"nodeIds":["env-001"]}}"#;
/// A line of a journal with which its first attempt is known.
const ATTEMPT: &[u8] =
    br#"{"v":1,"seq":1,"timeMs":1,"event":"attempt.started","attempt":1,"masterAddr":"a","masterPort":1,"resume":false}
"#;
const RUN: &str = "/api/agent/v1/runs/task-1-g1-n0-i1";

/// Where lines of the log go.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Collects what this thread logs, until the guard goes.
    fn collect() -> (Self, tracing::subscriber::DefaultGuard) {
        let lines = Self::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        (lines, tracing::subscriber::set_default(subscriber))
    }

    fn with(&self, words: &[&str]) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned();
        text.lines().filter(|line| words.iter().all(|word| line.contains(word))).map(str::to_owned).collect()
    }
}

/// How often a loop ran and panicked.
fn runs(cluster: &Cluster, name: &str) -> (u64, u64) {
    let reports = cluster.core.background().reports();
    let report = reports.iter().find(|report| report.name == name).expect("there is no such loop");
    (report.runs, report.panics)
}

#[tokio::test]
async fn a_panic_in_any_loop_is_counted_logged_and_its_work_goes_on() {
    let (lines, _guard) = Lines::collect();
    let mut cluster = Cluster::start().await;
    fermi_server::start_reconcilers(&cluster.core);
    fermi_server::start_at_the_door(&cluster.core, ([127, 0, 0, 1], 0).into()).unwrap();
    let all: Vec<&str> = cluster.core.background().reports().iter().map(|report| report.name).collect();
    let reconcilers = ["liveness", "nodes", "placement", "retention", "sample keeper", "webhooks"];
    let known = [&["event fan-out", "log fan-out"][..], &reconcilers, &["certificate", "connections"]].concat();
    assert_eq!(all, known);
    // The reconcilers have not run yet, since nothing was waited for; the fan-outs run when there is something to tell.
    for name in &all {
        assert!(cluster.core.background().panic_in_next_run(name));
    }

    let mut events = cluster.stream("/api/v1/events", &[("accept", "application/x-ndjson")]).await;
    assert_eq!(cluster.post("/api/v1/training-tasks", ONE).await.status, 200);
    let task = "/api/v1/training-tasks/task-1";
    let mut logs = cluster.stream(&format!("{task}/logs?follow=true"), &[("accept", "application/x-ndjson")]).await;
    // Placed and said to the node, though both loops have panicked.
    let ServerMessage::Launch(assignment) = cluster.word("env-001").await else { panic!("something else was said") };
    assert_eq!(assignment.run.to_string(), "task-1-g1-n0-i1");
    let mut heard = String::new();
    while !heard.contains("task.starting") {
        let piece = tokio::time::timeout(Duration::from_secs(30), events.next()).await.expect("no event came");
        heard += std::str::from_utf8(&piece.unwrap().unwrap()).unwrap();
    }
    // Bytes are taken of attempts that the journal has told of.
    assert_eq!(cluster.piece(Some("env-001"), &format!("{RUN}/journal?offset=0"), ATTEMPT).await.status, 200);
    let stream = format!("{RUN}/streams/1/0/stdout?offset=0");
    assert_eq!(cluster.piece(Some("env-001"), &stream, b"hello\n").await.status, 200);
    let piece = tokio::time::timeout(Duration::from_secs(30), logs.next()).await.expect("no line came");
    assert!(std::str::from_utf8(&piece.unwrap().unwrap()).unwrap().contains("hello"));
    cluster.core.hub().leave(&"env-003".into(), 3);
    cluster
        .wait("nobody noticed that an agent went", async |cluster: &mut Cluster| {
            let events = cluster.get("/api/v1/events?kind=environment.suspect").await.json();
            (events["data"]["items"][0]["environmentId"] == "env-003").then_some(())
        })
        .await;

    for name in all {
        cluster
            .wait(name, async |cluster: &mut Cluster| {
                let (runs, panics) = runs(cluster, name);
                (panics == 1 && runs >= 2).then_some(())
            })
            .await;
        let logged = lines.with(&["ERROR", &format!("background{{loop_name=\"{name}\"}}"), "a test asked for it"]);
        assert_eq!(logged.len(), 1, "{name}");
    }
    assert_eq!(cluster.get("/readyz").await.status, 200);
    let metrics = cluster.get("/metrics").await.text();
    assert!(metrics.contains("fermi_background_panics_total{name=\"placement\"} 1"), "{metrics}");
}

#[tokio::test]
async fn a_loop_that_keeps_panicking_makes_the_server_unready_and_is_named() {
    let mut cluster = Cluster::start().await;
    fermi_server::start_reconcilers(&cluster.core);
    // Taken from the answer that was waited for: the next one may be ready again.
    let unready = cluster
        .wait("the server stayed ready", async |cluster: &mut Cluster| {
            cluster.core.background().panic_in_next_run("placement");
            let came = cluster.get("/readyz").await;
            (came.status == 503).then_some(came)
        })
        .await;
    assert_eq!(unready.json()["error"]["id"], "background_trouble");
    assert!(unready.json()["message"].as_str().unwrap().contains("placement"), "{}", unready.text());
    cluster
        .wait("the server did not become ready again", async |cluster: &mut Cluster| {
            (cluster.get("/readyz").await.status == 200).then_some(())
        })
        .await;
    let ready = cluster.get("/readyz").await.json();
    let placement = ready["data"]["loops"].as_array().unwrap().iter().find(|it| it["name"] == "placement").unwrap();
    assert!(placement["panics"].as_u64() >= Some(3) && placement["periodMs"] == 500);
    assert!(placement["lastRun"]["endedAt"].is_u64());
}

#[tokio::test]
async fn workers_that_were_freed_without_word_are_given_to_whoever_waits() {
    let mut cluster = Cluster::start().await;
    fermi_server::start_reconcilers(&cluster.core);
    for _ in 0..2 {
        assert_eq!(cluster.post("/api/v1/training-tasks", ONE).await.status, 200);
    }
    let ServerMessage::Launch(first) = cluster.word("env-001").await else { panic!("something else was said") };
    let waiting =
        format!("/api/v1/training-tasks/{}", if first.run.task.as_str() == "task-1" { "task-2" } else { "task-1" });
    cluster
        .wait("the second was not queued", async |cluster: &mut Cluster| {
            (cluster.get(&waiting).await.json()["data"]["status"] == "queued").then_some(())
        })
        .await;
    // As after a write whose follow-up never came.
    let task = first.run.task.clone();
    let freed = cluster.core.store().write(move |tx| tx.release(&task)).await;
    assert!(freed.unwrap() > 0);
    cluster
        .wait("the second went on waiting", async |cluster: &mut Cluster| {
            (cluster.get(&waiting).await.json()["data"]["status"] == "starting").then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_piece_is_taken_from_the_environment_of_its_run_alone() {
    let mut cluster = Cluster::start().await;
    fermi_server::start_reconcilers(&cluster.core);
    cluster.post("/api/v1/training-tasks", ONE).await;
    let ServerMessage::Launch(_) = cluster.word("env-001").await else { panic!("something else was said") };
    let (journal, stream) = (format!("{RUN}/journal"), format!("{RUN}/streams/1/0/stdout"));
    for path in [&journal, &stream] {
        let offset = format!("{path}?offset=0");
        for wrong in [None, Some("env-002"), Some("")] {
            let came = cluster.piece(wrong, &offset, b"x\n").await;
            assert_eq!((came.status.as_u16(), came.json()["error"]["id"].as_str()), (403, Some("another_environment")));
        }
        assert_eq!(cluster.get(path).await.status, 403);
    }
    let early = cluster.piece(Some("env-001"), &format!("{stream}?offset=0"), b"x\n").await;
    assert_eq!(early.status, 503, "the journal has not told of the attempt yet");
    for (path, bytes) in [(&journal, ATTEMPT), (&stream, b"x\n")] {
        let came = cluster.piece(Some("env-001"), &format!("{path}?offset=0"), bytes).await;
        assert_eq!((came.status.as_u16(), &came.json()["data"]["length"]), (200, &json!(bytes.len())));
    }
    for odd in ["streams/4294967295/0/stdout", "streams/0/0/stdout", "streams/1/77/stdout"] {
        let came = cluster.piece(Some("env-001"), &format!("{RUN}/{odd}?offset=0"), b"x\n").await;
        assert_eq!((came.status.as_u16(), came.json()["error"]["id"].as_str()), (422, Some("no_such_stream")), "{odd}");
    }
    let gone = cluster.piece(Some("env-001"), "/api/agent/v1/runs/task-9-g1-n0-i1/journal?offset=0", b"x\n").await;
    assert_eq!(gone.status, 410);
    assert_eq!(gone.json()["data"]["unwanted"]["run"], "task-9-g1-n0-i1");
}

#[tokio::test]
async fn a_request_has_a_number_and_a_callers_own_is_kept_if_it_is_one_word() {
    let cluster = Cluster::start().await;
    let number = |came: &cluster::Came| came.headers["x-request-id"].to_str().unwrap().to_owned();
    let ask = |own: &'static str| Request::get("/api/v1/nope").header("x-request-id", own).body(Body::empty()).unwrap();
    let (one, two) = (cluster.get("/livez").await, cluster.get("/livez").await);
    assert_ne!(number(&one), number(&two));
    let own = cluster.send(ask("trace-1.a_b:c")).await;
    assert_eq!((own.status.as_u16(), number(&own).as_str()), (404, "trace-1.a_b:c"));
    for unfit in ["a b", "x=\"y\"", ""] {
        assert_ne!(number(&cluster.send(ask(unfit)).await), unfit);
    }
}

#[tokio::test]
async fn a_line_of_a_journal_is_an_event_though_it_changes_nothing_and_only_once() {
    let mut cluster = Cluster::start().await;
    fermi_server::start_reconcilers(&cluster.core);
    let request = Request::post("/api/v1/training-tasks").header("content-type", "application/json");
    cluster.send(request.body(Body::from(ONE)).unwrap()).await;
    let ServerMessage::Launch(_) = cluster.word("env-001").await else { panic!("something else was said") };
    let text = Text::new("别的训练也在用", "another training uses it");
    let event = RunEvent::CheckpointsForeign { attempt: 1, owner: "c/task-9".into(), text };
    let line = serde_json::to_string(&Record { v: VERSION, seq: 1, time_ms: 1, event }).unwrap() + "\n";
    let path = format!("{RUN}/journal?offset=0");
    assert_eq!(cluster.piece(Some("env-001"), &path, line.as_bytes()).await.status, 200);
    assert_eq!(cluster.piece(Some("env-001"), &path, line.as_bytes()).await.status, 409);
    let events = cluster.get("/api/v1/training-tasks/task-1/events").await.json();
    let told = events["data"]["items"].as_array().unwrap().iter();
    assert_eq!(told.filter(|event| event["kind"] == "checkpoints.foreign").count(), 1, "{events:#}");
}

#[tokio::test]
async fn a_gpu_that_needs_a_repair_drains_its_environment_where_operators_want_that() {
    for (drains, xid, expected) in [(true, 79, 1), (true, 31, 0), (true, 9_999, 0), (false, 79, 0)] {
        let settings = CoreSettings { drains_faulty_gpus: drains, ..CoreSettings::default() };
        let mut cluster = Cluster::start_with(settings).await;
        fermi_server::start_reconcilers(&cluster.core);
        let request = Request::post("/api/v1/training-tasks").header("content-type", "application/json");
        cluster.send(request.body(Body::from(ONE)).unwrap()).await;
        let ServerMessage::Launch(_) = cluster.word("env-001").await else { panic!("something else was said") };
        let fault = |seq| {
            let text = Box::new(Text::new("坏了", "broken"));
            let (ranks, class) = (vec![0], DeviceFaultClass::Node);
            let event = RunEvent::DeviceFault { attempt: 1, gpu: 3, xid, class, ranks, hint: text.clone(), text };
            serde_json::to_string(&Record { v: VERSION, seq, time_ms: 1, event }).unwrap() + "\n"
        };
        let first = fault(1);
        let sent = cluster.piece(Some("env-001"), &format!("{RUN}/journal?offset=0"), first.as_bytes()).await;
        assert_eq!(sent.status, 200);
        let drained = async |cluster: &Cluster| {
            let events = cluster.get("/api/v1/events?pageSize=100").await.json();
            let items = events["data"]["items"].as_array().unwrap().clone();
            items.into_iter().filter(|event| event["kind"] == "environment.drained").collect::<Vec<_>>()
        };
        let told = drained(&cluster).await;
        assert_eq!(told.len(), expected, "{drains} {xid}: {told:?}");
        let status = cluster.get("/api/v1/environments/env-001").await.json()["data"]["status"].clone();
        assert_eq!(status == "drained", expected == 1, "{drains} {xid}: {status}");
        if expected == 0 {
            continue;
        }
        assert!(told[0]["text"]["en"].as_str().unwrap().contains("GPU 3 has fallen off the bus (Xid 79)"), "{told:?}");
        // The same again says nothing new.
        let path = format!("{RUN}/journal?offset={}", first.len());
        assert_eq!(cluster.piece(Some("env-001"), &path, fault(2).as_bytes()).await.status, 200);
        assert_eq!(drained(&cluster).await.len(), 1);
    }
}

#[tokio::test]
async fn a_task_is_followed_through_the_log_from_its_request_to_its_end() {
    let (lines, _guard) = Lines::collect();
    let mut cluster = Cluster::start().await;
    fermi_server::start_reconcilers(&cluster.core);
    let request = Request::post("/api/v1/training-tasks").header("content-type", "application/json");
    cluster.send(request.header("x-request-id", "my-request").body(Body::from(ONE)).unwrap()).await;
    let ServerMessage::Launch(_) = cluster.word("env-001").await else { panic!("something else was said") };
    let started = |rank| RunEvent::RankStarted { attempt: 1, rank, local_rank: rank, pid: 7 };
    let events = [
        RunEvent::RunStarted {
            run_id: "r".into(),
            world_size: 2,
            folder: None,
            warden_pid: 1,
            supervisor_pid: 2,
            master_port: Some(29500),
        },
        RunEvent::AttemptStarted { attempt: 1, master_addr: "a".into(), master_port: 29500, resume: false },
        started(0),
        started(1),
        RunEvent::RunEnded {
            outcome: Outcome::Succeeded,
            attempts: 1,
            verdict: Box::new(Verdict::of(VerdictKind::Succeeded)),
        },
    ];
    let mut journal = String::new();
    for (seq, event) in (1..).zip(events) {
        journal += &serde_json::to_string(&Record { v: VERSION, seq, time_ms: 1, event }).unwrap();
        journal.push('\n');
    }
    let came = cluster.piece(Some("env-001"), &format!("{RUN}/journal?offset=0"), journal.as_bytes()).await;
    assert_eq!(came.status, 200, "{}", came.text());

    let created = lines.with(&["request_id=\"my-request\"", "task=task-1", "a task was created"]);
    assert_eq!(created.len(), 1, "{created:?}");
    assert!(created[0].contains("user:administrator:local"));
    let phases: Vec<String> = lines
        .with(&["a task's phase has changed", "task=task-1"])
        .iter()
        .map(|line| line.split(" to=").nth(1).unwrap().split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(phases, ["queued", "starting", "running", "succeeded"]);
    assert_eq!(lines.with(&["task=task-1", "environment=env-001", "a node was told", "launch"]).len(), 1);
    assert_eq!(lines.with(&["to=succeeded", "attempt=1", "principal=agent:env-001"]).len(), 1);

    // The same is in the answers: who asked for the task, and on whose behalf each thing happened.
    let shown = cluster.get("/api/v1/training-tasks/task-1").await.json();
    let local = json!({"kind": "user", "name": "local", "role": "administrator"});
    assert_eq!(shown["data"]["createdBy"], local);
    let listed = cluster.get("/api/v1/training-tasks").await.json();
    assert_eq!(listed["data"]["items"][0]["createdBy"], local);
    let events = cluster.get("/api/v1/training-tasks/task-1/events").await.json();
    let by: Vec<(&str, &str)> = events["data"]["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (event["kind"].as_str().unwrap(), event["principal"]["kind"].as_str().unwrap()))
        .collect();
    assert!(by.contains(&("task.created", "user")) && by.contains(&("task.starting", "system")), "{by:?}");
    assert!(by.contains(&("task.succeeded", "agent")), "{by:?}");
    let running = events["data"]["items"].as_array().unwrap().iter().find(|it| it["kind"] == "task.running").unwrap();
    assert_eq!(running["detail"], json!({"phase": {"from": "starting", "to": "running"}}));
}

#[tokio::test]
async fn a_task_on_no_group_is_refused_and_a_copy_as_a_request_would_be() {
    let cluster = Cluster::start().await;
    let group = json!({"taskName": "g", "launchMode": {"group": "nope"}, "command": {"argv": ["a"]}});
    let came = cluster.post("/api/v1/training-tasks", &group.to_string()).await;
    assert_eq!((came.status.as_u16(), came.json()["error"]["id"].as_str()), (422, Some("group_unknown")));
    let stop_after = json!({"taskName": "g", "policies": {"onDisconnect": {"stopAfter": 5}}, "command": {"argv": ["a"]},
        "distributedConfig": {"nodeIds": ["env-001"]}});
    let came = cluster.post("/api/v1/training-tasks", &stop_after.to_string()).await;
    assert_eq!((came.status.as_u16(), came.json()["error"]["field"].as_str()), (422, Some("policies.onDisconnect")));
    assert_eq!(cluster.post("/api/v1/training-tasks", ONE).await.status, 200);
    let clone = cluster.post("/api/v1/training-tasks/task-1/clone", r#"{"taskName":" "}"#).await;
    assert_eq!((clone.status.as_u16(), clone.json()["error"]["id"].as_str()), (422, Some("name_required")));
}

#[tokio::test]
async fn explain_shows_the_newest_events() {
    let cluster = Cluster::start().await;
    cluster.post("/api/v1/training-tasks", ONE).await;
    for _ in 0..15 {
        assert_eq!(cluster.post("/api/v1/training-tasks/task-1/stop", "{}").await.status, 200);
        assert_eq!(cluster.post("/api/v1/training-tasks/task-1/restart", "{}").await.status, 200);
    }
    let explained = cluster.get("/api/v1/training-tasks/task-1/explain").await.json();
    let shown = explained["data"]["events"].as_array().unwrap();
    let all = cluster.get("/api/v1/training-tasks/task-1/events?pageSize=1000").await.json();
    let all = all["data"]["items"].as_array().unwrap();
    assert!(all.len() > 20);
    assert_eq!(shown[..], all[all.len() - 20..]);
}
