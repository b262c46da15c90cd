//! Webhooks of a real server: receivers that are down, slow or answer 500 hold up nothing else, and are told everything in
//! its order once they are back, also by a server that was killed meanwhile.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Fleet, Run, eventually};
use serde_json::{Value, json};

/// What a receiver answers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    Takes(&'static str),
    Fails,
    /// Takes the connection and says nothing.
    Sleeps,
}

#[derive(Clone, Debug)]
struct Came {
    headers: BTreeMap<String, String>,
    body: Value,
}

/// A receiver on loopback.
struct Receiver {
    port: u16,
    mood: Arc<Mutex<Mood>>,
    came: Arc<Mutex<Vec<Came>>>,
}

impl Receiver {
    fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (mood, came) = (Arc::new(Mutex::new(mood)), Arc::new(Mutex::new(Vec::new())));
        let receiver = Self { port, mood: mood.clone(), came: came.clone() };
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming().flatten() {
                let mood = *mood.lock().unwrap();
                if mood == Mood::Sleeps {
                    held.push(stream);
                    continue;
                }
                let came = came.clone();
                std::thread::spawn(move || answer(stream, mood, &came));
            }
        });
        receiver
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook/key-4711", self.port)
    }

    fn becomes(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn taken(&self) -> Vec<Came> {
        self.came.lock().unwrap().clone()
    }
}

