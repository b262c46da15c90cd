//! Requests that nobody should send: each is answered with a 4xx, a sentence and an id, and changes nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cluster;

use axum::body::Body;
use axum::http::{Method, Request};
use cluster::{CREATE, Cluster};
use serde_json::{Value, json};

/// One request with what it is, for the report.
struct Bad {
    what: String,
    request: Request<Body>,
}

const JSON: &str = "application/json";

fn bad(what: impl Into<String>, method: Method, path: &str, kind: Option<&str>, body: impl Into<Body>) -> Option<Bad> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(kind) = kind {
        request = request.header("content-type", kind);
    }
    // What is no address at all never gets as far as a server.
    let request = request.body(body.into()).ok()?;
    Some(Bad { what: what.into(), request })
}

fn posted(path: &str, body: impl ToString) -> Option<Bad> {
    let body = body.to_string();
    let shown: String = body.chars().take(120).collect();
    bad(format!("POST {path} {shown}"), Method::POST, path, Some(JSON), body)
}

fn got(path: &str) -> Option<Bad> {
    bad(format!("GET {path}"), Method::GET, path, None, Body::empty())
}

/// The specification's request with one thing changed.
fn with(pointer: &str, value: Value) -> Value {
    let mut body: Value = serde_json::from_str(CREATE).unwrap();
    match body.pointer_mut(pointer) {
        Some(place) => *place = value,
        None => {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            body.pointer_mut(parent).unwrap()[name] = value;
        }
    }
    body
}

fn without(pointer: &str) -> Value {
    let mut body: Value = serde_json::from_str(CREATE).unwrap();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    body.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name);
    body
}

/// Fields that are missing, of a wrong type, unknown, too large.
fn bodies() -> Vec<Value> {
    let mut all = vec![
        without("/taskName"),
        without("/datasetId"),
        without("/datasetVersionId"),
        without("/distributedConfig"),
        without("/distributedConfig/nodeIds"),
        without("/distributedConfig/masterNode"),
        without("/distributedConfig/framework"),
        json!({}),
        json!([]),
        json!(null),
        json!("taskName"),
        json!(7),
    ];
    let wrong = [json!(5), json!(true), json!({}), json!([]), json!(1.5), json!(null), json!({"a": [1]})];
    let fields = [
        "/taskName",
        "/launchMode",
        "/distributedConfig",
        "/distributedConfig/nodeIds",
        "/distributedConfig/strategy/dataParallel",
        "/priority",
        "/labels",
        "/policies",
        "/options",
    ];
    for field in fields {
        for value in &wrong {
            // What happens to be of the right type there is left to other rows.
            let fits = match field {
                "/distributedConfig/strategy/dataParallel" | "/priority" => *value == json!(5),
                "/labels" | "/policies" | "/options" => *value == json!({}),
                _ => false,
            };
            if !fits {
                all.push(with(field, value.clone()));
            }
        }
    }
    for (field, value) in [
        ("/distributedConfig/strategy/dataParallel", json!(0)),
        ("/distributedConfig/strategy/dataParallel", json!(-1)),
        ("/distributedConfig/strategy/dataParallel", json!(4_294_967_296_u64)),
        ("/distributedConfig/strategy/dataParalel", json!(1)),
        ("/distributedConfig/masterNod", json!("env-001")),
        ("/distributedConfig/masterNode", json!("env-777")),
        ("/distributedConfig/masterNode", json!("")),
        ("/distributedConfig/framework", json!("tensorflow")),
        ("/distributedConfig/framework", json!("")),
        ("/distributedConfig/framework", json!("PyTorch DDP")),
        ("/distributedConfig/enabled", json!("yes")),
        ("/distributedConfig/enabled", json!(false)),
        ("/distributedConfig/nodeIds", json!(["env-001", "env-001"])),
        ("/distributedConfig/nodeIds", json!(["env-001", "nowhere"])),
        ("/distributedConfig/nodeIds", json!(["../../etc/passwd"])),
        ("/distributedConfig/nodeIds", json!([1, 2])),
        ("/distributedConfig/nodeIds", json!([null])),
        ("/distributedConfig/workers", json!({"env-001": [99]})),
        ("/distributedConfig/workers", json!({"env-001": []})),
        ("/distributedConfig/workers", json!({"env-777": [0]})),
        ("/taskname", json!("x")),
        ("/TASKNAME", json!("x")),
        ("/__proto__", json!({})),
        ("/taskName", json!("")),
        ("/taskName", json!("   ")),
        ("/taskName", json!("x".repeat(129))),
        ("/taskName", json!("x".repeat(100_000))),
        ("/datasetId", json!("dataset-001' OR '1'='1")),
        ("/datasetId", json!("dataset-001; DROP TABLE tasks")),
        ("/datasetId", json!("")),
        ("/datasetId", json!(1)),
        ("/datasetVersionId", json!("version-002")),
        ("/modelId", json!("model-001\u{0}")),
        ("/modelId", json!("../model-001")),
        ("/launchMode", json!("auto")),
        ("/launchMode", json!("Existing")),
        ("/priority", json!(99_999_999_999_i64)),
        ("/priority", json!("high")),
        ("/command", json!({"argv": []})),
        ("/command", json!({"argv": [" "]})),
        ("/command", json!({"argv": "train.py"})),
        ("/command", json!({"argv": ["a\u{0}b"]})),
        ("/command", json!({"argv": ["a"], "env": {"A=B": "c"}})),
        ("/command", json!({"argv": ["a"], "env": {"": "c"}})),
        ("/command", json!({"argv": ["a"], "shell": true})),
        ("/recipe", json!({"name": "nothing"})),
        ("/recipe", json!({"name": 5})),
        ("/labels", json!({"": "x"})),
        ("/labels", json!({"a": "\u{7}"})),
        ("/labels", json!({"a": 5})),
        ("/source", json!({"git": "x"})),
        ("/source", json!("x")),
        ("/options", json!({"backend": 5})),
        ("/options", json!({"masterPort": 70_000})),
        ("/options", json!({"masterPort": -1})),
        ("/options", json!({"nope": 1})),
        ("/policies", json!({"restart": {"maxRestarts": -1}})),
        ("/policies", json!({"restart": {"maxRestart": 1}})),
        ("/policies", json!({"onDisconnect": "panic"})),
    ] {
        all.push(with(field, value));
    }
    for letter in ["\u{0}", "\u{1}", "\u{1b}[31m", "\n", "\r\n", "\t", "\u{7f}", "\u{85}"] {
        all.push(with("/taskName", json!(format!("a{letter}b"))));
    }
    let many: Vec<String> = (0..5_000).map(|number| format!("env-{number}")).collect();
    all.push(with("/distributedConfig/nodeIds", json!(many)));
    let labels: serde_json::Map<String, Value> = (0..100).map(|number| (format!("k{number}"), json!("v"))).collect();
    all.push(with("/labels", Value::Object(labels)));
    all
}

