//! The power goes while the server works: what it has answered with success is there when it is started again.
//!
//! A server is recorded; at each answer that a client has seen, the disk is made as a power cut would leave it
//! ([`Cut`]), and the real server is started on that.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Cut, Faults, Fleet, Mark, Place, Recording, eventually, is_long};

/// What a client has been told, and how it is found again.
struct Promise {
    what: String,
    at: Mark,
    /// Until then; it may have been deleted since.
    until: Option<Mark>,
    holds: Box<dyn Fn(&Fleet) -> bool>,
}

/// A server that is recorded, and what it has promised.
struct Recorded {
    fleet: Fleet,
    recording: Recording,
    promises: Vec<Promise>,
}

impl Recorded {
    fn new() -> Self {
        Self::in_place(Place::new())
    }

    fn in_place(mut place: Place) -> Self {
        let recording = Recording::of(&mut place);
        let fleet = Fleet::server_in(place, None, &[]);
        let mut recorded = Self { fleet, recording, promises: Vec::new() };
        let token = recorded.fleet.token();
        recorded.promise("the token", move |fleet| fleet.token() == token);
        recorded
    }

    fn promise(&mut self, what: impl Into<String>, holds: impl Fn(&Fleet) -> bool + 'static) {
        let at = self.recording.mark();
        self.promises.push(Promise { what: what.into(), at, until: None, holds: Box::new(holds) });
    }

    fn post(&mut self, path: &str, body: &Value, holds: impl Fn(&Fleet, &Value) -> bool + 'static) -> Value {
        let (status, mut answer) = self.fleet.post(path, body);
        assert_eq!(status, 200, "{path}: {answer}");
        let data = answer["data"].take();
        let said = data.clone();
        self.promise(format!("POST {path}"), move |fleet| holds(fleet, &said));
        data
    }

    fn task(&mut self, script: &str) -> String {
        let id = self.fleet.environment_id("one");
        let request = json!({
            "taskName": "recorded",
            "command": { "argv": ["/bin/sh", "-c", script] },
            "distributedConfig": { "enabled": false, "framework": "command", "nodeIds": [id], "masterNode": id },
        });
        let created = self.post("/training-tasks", &request, |fleet, task| {
            let id = task["taskId"].as_str().unwrap();
            fleet.try_get(&format!("/training-tasks/{id}")).is_some_and(|(status, _)| status == 200)
        });
        created["taskId"].as_str().unwrap().to_owned()
    }

    /// A task whose log is read while it is written: what was shown once stays.
    fn train(&mut self) -> String {
        let id = self.task("for i in 1 2 3 4; do echo line $i; sleep 0.1; done");
        let mut shown = String::new();
        eventually("the task to succeed", || {
            let is_over = self.fleet.task(&id)["status"] == "succeeded";
            let log = self.fleet.log(&id, 1, 0);
            if log != shown || is_over {
                shown.clone_from(&log);
                let id = id.clone();
                self.promise(format!("{} bytes of a log", log.len()), move |fleet| {
                    fleet.log(&id, 1, 0).starts_with(&log) && (!is_over || fleet.task(&id)["status"] == "succeeded")
                });
            }
            is_over.then_some(())
        });
        id
    }

    fn delete(&mut self, id: &str) {
        eventually("the task to be swept", || {
            let before = self.recording.mark();
            let (status, _) = self.fleet.delete(&format!("/training-tasks/{id}"));
            (status == 200).then(|| {
                let is_of_it = |what: &str| what.contains("log") || what.contains("training-tasks");
                let of_it = self.promises.iter_mut().filter(|promise| is_of_it(&promise.what));
                of_it.for_each(|promise| promise.until = Some(before));
            })
        });
        let path = format!("/training-tasks/{id}");
        self.promise("DELETE", move |fleet| fleet.try_get(&path).is_some_and(|(status, _)| status == 404));
    }

