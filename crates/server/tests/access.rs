//! Who may what, tried by requests: log-ins, tokens, and every route for every role, with what is one's own and what is
//! another's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "access/agent_tokens.rs"]
mod agent_tokens;
mod cluster;

use std::collections::BTreeSet;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use cluster::{Came, Cluster};
use fermi_api::link::ServerMessage;
use fermi_domain::launch::{RankStart, StartRecord, StartedNode, Withheld};
use fermi_server::connection::Connection;
use fermi_server::guard::{Guard, is_open};
use fermi_server::{agents, http, openapi};
use fermi_store::chunks::{StreamKind, StreamName};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The server's own token.
const ROOT: &str = "root-token";
const ROLES: [&str; 4] = ["viewer", "member", "operator", "administrator"];

/// A cluster that asks for a token.
async fn closed() -> Cluster {
    let mut cluster = Cluster::start().await;
    cluster.core.accounts().close(Sha256::digest(ROOT).into());
    let guard = Guard { accounts: cluster.core.accounts().clone(), ..Guard::default() };
    let (public, of_agents) = (http::router(cluster.core.clone()), agents::router(cluster.core.clone()));
    cluster.app = guard.protect(public.merge(of_agents));
    cluster
}

async fn ask(cluster: &Cluster, token: &str, method: &str, path: &str, body: Option<&Value>) -> Came {
    let peer = Connection { peer: ([127, 0, 0, 1], 4_000).into(), is_encrypted: false, ticket: None };
    let mut request = Request::builder().method(method).uri(path).extension(ConnectInfo(peer));
    request = request.header("accept-language", "en");
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let body = match body {
        Some(body) => {
            request = request.header("content-type", "application/json");
            Body::from(body.to_string())
        }
        None => Body::empty(),
    };
    cluster.send(request.body(body).unwrap()).await
}

/// What a request that must go well is answered with.
async fn data(cluster: &Cluster, token: &str, method: &str, path: &str, body: Option<&Value>) -> Value {
    let came = ask(cluster, token, method, path, body).await;
    assert_eq!(came.status, 200, "{method} {path}: {}", came.text());
    came.json()["data"].take()
}

async fn add_user(cluster: &Cluster, name: &str, role: &str) {
    let body = json!({"name": name, "role": role, "password": format!("{name}'s password")});
    data(cluster, ROOT, "POST", "/api/v1/users", Some(&body)).await;
}

async fn log_in(cluster: &Cluster, name: &str) -> String {
    let body = json!({"user": name, "password": format!("{name}'s password"), "tokenName": "a test"});
    let session = data(cluster, "", "POST", "/api/v1/session", Some(&body)).await;
    session["token"].as_str().unwrap().to_owned()
}

async fn token_of(cluster: &Cluster, maker: &str, request: Value) -> String {
    let made = data(cluster, maker, "POST", "/api/v1/tokens", Some(&request)).await;
    made["token"].as_str().unwrap().to_owned()
}

/// Why a request was refused because of who asked; none if it was not.
fn refusal(came: &Came) -> Option<String> {
    let id = came.json()["error"]["id"].as_str().unwrap_or_default().to_owned();
    let is_about_access = matches!(id.as_str(), "not_permitted" | "only_for_agents" | "unauthorized");
    is_about_access.then_some(id)
}