/// Bodies that are no JSON, or not of the right kind.
fn raw() -> Vec<Option<Bad>> {
    let path = "/api/v1/training-tasks";
    let mut all: Vec<Option<Bad>> = [
        "",
        " ",
        "{",
        "}",
        "{]",
        "nul",
        "{\"taskName\":}",
        "{'taskName':'x'}",
        "{\"a\":1,}",
        "NaN",
        "{\"taskName\":\"x\"}{}",
        "\u{feff}{}",
        "{\"taskName\":\"\\ud800\"}",
        "{\"taskName\":\"\\x\"}",
        "// {}",
        "taskName=x",
    ]
    .iter()
    .map(|body| posted(path, body))
    .collect();
    all.push(bad("not UTF-8", Method::POST, path, Some(JSON), b"{\"taskName\":\"\xff\xfe\"}".to_vec()));
    all.push(bad("UTF-16", Method::POST, path, Some(JSON), b"\xff\xfe{\0}\0".to_vec()));
    all.push(bad("overlong", Method::POST, path, Some(JSON), b"{\"taskName\":\"\xc0\xaf\"}".to_vec()));
    all.push(bad("deep", Method::POST, path, Some(JSON), "[".repeat(200_000)));
    all.push(bad("deep objects", Method::POST, path, Some(JSON), "{\"a\":".repeat(100_000)));
    all.push(bad("huge", Method::POST, path, Some(JSON), format!("{{\"taskName\":\"{}\"}}", "x".repeat(2 << 20))));
    all.push(bad("huge number", Method::POST, path, Some(JSON), format!("{{\"priority\":{}}}", "9".repeat(1_000))));
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/json",
        "application/json; charset=gbk",
        "application/jsonp",
        "application/xml",
        "",
        "json",
    ] {
        all.push(bad(format!("content type {kind}"), Method::POST, path, Some(kind), CREATE));
        all.push(bad(format!("content type {kind}"), Method::POST, "/api/v1/models", Some(kind), r#"{"name":"m"}"#));
    }
    all.push(bad("no content type", Method::POST, path, None, CREATE));
    all
}

/// Addresses and parameters.
fn addresses() -> Vec<Option<Bad>> {
    let tasks = "/api/v1/training-tasks";
    let mut all = Vec::new();
    for query in [
        "pageSize=0",
        "pageSize=-1",
        "pageSize=1001",
        "pageSize=99999999999999999999",
        "pageSize=",
        "pageSize=1e3",
        "pageSize=ten",
        "pageSize=0x10",
        "pageSize=5&pageSize=6",
        "pagesize=5",
        "page=1",
        "pageToken=x",
        "pageToken=7b7d",
        "pageToken=%00",
        "filter=running",
        "filter=phase=done",
        "filter=phase%3D",
        "filter=%22",
        "filter=name~a%20name~b",
        "filter=1%3D1",
        "filter=phase=running%27%20OR%201=1--",
        "orderBy=",
        "orderBy=name%20up",
        "orderBy=nam",
        "orderBy=name;DROP%20TABLE%20tasks",
        "orderBy=(SELECT%201)",
        "filter=%ff",
        "filter=%",
        "filter=%zz",
        "%00=1",
        "filter=%c0%af",
        "a%00b=1",
    ] {
        // An empty order counts as none.
        if query != "orderBy=" {
            all.push(got(&format!("{tasks}?{query}")));
        }
    }
    for id in [
        "task-999",
        "task-0",
        "task-01",
        "task--1",
        "TASK-1",
        "task-1%00",
        "task-1%20",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "task-1'%20OR%20'1'='1",
        "%ff%fe",
        "%E4%BB%BB%E5%8A%A1",
        "task-99999999999999999999999",
        "%0a",
        "task-1%2flogs",
        "*",
        "task-1;x=1",
        "%3Cscript%3E",
        "-",
    ] {
        all.push(got(&format!("{tasks}/{id}")));
        all.push(got(&format!("{tasks}/{id}/logs")));
        all.push(posted(&format!("{tasks}/{id}/stop"), "{}"));
        all.push(bad(format!("DELETE {id}"), Method::DELETE, &format!("{tasks}/{id}"), None, Body::empty()));
    }
    let long = "x".repeat(5_000);
    for path in [
        "/api",
        "/api/",
        "/api/v1",
        "/api/v2/training-tasks",
        "/api/v1/training-tasks/",
        "/api/v1//training-tasks",
        "/api/v1/training-task",
        "/api/v1/../../etc/passwd",
        "/api/v1/%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "/.git/config",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/nothing.js",
        "/api/docs/..%2fmod.rs",
        "/api/v1/environments/env-9",
        "/api/v1/environments/%00",
        "/api/v1/datasets/x",
        "/api/v1/models/model-0",
        "/api/v1/snapshots/abc",
        "/api/v1/snapshots/..%2f..%2ffermi.db",
        "/api/v1/environments?filter=owner=me",
        "/api/v1/environments?orderBy=x",
        "/api/v1/datasets?filter=size=1",
        "/api/v1/events?after=x",
        "/api/v1/events?after=-1",
        "/api/v1/events?pageSize=0",
    ] {
        all.push(got(path));
    }
    all.push(got(&format!("{tasks}/{long}")));
    all.push(got(&format!("{tasks}?filter={long}")));
    for (method, path) in [
        (Method::PUT, tasks),
        (Method::PATCH, "/api/v1/training-tasks/task-1"),
        (Method::DELETE, tasks),
        (Method::POST, "/api/v1/overview"),
        (Method::POST, "/livez"),
        (Method::DELETE, "/"),
        (Method::PUT, "/metrics"),
    ] {
        all.push(bad(format!("{method} {path}"), method, path, Some(JSON), "{}"));
    }
    all
}

/// The other things that can be made.
fn others() -> Vec<Option<Bad>> {
    let mut all = Vec::new();
    for path in ["/api/v1/datasets", "/api/v1/models"] {
        for body in [
            json!({}),
            json!({"name": ""}),
            json!({"name": " "}),
            json!({"name": 5}),
            json!({"name": "a\nb"}),
            json!({"name": "x".repeat(129)}),
            json!({"nam": "x"}),
            json!({"name": "x", "description": "\u{0}"}),
            json!({"name": "x", "description": "y".repeat(5_000)}),
            json!({"name": "x", "id": "dataset-7"}),
            json!([]),
        ] {
            all.push(posted(path, body));
        }
    }
    for body in [
        json!({"name": "x", "path": "./x"}),
        json!({"name": "x", "architecture": {"layers": 2}}),
        json!({"name": "x", "architecture": {"layers": 0, "hidden": 64, "heads": 4}}),
        json!({"name": "x", "architecture": {"layers": 2, "hidden": 64, "heads": 5}}),
        json!({"name": "x", "architecture": {"layers": 2, "hidden": u64::MAX, "heads": 1}}),
        json!({"name": "x", "architecture": {"depth": 2}}),
    ] {
        all.push(posted("/api/v1/models", body));
    }
    for body in [
        json!({}),
        json!({"version": "v2"}),
        json!({"version": "v2", "path": ""}),
        json!({"version": "", "path": "/x"}),
        json!({"version": "v2", "path": "/x\u{0}"}),
        json!({"version": "v2", "path": "/x\ny"}),
        json!({"version": 2, "path": "/x"}),
        json!({"version": "v1", "path": "/x"}),
        json!({"version": "v2", "path": "~/x"}),
        json!({"version": "v2", "path": "../x"}),
        json!({"version": "v2", "path": "/x", "size": 0}),
        json!({"version": "v2", "path": "/x", "size": -1}),
        json!({"version": "v2", "path": "/x", "size": u64::MAX}),
        json!({"version": "v2", "path": "/x", "checksum": "md5:00"}),
        json!({"version": "v2", "path": "/x", "format": "pickle"}),
    ] {
        all.push(posted("/api/v1/datasets/dataset-001/versions", body));
    }
    for body in [
        json!({}),
        json!({"action": "stop"}),
        json!({"action": "stop", "ids": []}),
        json!({"action": "kill", "ids": ["a"]}),
        json!({"action": "stop", "ids": "task-1"}),
        json!({"action": "stop", "ids": [1]}),
        json!({"action": "stop", "ids": vec!["task-1"; 1_001]}),
        json!({"action": "stop", "ids": ["a"], "all": true}),
    ] {
        all.push(posted("/api/v1/training-tasks/bulk", body));
    }
    for (kind, digest, bytes) in [
        ("application/gzip", "", vec![0x1f, 0x8b]),
        ("application/gzip", "sha256:xyz", vec![0x1f, 0x8b]),
        ("application/gzip", "md5:00", vec![0x1f, 0x8b]),
        ("application/json", "sha256:00", vec![]),
        ("text/plain", "sha256:00", vec![1]),
    ] {
        let request = Request::post("/api/v1/snapshots").header("content-type", kind).header("x-fermi-digest", digest);
        let request = request.body(Body::from(bytes)).unwrap();
        all.push(Some(Bad { what: format!("snapshot {kind} {digest}"), request }));
    }
    for key in ["", " ", &"k".repeat(256), "\u{e9}"] {
        let request = Request::post("/api/v1/training-tasks").header("content-type", JSON);
        let request = request.header("idempotency-key", key.as_bytes()).body(Body::from(CREATE)).unwrap();
        all.push(Some(Bad { what: format!("idempotency key of {} bytes", key.len()), request }));
    }
    all
}

#[tokio::test]
async fn each_gets_a_sentence_and_changes_nothing() {
    let cluster = Cluster::start().await;
    let before = cluster.picture().await;
    let mut all: Vec<Option<Bad>> = Vec::new();
    for body in bodies() {
        all.push(posted("/api/v1/training-tasks", &body));
        all.push(posted("/api/v1/training-tasks/preview", &body).filter(|_| !names_something_unknown(&body)));
    }
    all.extend(raw().into_iter().chain(addresses()).chain(others()));
    let mut count = 0;
    let mut wrong = Vec::new();
    for Bad { what, request } in all.into_iter().flatten() {
        count += 1;
        let is_head = request.method() == Method::HEAD;
        let came = cluster.send(request).await;
        let body = came.json();
        let says = body["message"].as_str().is_some_and(|message| !message.is_empty())
            && body["error"]["id"].as_str().is_some_and(|id| !id.is_empty())
            && body["code"] == came.status.as_u16()
            && body["data"].is_null();
        if !came.status.is_client_error() || (!says && !is_head) {
            wrong.push(format!("{} {what}: {}", came.status, came.text().chars().take(200).collect::<String>()));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 200, "{count}");
    assert_eq!(cluster.picture().await, before, "something was changed");
    // And it still works.
    assert_eq!(cluster.post("/api/v1/training-tasks", CREATE).await.status, 200);
}

/// A preview does not look up what is only named, such as a dataset.
fn names_something_unknown(body: &Value) -> bool {
    let is = |field: &str, known: &str| body[field].as_str().is_some_and(|value| !value.is_empty() && value != known);
    is("datasetId", "dataset-001") || is("datasetVersionId", "version-001") || is("modelId", "model-001")
}