    /// Starts the real server on what is left at this moment, and asks for all that was promised before.
    fn cut(&self, at: Mark, cut: Cut) {
        let place = Place::new();
        self.recording.leave(at, cut, place.path());
        let left = Fleet::server_in(place, None, &[]);
        let promises =
            self.promises.iter().filter(|promise| promise.at <= at && promise.until.is_none_or(|end| at <= end));
        for promise in promises {
            assert!((promise.holds)(&left), "after a power cut ({cut:?}) this is forgotten: {}", promise.what);
        }
    }
}

/// Sends code, and answers with its digest.
fn upload(fleet: &Fleet) -> String {
    fleet.place.file("project/train.sh", "echo trained\n");
    let shell = "tar czf code.tar.gz project && sha256sum code.tar.gz";
    let packed = fleet.place.program("/bin/sh").args(["-c", shell]).output().unwrap().stdout;
    let digest = String::from_utf8(packed).unwrap().split(' ').next().unwrap().to_owned();
    let sent = ureq::post(format!("http://{}/api/v1/snapshots", fleet.address()))
        .header("authorization", fleet.bearer())
        .header("content-type", "application/gzip")
        .header("x-fermi-digest", format!("sha256:{digest}"))
        .send(fs::read(fleet.place.work().join("code.tar.gz")).unwrap());
    assert_eq!(sent.unwrap().status().as_u16(), 200);
    digest
}

#[test]
fn what_was_answered_with_success_survives_a_power_cut() {
    let mut recorded = Recorded::new();
    recorded.fleet.add("one", 1, &[]);
    recorded.promise("an environment", |fleet| {
        let (_, answer) = fleet.try_get("/environments").unwrap();
        answer["data"]["items"].as_array().is_some_and(|items| items.iter().any(|one| one["name"] == "one"))
    });
    let key = fs::read(recorded.fleet.data().join("secrets.key")).unwrap();
    recorded.post("/secrets", &json!({ "name": "HF_TOKEN", "value": "hf" }), move |fleet, _| {
        let listed = fleet.get("/secrets").to_string();
        listed.contains("HF_TOKEN") && fs::read(fleet.data().join("secrets.key")).is_ok_and(|now| now == key)
    });
    recorded.post("/datasets", &json!({ "name": "corpus" }), |fleet, _| {
        fleet.get("/datasets").to_string().contains("corpus")
    });
    let snapshot = upload(&recorded.fleet);
    recorded.promise("a snapshot", move |fleet| fleet.data().join(format!("snapshots/{snapshot}.tar.gz")).exists());
    let trained = recorded.train();
    recorded.delete(&trained);
    let endless = recorded.task("sleep 600");
    recorded.post(&format!("/training-tasks/{endless}/stop"), &json!({}), move |fleet, _| {
        ["stopping", "stopped"].iter().any(|status| fleet.task(&endless)["status"] == *status)
    });
    let marks: Vec<Mark> = recorded.promises.iter().map(|promise| promise.at).collect();
    let cuts: &[Cut] = if is_long() { &[Cut::Synced, Cut::Names, Cut::Torn] } else { &[Cut::Synced] };
    for cut in cuts {
        marks.iter().for_each(|mark| recorded.cut(*mark, *cut));
    }
    recorded.cut(recorded.recording.mark(), Cut::Names);
    recorded.cut(recorded.recording.mark(), Cut::Torn);
}

/// What a failed call has left undone is not taken for done when the same is tried again.
#[test]
fn a_sync_that_fails_once_is_made_up_for() {
    let mut place = Place::new();
    let faults = Faults::of(&mut place);
    let mut recorded = Recorded::in_place(place);
    recorded.fleet.add("one", 1, &[]);
    for fault in ["server fsync /rank-0$ 1 EIO", "server fsync /streams$ 1 EIO", "server fsync /stdout.0$ 1 EIO"] {
        faults.arm(&fault.parse().unwrap());
        recorded.train();
        assert_eq!(faults.struck(), 1, "{fault}");
        recorded.cut(recorded.recording.mark(), Cut::Synced);
    }
}