#[tokio::test]
async fn a_user_logs_in_works_and_logs_out() {
    let cluster = closed().await;
    add_user(&cluster, "ann", "member").await;
    let token = log_in(&cluster, "ann").await;
    let who = data(&cluster, &token, "GET", "/api/v1/session", None).await;
    assert_eq!((&who["user"], &who["role"], &who["isOpen"]), (&json!("ann"), &json!("member"), &json!(false)));

    // A role counts from the next request on, and a token never for more than its user.
    data(&cluster, ROOT, "PATCH", "/api/v1/users/ann", Some(&json!({"role": "viewer"}))).await;
    assert_eq!(data(&cluster, &token, "GET", "/api/v1/session", None).await["role"], "viewer");

    data(&cluster, &token, "DELETE", "/api/v1/session", None).await;
    assert_eq!(ask(&cluster, &token, "GET", "/api/v1/session", None).await.status, 401);

    // Nothing of what was shown is kept; events say who did what.
    let events = data(&cluster, ROOT, "GET", "/api/v1/events?user=ann&newest=true", None).await;
    let kinds: Vec<&str> = events["items"].as_array().unwrap().iter().map(|e| e["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["session.opened", "session.ended"]);
    assert!(!events.to_string().contains(&token));
}

#[tokio::test]
async fn a_browser_gets_a_cookie_that_changes_nothing_by_itself() {
    let cluster = closed().await;
    let came = ask(&cluster, "", "POST", "/api/v1/session", Some(&json!({"token": ROOT}))).await;
    assert_eq!(came.status, 200, "{}", came.text());
    let cookie = came.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.ends_with("; HttpOnly; SameSite=Strict"), "{cookie}");
    assert!(came.json()["data"]["token"].is_null());
    let with = async |method: &str, headers: &[(&str, &str)]| {
        let path = if method == "GET" { "/api/v1/session" } else { "/api/v1/models" };
        let mut request = Request::builder().method(method).uri(path);
        request = request.header("cookie", cookie.split(';').next().unwrap());
        request = request.header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        cluster.send(request.body(Body::from(r#"{"name":"bert"}"#)).unwrap()).await
    };
    assert_eq!(with("GET", &[]).await.status, 200);
    assert_eq!(with("POST", &[]).await.json()["error"]["id"], "front_end_missing");
    assert_eq!(with("POST", &[("fermi-front-end", "console")]).await.status, 200);
}

#[tokio::test]
async fn guessing_passwords_takes_longer_and_longer() {
    let cluster = closed().await;
    add_user(&cluster, "ann", "member").await;
    let guess = async |user: &str, password: &str| {
        let body = json!({"user": user, "password": password});
        ask(&cluster, "", "POST", "/api/v1/session", Some(&body)).await
    };
    for _ in 0..6 {
        assert_eq!(guess("ann", "wrong password").await.json()["error"]["id"], "log_in_failed");
    }
    let came = guess("ann", "ann's password").await;
    assert_eq!((came.status.as_u16(), came.json()["error"]["id"].as_str()), (429, Some("too_many_log_ins")));
    // Who is logged in is not held up.
    assert_eq!(ask(&cluster, ROOT, "GET", "/api/v1/overview", None).await.status, 200);
}

#[tokio::test]
async fn a_removed_users_tokens_end_and_the_name_stays_theirs() {
    let cluster = closed().await;
    add_user(&cluster, "ann", "member").await;
    let token = log_in(&cluster, "ann").await;
    data(&cluster, &token, "POST", "/api/v1/models", Some(&json!({"name": "bert"}))).await;
    data(&cluster, ROOT, "DELETE", "/api/v1/users/ann", None).await;
    assert_eq!(ask(&cluster, &token, "GET", "/api/v1/models", None).await.status, 401);
    let body = json!({"user": "ann", "password": "ann's password"});
    assert_eq!(ask(&cluster, "", "POST", "/api/v1/session", Some(&body)).await.status, 401);
    add_user(&cluster, "ann", "member").await;
    let again = log_in(&cluster, "ann").await;
    data(&cluster, &again, "DELETE", "/api/v1/models/model-002", None).await;
}

#[tokio::test]
async fn one_changes_ones_own_password_with_the_old_one() {
    let cluster = closed().await;
    add_user(&cluster, "ann", "member").await;
    add_user(&cluster, "bob", "operator").await;
    let (ann, bob) = (log_in(&cluster, "ann").await, log_in(&cluster, "bob").await);
    let path = "/api/v1/users/ann/password";
    let new = json!({"password": "another one"});
    assert_eq!(ask(&cluster, &bob, "POST", path, Some(&new)).await.status, 403);
    assert_eq!(ask(&cluster, &ann, "POST", path, Some(&new)).await.status, 422);
    let wrong = json!({"password": "another one", "current": "not it at all"});
    assert_eq!(ask(&cluster, &ann, "POST", path, Some(&wrong)).await.status, 401);
    let right = json!({"password": "another one", "current": "ann's password"});
    data(&cluster, &ann, "POST", path, Some(&right)).await;
    let body = json!({"user": "ann", "password": "another one"});
    assert_eq!(ask(&cluster, "", "POST", "/api/v1/session", Some(&body)).await.status, 200);
    let short = json!({"password": "short"});
    assert_eq!(ask(&cluster, ROOT, "POST", path, Some(&short)).await.json()["error"]["id"], "password_invalid");
}

#[tokio::test]
async fn tokens_are_shown_once_are_worth_their_role_and_end() {
    let cluster = closed().await;
    add_user(&cluster, "ann", "member").await;
    add_user(&cluster, "bob", "member").await;
    let (ann, bob) = (log_in(&cluster, "ann").await, log_in(&cluster, "bob").await);
    let asked = json!({"name": "too much", "role": "administrator"});
    let made = data(&cluster, &ann, "POST", "/api/v1/tokens", Some(&asked)).await;
    assert_eq!(made["role"], "member");
    let id = made["id"].as_str().unwrap();
    assert_eq!(ask(&cluster, &bob, "DELETE", &format!("/api/v1/tokens/{id}"), None).await.status, 404);
    let listed = data(&cluster, &ann, "GET", "/api/v1/tokens", None).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    assert!(!listed.to_string().contains(made["token"].as_str().unwrap()));
    assert_eq!(
        ask(&cluster, &ann, "POST", "/api/v1/tokens", Some(&json!({"name": "a", "scope": "agent"}))).await.status,
        403
    );
    data(&cluster, &ann, "DELETE", &format!("/api/v1/tokens/{id}"), None).await;
    let word = made["token"].as_str().unwrap();
    assert_eq!(ask(&cluster, word, "GET", "/api/v1/session", None).await.status, 401);
    for expires in [0, 4_000_000_000_u64] {
        let came =
            ask(&cluster, &ann, "POST", "/api/v1/tokens", Some(&json!({"name": "x", "expiresInS": expires}))).await;
        assert_eq!(came.json()["error"]["id"], "expiry_invalid", "{expires}");
    }
}

/// Whichever way its follower asks for it to be written.
#[tokio::test]
async fn what_is_followed_ends_with_the_token_of_its_follower() {
    let cluster = closed().await;
    add_user(&cluster, "ann", "member").await;
    let ann = log_in(&cluster, "ann").await;
    let request = json!({"taskName": "x", "command": {"argv": ["a"]}, "distributedConfig": {"nodeIds": ["env-001"]}});
    data(&cluster, &ann, "POST", "/api/v1/training-tasks", Some(&request)).await;
    let logs = "/api/v1/training-tasks/task-1/logs?follow=true";
    let formats = ["text/plain", "application/x-ndjson", "text/event-stream"];
    let followed = formats.map(|format| (logs, format)).into_iter();
    for (path, format) in followed.chain([("/api/v1/events", formats[1]), ("/api/v1/events", formats[2])]) {
        let made = data(&cluster, &ann, "POST", "/api/v1/tokens", Some(&json!({"name": "a follower"}))).await;
        let (word, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
        let bearer = format!("Bearer {word}");
        let mut live = cluster.stream(path, &[("accept", format), ("authorization", &bearer)]).await;
        data(&cluster, &ann, "DELETE", &format!("/api/v1/tokens/{id}"), None).await;
        let end = async { while futures_util::StreamExt::next(&mut live).await.is_some() {} };
        let end = tokio::time::timeout(std::time::Duration::from_secs(10), end).await;
        assert!(end.is_ok(), "{path} as {format} goes on");
    }
}

#[tokio::test]
async fn tokens_of_the_administrator_have_an_owner_each() {
    let cluster = closed().await;
    let of = async |maker: &str, name: &str| token_of(&cluster, maker, json!({"name": name, "role": "member"})).await;
    let (nightly, weekly) = (of(ROOT, "nightly").await, of(ROOT, "weekly").await);
    let model = json!({"name": "llama", "path": "/models/llama"});
    let made = data(&cluster, &nightly, "POST", "/api/v1/models", Some(&model)).await;
    let path = format!("/api/v1/models/{}", made["id"].as_str().unwrap());
    let refused = ask(&cluster, &weekly, "DELETE", &path, None).await;
    assert!(refused.status == 403 && refused.text().contains("token:nightly"), "{}", refused.text());
    // Who has a token makes others of it, and none of another's.
    let forged = of(&weekly, "nightly").await;
    assert_eq!(ask(&cluster, &forged, "DELETE", &path, None).await.status, 403);
    let opened = json!({"token": nightly, "tokenName": "a session"});
    assert_eq!(data(&cluster, "", "POST", "/api/v1/session", Some(&opened)).await["user"], "token:nightly");
    // One that the administrator makes anew goes on with what was the old one's.
    let again = of(ROOT, "nightly").await;
    data(&cluster, &again, "DELETE", &path, None).await;
}

#[tokio::test]
async fn a_server_without_a_company_service_says_so() {
    let cluster = closed().await;
    add_user(&cluster, "ann", "member").await;
    for path in ["/oidc/log-in", "/oidc/callback?code=x&state=y"] {
        let page = ask(&cluster, "", "GET", path, None).await;
        assert!(page.status == 404 && page.text().starts_with("<!doctype html>"), "{path}: {}", page.text());
    }
    let linked = ask(&cluster, ROOT, "POST", "/api/v1/users/ann/link", Some(&json!({"subject": "u1"}))).await;
    assert_eq!(linked.json()["error"]["id"], "oidc_not_set_up");
    assert!(data(&cluster, "", "GET", "/version", None).await.get("companyLogIn").is_none());
}

#[tokio::test]
async fn what_may_be_done_with_a_task_depends_on_who_reads() {
    let cluster = closed().await;
    add_user(&cluster, "ann", "member").await;
    add_user(&cluster, "bob", "member").await;
    let (ann, bob) = (log_in(&cluster, "ann").await, log_in(&cluster, "bob").await);
    let task = thing(&cluster, &ann, "training-tasks", 0).await;
    let path = format!("/api/v1/training-tasks/{task}");
    let of_ann = data(&cluster, &ann, "GET", &path, None).await["allowedActions"].take();
    assert_eq!(of_ann[0], json!({"action": "stop", "allowed": true, "reason": null}));
    let of_bob = data(&cluster, &bob, "GET", &path, None).await["allowedActions"].take();
    assert_eq!(of_bob[0]["allowed"], false);
    assert!(of_bob[0]["reason"]["en"].as_str().unwrap().starts_with("it belongs to ann: its owner, operators"));
    assert_eq!((&of_bob[2]["action"], &of_bob[2]["allowed"]), (&json!("clone"), &json!(true)));
    let bulk = json!({"action": "stop", "ids": [task]});
    let answer = data(&cluster, &bob, "POST", "/api/v1/training-tasks/bulk", Some(&bulk)).await;
    assert_eq!(answer["results"][0]["code"], 403, "{answer}");
    let answer = data(&cluster, &ann, "POST", "/api/v1/training-tasks/bulk", Some(&bulk)).await;
    assert_eq!(answer["results"][0]["code"], 200, "{answer}");
}

#[tokio::test]
async fn lists_say_what_a_reader_may_do_with_what_belongs_to_others() {
    let cluster = closed().await;
    let mut readers = Vec::new();
    for (name, role, may) in
        [("ann", "member", true), ("bob", "member", false), ("eve", "viewer", false), ("oli", "operator", true)]
    {
        add_user(&cluster, name, role).await;
        readers.push((name, log_in(&cluster, name).await, may));
    }
    for kind in ["datasets", "models", "groups"] {
        let id = thing(&cluster, &readers[0].1, kind, 0).await;
        for (reader, token, may) in &readers {
            let listed = data(&cluster, token, "GET", &format!("/api/v1/{kind}"), None).await;
            let shown = data(&cluster, token, "GET", &format!("/api/v1/{kind}/{id}"), None).await;
            for row in [&listed["items"][0], &shown] {
                for (place, action) in ["change", "delete"].into_iter().enumerate() {
                    let said = &row["allowedActions"][place];
                    assert_eq!(
                        (said["action"].as_str(), said["allowed"].as_bool()),
                        (Some(action), Some(*may)),
                        "{row}"
                    );
                    let reason = said["reason"]["en"].as_str().unwrap_or_default();
                    assert_eq!(reason.contains("belongs to ann"), !may, "{kind} {reader}: {said}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_session_says_what_is_not_for_it() {
    let cluster = closed().await;
    let table: [(&str, &[&str]); 4] = [
        ("viewer", &["create", "change", "operate", "join", "administer"]),
        ("member", &["operate", "join", "administer"]),
        ("operator", &["administer"]),
        ("administrator", &[]),
    ];
    for (role, denied) in table {
        add_user(&cluster, role, role).await;
        let token = log_in(&cluster, role).await;
        let session = data(&cluster, &token, "GET", "/api/v1/session", None).await;
        let said: Vec<&str> =
            session["denied"].as_array().unwrap().iter().map(|one| one["deed"].as_str().unwrap()).collect();
        assert_eq!(said, denied, "{role}");
        assert!(session["denied"].as_array().unwrap().iter().all(|one| one["reason"]["zh-CN"].is_string()));
    }
}

/// A task whose variable HF_TOKEN is the secret of this name.
fn with_secret(name: &str) -> Value {
    json!({
        "taskName": "secretive",
        "command": {"argv": ["/bin/true"], "env": {"A": "b"}, "secrets": {"HF_TOKEN": name}},
        "distributedConfig": {"nodeIds": ["env-001"]},
    })
}

#[tokio::test]
async fn a_secret_is_used_by_its_owner_and_shown_to_no_one() {
    let cluster = closed().await;
    for (name, role) in [("ann", "member"), ("bob", "member"), ("eve", "viewer"), ("oli", "operator")] {
        add_user(&cluster, name, role).await;
    }
    let (ann, bob) = (log_in(&cluster, "ann").await, log_in(&cluster, "bob").await);
    let (eve, oli) = (log_in(&cluster, "eve").await, log_in(&cluster, "oli").await);
    let value = "hf_what-no-one-sees";
    let (own, shared) = (json!({"name": "hf", "value": value}), json!({"name": "all", "value": value, "shared": true}));
    data(&cluster, &ann, "POST", "/api/v1/secrets", Some(&own)).await;
    data(&cluster, &oli, "POST", "/api/v1/secrets", Some(&shared)).await;
    assert_eq!(ask(&cluster, &eve, "POST", "/api/v1/secrets", Some(&own)).await.status, 403);
    assert_eq!(ask(&cluster, &ann, "POST", "/api/v1/secrets", Some(&shared)).await.status, 403);
    for (body, id) in [
        (json!({"name": "../x", "value": "v"}), "secret_name_invalid"),
        (json!({"name": "x", "value": ""}), "secret_value_invalid"),
        (json!({"name": "x", "value": "a\u{0}b"}), "secret_value_invalid"),
    ] {
        let came = ask(&cluster, &ann, "POST", "/api/v1/secrets", Some(&body)).await;
        assert_eq!((came.status.as_u16(), came.json()["error"]["id"].as_str()), (422, Some(id)), "{}", came.text());
    }

    let names = async |token: &str| {
        let listed = data(&cluster, token, "GET", "/api/v1/secrets", None).await;
        assert!(!listed.to_string().contains(value));
        let name = |row: &Value| format!("{} {}", row["name"].as_str().unwrap(), row["owner"].as_str().unwrap_or("-"));
        listed["items"].as_array().unwrap().iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(&ann).await, ["all -", "hf ann"]);
    assert_eq!(names(&bob).await, ["all -"]);
    assert_eq!(names(ROOT).await, ["all -", "hf ann"]);

    // Another's secret is as good as none, also for a copy of the task that has it.
    let tasks = "/api/v1/training-tasks";
    let refused = ask(&cluster, &bob, "POST", tasks, Some(&with_secret("hf"))).await;
    assert_eq!(refused.json()["error"]["id"], "secret_unknown", "{}", refused.text());
    assert_eq!(refused.json()["error"]["field"], "command.secrets");
    let preview = format!("{tasks}/preview");
    assert_eq!(ask(&cluster, &bob, "POST", &preview, Some(&with_secret("hf"))).await.status, 422);
    let made = data(&cluster, &ann, "POST", tasks, Some(&with_secret("hf"))).await;
    let task = made["taskId"].as_str().unwrap().to_owned();
    assert_eq!(ask(&cluster, &bob, "POST", &format!("{tasks}/{task}/clone"), Some(&json!({}))).await.status, 422);
    data(&cluster, &bob, "POST", tasks, Some(&with_secret("all"))).await;

    let launch = data(&cluster, &eve, "GET", &format!("{tasks}/{task}/launch"), None).await;
    assert_eq!((&launch["env"]["HF_TOKEN"], &launch["env"]["A"]), (&json!("***"), &json!("b")));
    // An agent that does not mask what it was told to: no reader sees it.
    let env = [("HF_TOKEN".to_owned(), value.to_owned()), ("RANK".to_owned(), "0".to_owned())].into();
    let of_node = StartedNode { attempt: 1, ..StartedNode::default() };
    let unmasked = StartRecord::new(of_node, vec![RankStart { env, ..RankStart::default() }], Withheld::default());
    let name = StreamName { task: task.as_str().into(), attempt: 1, rank: 0, kind: StreamKind::Start };
    cluster.core.chunks().append(&name, 0, &unmasked.to_json()).unwrap();
    let start = data(&cluster, &eve, "GET", &format!("{tasks}/{task}/start"), None).await;
    assert_eq!(start["env"], json!({"HF_TOKEN": "***", "RANK": "0"}));
    for path in ["", "/events", "/explain", "/ranks", "/start", "/logs?attempt=1", "/logs/search?query=RANK&attempt=1"]
    {
        let shown = data(&cluster, &eve, "GET", &format!("{tasks}/{task}{path}"), None).await.to_string();
        assert!(!shown.contains(value), "{path}: {shown}");
    }
    let events = data(&cluster, ROOT, "GET", "/api/v1/events?newest=true", None).await.to_string();
    assert!(events.contains("the secret hf of ann was kept") && !events.contains(value), "{events}");

    assert_eq!(ask(&cluster, &bob, "DELETE", "/api/v1/secrets/hf?owner=ann", None).await.status, 403);
    assert_eq!(ask(&cluster, &bob, "DELETE", "/api/v1/secrets/hf", None).await.status, 404);
    data(&cluster, &oli, "DELETE", "/api/v1/secrets/hf?owner=ann", None).await;
    let reason = data(&cluster, &ann, "GET", &format!("{tasks}/{task}"), None).await["reason"]["en"].take();
    assert_eq!(reason, "the secret hf was deleted, and the task's variable HF_TOKEN needs it");
    data(&cluster, &ann, "POST", "/api/v1/secrets", Some(&own)).await;
    data(&cluster, ROOT, "DELETE", "/api/v1/users/ann", None).await;
    assert_eq!(names(ROOT).await, ["all -"], "what a removed user kept in secret is gone");
}

#[tokio::test]
async fn a_variable_is_given_once() {
    let cluster = closed().await;
    let mut body = with_secret("hf");
    body["command"]["env"] = json!({"HF_TOKEN": "x"});
    let came = ask(&cluster, ROOT, "POST", "/api/v1/training-tasks", Some(&body)).await;
    assert_eq!((came.status.as_u16(), &came.json()["error"]["id"]), (422, &json!("variable_twice")), "{}", came.text());
}

/// Something new of a kind, made with this token.
async fn thing(cluster: &Cluster, token: &str, kind: &str, number: usize) -> String {
    let name = format!("{kind} {number}");
    let body = match kind {
        "training-tasks" => json!({
            "taskName": name,
            "command": {"argv": ["/bin/true"]},
            "distributedConfig": {"nodeIds": ["env-001"]},
        }),
        _ => json!({ "name": name }),
    };
    let made = data(cluster, token, "POST", &format!("/api/v1/{kind}"), Some(&body)).await;
    let id = made["taskId"].as_str().or(made["id"].as_str());
    id.unwrap().to_owned()
}

/// Routes that stand in no document.
const OF_AGENTS: [(&str, &str); 6] = [
    ("GET", "/api/agent/v1/link"),
    ("POST", "/api/agent/v1/runs/{run}/journal"),
    ("GET", "/api/agent/v1/runs/{run}/journal"),
    ("POST", "/api/agent/v1/runs/{run}/streams/{attempt}/{rank}/{kind}"),
    ("GET", "/api/agent/v1/runs/{run}/streams/{attempt}/{rank}/{kind}"),
    ("GET", "/api/agent/v1/snapshots/{digest}"),
];

fn routes() -> Vec<(String, String)> {
    let document: Value = serde_json::from_str(openapi::json()).unwrap();
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        routes.extend(item.as_object().unwrap().keys().map(|method| (method.to_uppercase(), path.clone())));
    }
    routes.extend(OF_AGENTS.map(|(method, path)| (method.to_owned(), path.to_owned())));
    routes.extend(["/api/openapi.json", "/api/docs"].map(|path| ("GET".to_owned(), path.to_owned())));
    routes.retain(|(method, path)| !is_open(&method.parse().unwrap(), path));
    routes
}

/// A body with which a handler gets as far as the question whose it is.
fn body_for(path: &str) -> Value {
    match path {
        "/api/v1/datasets/{id}/versions" => json!({"version": "v1", "path": "/data"}),
        "/api/v1/groups/{id}/workers" => json!({"workers": ["llm-training-env-0"]}),
        _ => json!({}),
    }
}

/// Every route × role × owner. A route that is new shows here; so does one that is open to more than before.
#[tokio::test]
async fn every_route_is_tried_by_every_role_with_its_own_and_with_anothers() {
    let cluster = closed().await;
    for user in ["ann", "bob"] {
        add_user(&cluster, user, "administrator").await;
    }
    let (ann, bob) = (log_in(&cluster, "ann").await, log_in(&cluster, "bob").await);
    let mut tokens = Vec::new();
    for role in ROLES {
        tokens.push((role, token_of(&cluster, &ann, json!({"name": role, "role": role})).await));
    }
    let of_machine = token_of(&cluster, &ann, json!({"name": "gn6", "scope": "agent"})).await;

    let (mut matrix, mut number) = (String::new(), 1);
    for (method, route) in routes() {
        let kind = route.strip_prefix("/api/v1/").and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let has_owner = ["training-tasks", "datasets", "models", "groups"].contains(&kind) && route.contains("{id}");
        let mut may = [BTreeSet::new(), BTreeSet::new()];
        for (owner, may) in [&ann, &bob].into_iter().zip(&mut may) {
            for (index, (role, token)) in tokens.iter().enumerate() {
                number += 1;
                let id = if has_owner { thing(&cluster, owner, kind, number).await } else { "env-003".to_owned() };
                let path = route.replace("{id}", &id).replace("{name}", "nemo").replace("{run}", "task-1-g1-n0-i1");
                let path = path.replace("{attempt}", "1").replace("{rank}", "0").replace("{kind}", "stdout");
                let path = path.replace("{digest}", "0".repeat(64).as_str());
                let body = (method != "GET" && method != "DELETE").then(|| body_for(&route));
                // What revokes itself is made for this once.
                let ends_itself = (method.as_str(), route.as_str()) == ("DELETE", "/api/v1/session");
                let fresh = match ends_itself {
                    true => token_of(&cluster, &ann, json!({"name": role, "role": role})).await,
                    false => token.clone(),
                };
                let came = ask(&cluster, &fresh, &method, &path, body.as_ref()).await;
                assert!(!came.status.is_server_error(), "{method} {path}: {}", came.text());
                if refusal(&came).is_none() {
                    may.insert(index);
                } else {
                    assert_eq!(came.status, 403, "{method} {path} {role}: {}", came.text());
                    assert!(came.json()["error"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()));
                }
            }
        }
        let probe = route.replace("{id}", "env-003").replace("{run}", "task-1-g1-n0-i1");
        let body = (method != "GET" && method != "DELETE").then(|| json!({}));
        let stranger = ask(&cluster, "", &method, &probe, body.as_ref()).await;
        assert_eq!(stranger.status, 401, "{method} {route}");
        let machine = refusal(&ask(&cluster, &of_machine, &method, &probe, body.as_ref()).await);
        assert_eq!(machine.is_none(), route.starts_with("/api/agent/"), "{method} {route}: {machine:?}");
        let said = |may: &BTreeSet<usize>| {
            let least = may.first().copied().unwrap_or(ROLES.len());
            assert_eq!(may.len(), ROLES.len() - least, "{method} {route}: a smaller role may what a larger may not");
            ROLES.get(least).copied().unwrap_or("no one")
        };
        let (own, others) = (said(&may[0]), said(&may[1]));
        let others = if own == others { String::new() } else { format!(", of others {others}") };
        matrix.push_str(&format!("{method:<6} {route}: {own}{others}\n"));
    }
    insta::assert_snapshot!(matrix);
}