fn answer(stream: TcpStream, mood: Mood, came: &Mutex<Vec<Came>>) {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut headers = BTreeMap::new();
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let (status, said) = match mood {
        Mood::Takes(said) => ("200 OK", said),
        _ => ("500 Internal Server Error", "broken"),
    };
    if status.starts_with("200") {
        came.lock().unwrap().push(Came { headers, body: serde_json::from_slice(&body).unwrap() });
    }
    let length = said.len();
    let _ = write!(&stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{said}");
}

fn add(fleet: &Fleet, name: &str, more: &Value) -> String {
    let mut request = json!({ "name": name, "language": "en" });
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (status, answer) = fleet.post("/webhooks", &request);
    assert_eq!(status, 200, "{answer}");
    answer["data"]["id"].as_str().unwrap().to_owned()
}

fn webhook(fleet: &Fleet, id: &str) -> Value {
    let all = fleet.get("/webhooks");
    all["items"].as_array().unwrap().iter().find(|it| it["id"] == id).unwrap().clone()
}

#[test]
fn receivers_that_fail_are_told_everything_in_order_once_they_are_back() {
    let mut fleet = Fleet::of(&[("gn1", 1)]);
    let (broken, sleeping) = (Receiver::start(Mood::Fails), Receiver::start(Mood::Sleeps));
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let told = add(&fleet, "told", &json!({ "url": broken.url(), "secret": "s3cret" }));
    add(&fleet, "sleeps", &json!({ "url": sleeping.url() }));
    add(&fleet, "down", &json!({ "url": format!("http://127.0.0.1:{unused}/"), "topics": ["failed"] }));

    let good = fleet.run_script("exit 0", 0);
    fleet.task_is(&good, "succeeded");
    let bad = fleet.run_script("echo 'CUDA out of memory' >&2; exit 3", 0);
    fleet.task_is(&bad, "failed");
    let failing =
        eventually("it is seen to fail", || Some(webhook(&fleet, &told)).filter(|it| it["failingSince"].is_u64()));
    assert_eq!(failing["problem"]["en"], "the receiver answered HTTP 500");
    assert!(!failing.to_string().contains("4711") && !failing.to_string().contains("s3cret"), "{failing}");
    let events = fleet.get(&format!("/training-tasks/{good}/explain"))["events"].to_string();
    assert!(events.contains("the webhook 'told' could not be told and is tried again"), "{events}");

    fleet.kill_server();
    broken.becomes(Mood::Takes("ok"));
    fleet.start_server();
    let third = fleet.run_script("exit 0", 0);
    fleet.task_is(&third, "succeeded");
    let came = eventually("all three are told", || Some(broken.taken()).filter(|came| came.len() >= 3));
    let tasks: Vec<&str> = came.iter().map(|it| it.body["task"]["id"].as_str().unwrap()).collect();
    assert_eq!(tasks, [&good, &bad, &third]);
    assert_eq!(came[1].body["event"], "task.failed");
    let said = came[1].body["text"].as_str().unwrap();
    assert!(said.contains("rank 0 on gn1 ended with exit code 3"), "{said}");
    for it in &came {
        let id = it.body["id"].as_str().unwrap();
        assert!(id.starts_with(&format!("{told}-")) && it.headers["x-fermi-delivery"] == id, "{id}");
        assert!(it.headers["x-fermi-signature"].starts_with("sha256="), "{:?}", it.headers);
    }
    let healed = eventually("it is fine again", || Some(webhook(&fleet, &told)).filter(|it| it["delivered"] == 3));
    assert!(healed["failingSince"].is_null() && healed["problem"].is_null(), "{healed}");
    let events = fleet.get(&format!("/training-tasks/{third}/explain"))["events"].to_string();
    assert!(events.contains("the webhook 'told' was told"), "{events}");
}

#[test]
fn who_waits_for_long_is_told_of_and_a_test_says_what_the_chat_made_of_it() {
    let rules = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(rules.path(), "public_url: https://fermi.example/\nqueue:\n  long_wait: 1\n").unwrap();
    let mut fleet = Fleet::server_with(None, &["--config", rules.path().to_str().unwrap()]);
    fleet.add("gn1", 1, &[]);
    let chat = Receiver::start(Mood::Takes(r#"{"code":19021,"msg":"sign match fail"}"#));
    let id = add(&fleet, "chat", &json!({ "url": chat.url(), "format": "feishu", "topics": ["waiting"] }));
    let (status, answer) = fleet.post(&format!("/webhooks/{id}/test"), &json!({}));
    assert_eq!(status, 502, "{answer}");
    assert!(answer.to_string().contains("sign match fail"), "{answer}");

    chat.becomes(Mood::Takes(r#"{"code":0,"msg":"success"}"#));
    assert_eq!(fleet.post(&format!("/webhooks/{id}/test"), &json!({})).0, 200);
    let runs = fleet.run_script("sleep 1000", 0);
    fleet.task_is(&runs, "running");
    let waits = fleet.run_script("exit 0", 0);
    fleet.task_is(&waits, "queued");
    // The answer to the test that failed came as well.
    let came = eventually("it is told of", || Some(chat.taken()).filter(|came| came.len() >= 3));
    let post = &came[2].body["content"]["post"]["en_us"];
    assert!(post["title"].as_str().unwrap().starts_with("Task waits for long: "), "{post}");
    let content = post["content"].to_string();
    assert!(content.contains("it has waited for 0 min; ") && content.contains(&runs), "{content}");
    assert!(content.contains(&format!("https://fermi.example/training/{waits}")), "{content}");
    // Once is enough: when the next one is told of, the first was looked at again.
    let behind = fleet.run_script("exit 0", 0);
    let came = eventually("the next is told of", || Some(chat.taken()).filter(|came| came.len() >= 4));
    let next = came[3].body["content"]["post"]["en_us"]["title"].to_string();
    assert!(next.contains(&behind), "{next}");
    let (status, _) = fleet.post(&format!("/training-tasks/{runs}/stop"), &json!({}));
    assert_eq!(status, 200);
    fleet.task_is(&waits, "succeeded");
    assert_eq!(chat.taken().len(), 4);
}

#[test]
fn the_command_line_adds_lists_tries_and_removes_webhooks() {
    let fleet = Fleet::server();
    let receiver = Receiver::start(Mood::Takes("ok"));
    let fermi = |words: &[&str], code, said: &str| {
        let ended = Run::whole(fleet.place.fermi(words).args(["--server", fleet.address()])).expect(code);
        let all = ended.out() + &ended.err();
        assert!(all.contains(said), "'{said}' is not in\n{all}");
    };
    let url = receiver.url();
    fermi(&["webhook", "add", "team", &url, "--on", "failed,waiting"], 0, "webhook-1");
    fermi(&["webhook", "list"], 0, "failed,waiting");
    fermi(&["webhook", "test", "team"], 0, "has taken it");
    assert_eq!(receiver.taken()[0].body["event"], "test");
    fermi(&["webhook", "add", "team", &url], 5, "there is a webhook 'team' already");
    fermi(&["webhook", "add", "other", "ftp://x"], 2, "https://HOST/PATH");
    fermi(&["webhook", "add", "other", &url, "--on", "fail"], 2, "succeeded, failed, stopped, waiting");
    fermi(&["webhook", "remove", "team"], 0, "was removed");
    fermi(&["webhook", "list"], 0, "There are no webhooks");
}
