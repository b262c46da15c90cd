//! Environments come, fall silent, come back; names are unique; and nobody reaches the API who should not.

use std::time::{Duration, Instant};

use crate::support::{Fleet, Place, Run, eventually, signal};
use serde_json::{Value, json};

fn kinds(fleet: &Fleet) -> Vec<String> {
    let events = fleet.get("/events?pageSize=200");
    events["items"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_silent_environment_is_suspect_then_offline_and_back_by_itself() {
    let fleet = Fleet::of(&[("quiet", 1)]);
    let agent = fleet.agent_pid(0);
    signal(agent, libc::SIGSTOP);
    fleet.environment_is("quiet", "suspect");
    fleet.environment_is("quiet", "offline");
    let id = fleet.environment_id("quiet");
    let request = json!({"taskName": "x", "command": {"argv": ["true"]}, "distributedConfig": {"nodeIds": [id]}});
    let (status, answer) = fleet.post("/training-tasks", &request);
    assert_eq!((status, answer["error"]["id"].as_str()), (422, Some("environment_offline")), "{answer}");
    signal(agent, libc::SIGCONT);
    fleet.environment_is("quiet", "running");
    for kind in ["environment.connected", "environment.suspect", "environment.offline", "environment.back"] {
        eventually(kind, || kinds(&fleet).iter().any(|known| known == kind).then_some(()));
    }
}

#[test]
fn a_second_agent_of_the_same_name_is_refused_with_a_sentence() {
    let fleet = Fleet::of(&[("taken", 1)]);
    let server = format!("http://{}", fleet.address());
    let data = fleet.place.path().join("other");
    let mut command =
        fleet.place.fermi(["agent", "--server", &server, "--name", "taken", "--zone", "z", "--workers", "1"]);
    let second = Run::start(command.arg("--data-dir").arg(data));
    second.says("another agent is connected under the name taken");
    second.signal(libc::SIGTERM);
    second.ended();
    fleet.environment_is("taken", "running");
}

#[test]
fn declared_resources_are_counted_and_marked() {
    let mut fleet = Fleet::server();
    fleet.add(
        "big",
        1,
        &["--declare", "gpus=2xA100,cpus=16,memory=128GiB", "--kind", "jupyter", "--label", "team=nlp"],
    );
    let environments = fleet.get("/environments");
    let big = &environments["items"][0];
    assert_eq!(
        (&big["gpuCount"], &big["gpuType"], &big["cpuCores"], &big["memory"]),
        (&json!(2), &json!("A100"), &json!(16), &json!(128))
    );
    assert_eq!(
        (&big["declared"], &big["kind"], &big["labels"]["team"]),
        (&json!(true), &json!("jupyter"), &json!("nlp"))
    );
    assert_eq!(big["workers"].as_array().unwrap().len(), 2);

    // Where model and GPUs are known the planner is asked, and says what would fit.
    let model = fleet.post("/models", &json!({ "name": "llama2-7b" })).1["data"]["id"].clone();
    let nodes = json!({ "nodeIds": [big["id"]], "framework": "pytorch-ddp" });
    let request = json!({
        "taskName": "x", "modelId": model, "command": { "argv": ["true"] }, "distributedConfig": nodes,
    });
    for path in ["/training-tasks/preview", "/training-tasks"] {
        let (status, answer) = fleet.post(path, &request);
        let data = &answer["data"];
        assert_eq!((status, &data["plan"]["fits"]), (200, &json!(false)), "{answer:#}");
        let warned = data["warnings"].as_array().unwrap().iter().any(|warning| warning["id"] == "does_not_fit");
        assert!(warned, "{answer:#}");
    }
}

/// The server and `fermi plan` are asked about the same machines, and name the same strategy with the same numbers.
#[test]
fn a_preview_and_the_plan_of_the_same_machines_agree() {
    let mut fleet = Fleet::server();
    fleet.add("big", 1, &["--declare", "gpus=8xA100,cpus=16,memory=128GiB"]);
    let node = fleet.environment_id("big");
    let mut suggested = 0;
    for model in ["gpt2", "opt-1.3b", "llama2-7b", "llama3-70b"] {
        let id = fleet.post("/models", &json!({ "name": model })).1["data"]["id"].clone();
        for framework in ["pytorch-ddp", "pytorch-fsdp", "deepspeed", "megatron-lm"] {
            let nodes = json!({ "nodeIds": [node], "framework": framework });
            let request = json!({
                "taskName": "x", "modelId": id, "command": { "argv": ["true"] }, "distributedConfig": nodes,
            });
            let (status, answer) = fleet.post("/training-tasks/preview", &request);
            let said = &answer["data"]["plan"];
            assert!(status == 200 && said.is_object(), "{model} with {framework}: {answer:#}");
            let card = said["gpuMemoryGib"].to_string();
            let words =
                ["plan", "--json", "--model", model, "--gpus", "8xA100", "--gpu-memory", &card, "--host-memory", "128"];
            let words = words.into_iter().chain(["--top", "1000"]);
            let plan: Value = serde_json::from_str(&Run::whole(&mut fleet.place.fermi(words)).expect(0).out()).unwrap();
            let recommended = &plan["recommended"];
            let case = format!("{model} with {framework}: {said:#}\n{recommended:#}");
            match (&said["suggestion"], recommended.is_null()) {
                (Value::Null, fits_nowhere) => assert!(said["fits"] == json!(true) || fits_nowhere, "{case}"),
                (suggestion, false) => {
                    suggested += 1;
                    for (ours, theirs) in
                        [("strategy", "strategy"), ("memoryGib", "needed_gib"), ("stepTimeS", "step_time_s")]
                    {
                        assert_eq!(suggestion[ours], recommended[theirs], "{case}");
                    }
                }
                (suggestion, true) => {
                    let ways = plan["would_fit"].as_array().unwrap();
                    let first = ways.iter().find(|way| way["fits"] == json!(true)).unwrap();
                    assert_eq!(suggestion["memoryGib"], first["needed_gib"], "{case}");
                }
            }
            if said["fits"] == json!(true) {
                let listed = plan["alternatives"].as_array().unwrap();
                let same = listed.iter().any(|way| way["step_time_s"] == said["stepTimeS"]);
                assert!(same, "{case}");
            }
        }
    }
    assert!(suggested > 0);
}

/// Ranks that hide in sessions of their own and ignore every signal that can be ignored.
#[test]
fn fermi_up_leaves_nothing_of_a_task_that_ignores_signals_and_hides() {
    let place = Place::new();
    let mut command = place.fermi(["up", "--json", "--listen", "127.0.0.1:0", "--env", "here:zone:2"]);
    let up = Run::start(command.env("FERMI_LANG", "en"));
    let server = eventually("the address of the server", || {
        let said: Value = serde_json::from_str(up.stdout_so_far().lines().next()?).ok()?;
        Some(said["server"].as_str()?.to_owned())
    });
    up.says("Ctrl-C");
    let stubborn = "trap '' TERM INT HUP; echo up; while :; do sleep 1; done";
    let script = format!("setsid sh -c \"{stubborn}\" & {stubborn}");
    let mut create = place.fermi(["task", "create", "--name", "stubborn", "--env", "here", "--framework", "command"]);
    create.args(["--", "sh", "-c", &script]).env("FERMI_SERVER", &server);
    let id = Run::whole(&mut create).expect(0).out().trim().to_owned();
    eventually("both ranks and what they started to run", || {
        let command = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let stubborn = place.alive().iter().filter(|process| command(process.pid).contains("trap ''")).count();
        (stubborn >= 4).then_some(())
    });
    up.signal(libc::SIGTERM);
    up.says("stopping");
    up.signal(libc::SIGTERM);
    let ended = up.ended();
    assert_eq!(ended.code(), Some(128 + libc::SIGTERM), "{id}: {}", ended.err());
    place.assert_empty();
}

/// An agent that waits for orders is woken by its heartbeat and by what happens, not by looking around.
#[test]
fn an_idle_agent_wakes_at_most_five_times_a_second() {
    let fleet = Fleet::of(&[("idle", 1)]);
    let agent = fleet.agent_pid(0);
    // Each time a thread goes to sleep of its own will; being pushed aside by others does not count.
    let sleeps = || -> u64 {
        let threads = std::fs::read_dir(format!("/proc/{agent}/task")).unwrap().flatten();
        let status = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
        let of = |text: &str| {
            text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")?.trim().parse::<u64>().ok())
        };
        status.filter_map(|text| of(&text)).sum()
    };
    let heartbeats = || fleet.get("/environments")["items"][0]["heartbeatAgeMs"].as_u64().unwrap();
    // The link has settled when heartbeats come.
    eventually("a heartbeat", || (heartbeats() < 900).then_some(()));
    // And what an agent writes down once, when it was welcomed, is written.
    std::thread::sleep(Duration::from_secs(2));
    let (before, started) = (sleeps(), Instant::now());
    eventually("four seconds", || (started.elapsed() >= Duration::from_secs(4)).then_some(()));
    let each_second = (sleeps() - before) as f64 / started.elapsed().as_secs_f64();
    assert!(each_second <= 5.0, "{each_second:.1} a second");
}

#[test]
fn a_task_on_a_held_worker_waits_says_for_whom_and_starts_when_it_is_free() {
    let fleet = Fleet::of(&[("only", 1)]);
    let first = fleet.run_script("echo up; sleep 600", 0);
    fleet.says(&first, 1, 0, "up");
    let second = fleet.run_script("echo mine", 0);
    let waiting = fleet.task_is(&second, "queued");
    eventually("a reason", || {
        let task = fleet.task(&second);
        task["reason"]["en"].as_str().is_some_and(|reason| reason.contains(&first)).then_some(())
    });
    assert_eq!(waiting["worldSize"], 0);
    let (status, _) = fleet.post(&format!("/training-tasks/{first}/stop"), &json!({}));
    assert_eq!(status, 200);
    fleet.task_is(&first, "stopped");
    fleet.task_is(&second, "succeeded");
    // What a rank wrote may arrive after the news of its end.
    fleet.says(&second, 1, 0, "mine\n");
    fleet.assert_idle();
}

/// A raw request, with headers that a browser would not let a page set.
fn ask(fleet: &Fleet, headers: &[(&str, &str)]) -> (u16, Value) {
    let http: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut request = http.get(format!("http://{}/api/v1/environments", fleet.address()));
    request = request.header("authorization", fleet.bearer());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut answer = request.call().unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    (answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::Null))
}

#[test]
fn on_loopback_no_web_page_reaches_the_api() {
    let fleet = Fleet::server();
    assert_eq!(ask(&fleet, &[]).0, 200);
    assert_eq!(ask(&fleet, &[("host", "localhost:7070")]).0, 200);
    assert_eq!(ask(&fleet, &[("origin", &format!("http://{}", fleet.address()))]).0, 200);
    for headers in [
        &[("host", "evil.example")][..],
        &[("host", "127.0.0.1.evil.example")],
        &[("origin", "http://evil.example")],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
    ] {
        let (status, answer) = ask(&fleet, headers);
        assert_eq!(status, 403, "{headers:?}");
        assert!(answer["error"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{answer}");
    }
}

#[test]
fn what_machines_did_outlives_a_restart_of_the_server() {
    let mut fleet = Fleet::of(&[("kept", 1)]);
    let path = format!("/environments/{}/metrics", fleet.environment_id("kept"));
    let times = |fleet: &Fleet| -> Vec<u64> {
        let points = fleet.get(&path);
        points["points"].as_array().unwrap().iter().map(|point| point["time"].as_u64().unwrap()).collect()
    };
    let before = eventually("three samples", || Some(times(&fleet)).filter(|times| times.len() >= 3));
    signal(fleet.server_pid(), libc::SIGTERM);
    fleet.wait_for_server();
    fleet.start_server();
    fleet.environment_is("kept", "running");
    let after = eventually("new samples", || Some(times(&fleet)).filter(|times| times.len() >= 2));
    assert!(after[0] <= before[before.len() - 1] + 1_000, "a mean of before: {before:?} {after:?}");
    assert!(after.is_sorted(), "{after:?}");
}
