//! `fermi doctor --nodes`: the agents of environments check each other through the server.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::support::{Elsewhere, Ended, Fleet, Hosts, Run, eventually, signal, torch_python};
use serde_json::{Value, json};

fn json(out: &str) -> Value {
    serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// The nodes that each bad finding of this name concerns.
fn named(report: &Value, check: &str) -> Vec<Vec<u64>> {
    let findings = report["findings"].as_array().unwrap().iter();
    let bad = findings.filter(|it| it["check"] == check && it["state"] != "ok");
    let nodes = |it: &Value| it["nodes"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    bad.map(nodes).collect()
}

fn states(report: &Value, check: &str) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter().filter(|it| it["check"] == check);
    findings.map(|it| it["state"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn environments_check_each_other_and_the_last_result_is_kept() {
    let mut fleet = Fleet::of(&[("pf-a", 1), ("pf-b", 1)]);
    let data = fleet.place.path().join("shared");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("a.txt"), "12345").unwrap();
    let report = json(&doctor(&fleet, "pf-a,pf-b", &["--path", data.to_str().unwrap()]).out());
    let all = serde_json::to_string_pretty(&report["findings"]).unwrap();
    assert_eq!(states(&report, "nodes.presence"), ["ok"], "{all}");
    assert_eq!(states(&report, "wire.sum"), ["ok"], "{all}");
    assert_eq!(states(&report, "folder.shared"), ["ok"], "{all}");
    assert_eq!(states(&report, "wire.zones").len(), 1, "{all}");
    assert!(report["roundTripsUs"][0][1].as_u64().is_some_and(|trip| trip > 0), "{report}");
    assert!(report["bytesPerSecond"][1][0].as_u64().is_some_and(|speed| speed > 0), "{report}");
    assert_eq!(fs::read_dir(&data).unwrap().count(), 1, "the mark is gone");
    let id = report["id"].as_str().unwrap();
    let kept = fleet.get(&format!("/preflights/{id}"));
    assert_eq!((&kept["findings"], &kept["progress"]["step"]), (&report["findings"], &json!("over")));
    assert_eq!(kept["createdBy"]["kind"], "user");
    let events = fleet.get("/events?pageSize=200");
    let kinds: Vec<&str> = events["items"].as_array().unwrap().iter().filter_map(|it| it["kind"].as_str()).collect();
    assert!(kinds.contains(&"preflight.started") && kinds.contains(&"preflight.ended"), "{kinds:?}");

    doctor(&fleet, "pf-a,none", &[]).expect(3).says(&["none"]);
    let (status, refused) = fleet.post("/preflights", &json!({"environments": ["pf-a"], "path": "data"}));
    assert_eq!((status, refused["error"]["field"].as_str()), (422, Some("path")), "{refused}");
    let (status, refused) = fleet.post("/preflights", &json!({"environments": []}));
    assert_eq!((status, refused["error"]["id"].as_str()), (422, Some("environments_required")), "{refused}");

    fleet.kill_agent(1);
    eventually("the link to be gone", || {
        let report = json(&doctor(&fleet, "pf-a,pf-b", &[]).expect(1).out());
        (named(&report, "nodes.offline") == [[1]]).then_some(())
    });
}

#[test]
fn the_agents_let_torch_add_by_its_own_means() {
    let mut fleet = Fleet::server();
    let python = format!("PYTHON_EXEC={}", torch_python().display());
    for name in ["pe-a", "pe-b"] {
        let words = ["env", &python, "GLOO_SOCKET_IFNAME=lo"].map(str::to_owned).to_vec();
        let server = fleet.address().to_owned();
        fleet.add_elsewhere(name, 1, Elsewhere { words, server });
    }
    let report = json(&with_engine(&fleet, &["--engine", "torch"]).out());
    let all = serde_json::to_string_pretty(&report["findings"]).unwrap();
    assert_eq!(states(&report, "engine.sum"), ["ok"], "{all}");
    assert_eq!(states(&report, "engine.devices"), ["ok"], "{all}");
    assert!(all.contains("2 nodes all-reduce by torch (gloo)"), "{all}");
    let refused = fleet.post("/preflights", &json!({"environments": ["pe-a"], "engine": "torch", "python": false}));
    assert_eq!((refused.0, refused.1["error"]["field"].as_str()), (422, Some("engine")), "{refused:?}");
}

#[test]
fn an_engine_that_is_missing_is_said_of_each_node() {
    let fleet = Fleet::of(&[("pm-a", 1), ("pm-b", 1)]);
    let report = json(&with_engine(&fleet, &["--engine", "torch"]).expect(1).out());
    let all = serde_json::to_string_pretty(&report["findings"]).unwrap();
    assert_eq!(states(&report, "engine.sum"), ["error"], "{all}");
    assert!(all.contains("pm-a: ModuleNotFoundError") && all.contains("pm-b: ModuleNotFoundError"), "{all}");
    assert!(
        all.contains("torch is not in the Python of pm-a, pm-b")
            && !all.contains("where Fermi's own all-reduce succeeds"),
        "{all}"
    );
}

fn with_engine(fleet: &Fleet, options: &[&str]) -> Ended {
    let server = format!("http://{}", fleet.address());
    let nodes: Vec<String> = fleet.get("/environments?pageSize=10")["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect();
    let mut command = fleet.place.fermi(["doctor", "--nodes", &nodes.join(","), "--json", "--server", &server]);
    Run::whole(command.arg("--token-file").arg(fleet.data().join("token")).args(options))
}

fn doctor(fleet: &Fleet, nodes: &str, options: &[&str]) -> Ended {
    let server = format!("http://{}", fleet.address());
    let mut command = fleet.place.fermi(["doctor", "--nodes", nodes, "--no-python", "--json", "--server", &server]);
    Run::whole(command.arg("--token-file").arg(fleet.data().join("token")).args(options))
}

/// A server on the last host, agents on those before it.
struct Cluster {
    _agents: Vec<Run>,
    _server: Run,
    server: String,
    token: std::path::PathBuf,
    last: usize,
}

impl Cluster {
    fn on(hosts: &Hosts, last: usize) -> Self {
        let fermi = env!("CARGO_BIN_EXE_fermi");
        let address = format!("10.77.0.{last}:7070");
        let server = format!("http://{address}");
        let data = |host: usize| hosts.place(host).path().join("data");
        let mut command = hosts.program(last, fermi);
        let serving = Run::start(command.args(["server", "--listen", &address, "--data-dir"]).arg(data(last)));
        let token = data(last).join("token");
        eventually("the server's token", || token.exists().then_some(()));
        let agents: Vec<Run> = (1..last)
            .map(|host| {
                let mut command = hosts.program(host, fermi);
                let name = format!("gn{host}");
                command.args(["agent", "--server", &server, "--name", &name, "--workers", "1", "--data-dir"]);
                Run::start(command.arg(data(host)).arg("--token-file").arg(&token))
            })
            .collect();
        for agent in &agents {
            agent.says("connected");
        }
        Self { _agents: agents, _server: serving, server, token, last }
    }

    fn command(&self, hosts: &Hosts, words: &[&str]) -> std::process::Command {
        let mut command = hosts.program(self.last, env!("CARGO_BIN_EXE_fermi"));
        // What is asked for comes before the user's own command.
        let at = words.iter().position(|word| *word == "--").unwrap_or(words.len());
        command.args(&words[..at]).args(["--server", &self.server, "--token-file"]).arg(&self.token);
        command.args(&words[at..]);
        command
    }
}

/// The way to the first node leads over the slow network, since agents and server know each other there.
#[test]
fn ranks_use_the_interface_that_the_preflight_of_their_task_finds() {
    let Some(hosts) = Hosts::new(4) else { return };
    hosts.second_network(&["eth1", "fast0", "eth1"]);
    (1..=3).for_each(|host| hosts.limit_rate(host, "20mbit"));
    let cluster = Cluster::on(&hosts, 4);
    let train = |name: &str, policy: &str, more: &[&str]| -> Value {
        let line = format!("task create --name {name} -e gn1 -e gn2 -e gn3 --preflight {policy} --json");
        let mut words: Vec<&str> = line.split(' ').collect();
        words.extend(more);
        words.extend(["--framework", "command", "--", "/bin/sh", "-c", "echo over $GLOO_SOCKET_IFNAME"]);
        Run::whole(&mut cluster.command(&hosts, &words)).expect(0);
        Run::whole(&mut cluster.command(&hosts, &["task", "wait", name])).expect(0);
        json(&Run::whole(&mut cluster.command(&hosts, &["task", "explain", name, "--json"])).expect(0).out())
    };
    let logs = |name: &str| -> String {
        let shown = Run::whole(&mut cluster.command(&hosts, &["task", "logs", name])).expect(0).out();
        let mut said: Vec<&str> = shown.lines().filter_map(|line| line.split("over ").nth(1)).collect();
        said.sort_unstable();
        said.join(" ")
    };
    let told = |explained: &Value| -> Vec<String> {
        let events = explained["events"].as_array().unwrap().iter().filter(|it| it["kind"] == "preflight.interface");
        events.map(|it| it["text"]["en"].as_str().unwrap().to_owned()).collect()
    };

    let set = train("set", "warn", &[]);
    let expected = "the preflight finds that nodes reach each other over eth1 (gn1, gn3), fast0 (gn2): set as \
                    NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME";
    assert_eq!((told(&set), logs("set").as_str()), (vec![expected.to_owned()], "eth1 eth1 fast0"), "{set:#}");
    let own: Vec<&str> = set["nodes"].as_array().unwrap().iter().map(|it| it["interface"].as_str().unwrap()).collect();
    assert_eq!(own, ["eth1", "fast0", "eth1"]);
    let shown = Run::whole(&mut cluster.command(&hosts, &["task", "show", "set"])).expect(0).out();
    assert!(shown.contains("gn1 eth1, gn2 fast0, gn3 eth1 (found and set by the preflight)"), "{shown}");

    let told_alone = train("told", "require", &["--preflight-interface", "suggest"]);
    assert!(told(&told_alone)[0].ends_with("it is not set, as the task wants"), "{told_alone:#}");
    assert_eq!(logs("told"), "eth0 eth0 eth0", "the way to the first node");
}

/// The first host, where the others would meet, drops the port; the third reaches the server and no other node.
#[test]
fn a_firewall_and_a_cut_are_named_with_their_reasons_through_the_server() {
    let Some(hosts) = Hosts::new(5) else { return };
    hosts.drop_port(1, 29_500);
    hosts.hear_only(3, "10.77.0.5");
    let cluster = Cluster::on(&hosts, 5);
    let begin = Instant::now();
    let words = ["doctor", "--nodes", "gn1,gn2,gn3,gn4", "--no-python", "--json"];
    let report = json(&Run::whole(&mut cluster.command(&hosts, &words)).expect(1).out());
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    let all = serde_json::to_string_pretty(&report["findings"]).unwrap();
    assert_eq!(named(&report, "wire.port"), [[0]], "{all}");
    assert_eq!(named(&report, "nodes.joined"), [[2]], "{all}");
    assert_eq!(named(&report, "nodes.meeting"), Vec::<Vec<u64>>::new(), "a bad node is named once: {all}");
    assert_eq!(named(&report, "wire.sum"), Vec::<Vec<u64>>::new(), "{all}");
    let joined = report["findings"].as_array().unwrap().iter().find(|it| it["check"] == "nodes.joined").unwrap();
    let said = joined["text"]["en"].as_str().unwrap();
    assert!(said.starts_with("gn3 could not take part") && said.contains("does not answer at all"), "{said}");
}

#[test]
fn a_task_may_ask_for_the_check_of_its_nodes_before_its_ranks_start() {
    let fleet = Fleet::of(&[("pt-a", 1), ("pt-b", 1)]);
    let create = |policy: &str, port: Option<u16>| {
        fleet.create(json!({
            "taskName": policy,
            "command": { "argv": ["/bin/sh", "-c", "true"] },
            "policies": { "preflight": policy },
            "options": { "masterPort": port },
            "distributedConfig": { "framework": "command" },
        }))
    };
    let kinds = |task: &str| -> Vec<String> {
        let events = fleet.get(&format!("/training-tasks/{task}/events?pageSize=200"));
        events["items"].as_array().unwrap().iter().map(|it| it["kind"].as_str().unwrap().to_owned()).collect()
    };
    let warned = create("warn", None);
    fleet.task_is(&warned, "succeeded");
    let told = kinds(&warned);
    assert!(told.iter().any(|kind| kind == "preflight.started"), "{told:?}");
    assert!(told.iter().any(|kind| kind == "preflight.ended"), "{told:?}");

    let holder = TcpListener::bind("0.0.0.0:0").unwrap();
    let refused = create("require", Some(holder.local_addr().unwrap().port()));
    fleet.task_is(&refused, "failed");
    let explained = fleet.get(&format!("/training-tasks/{refused}/explain"));

    assert!(explained.to_string().contains("the preflight found"), "{explained}");
    assert_eq!(explained["attempts"], json!([]), "{explained}");
}

#[test]
fn the_check_of_a_task_ends_with_it_and_the_next_task_need_not_wait_for_it() {
    let fleet = Fleet::of(&[("pc-a", 1), ("pc-b", 1)]);
    let create = |name: &str| {
        fleet.create(json!({
            "taskName": name,
            "command": { "argv": ["/bin/sh", "-c", "true"] },
            "policies": { "preflight": "require" },
            "distributedConfig": { "framework": "command" },
        }))
    };
    let of = |task: &str| -> Option<Value> {
        let all = fleet.get("/preflights");
        all["items"].as_array().unwrap().iter().find(|it| it["taskId"] == task).cloned()
    };
    // A node that says nothing is waited for.
    signal(fleet.agent_pid(1), libc::SIGSTOP);
    let stopped = create("stopped");
    eventually("its check to begin", || of(&stopped));
    let begin = Instant::now();
    fleet.post(&format!("/training-tasks/{stopped}/stop"), &json!({}));
    let over = eventually("its check to end", || of(&stopped).filter(|it| !it["endedAt"].is_null()));
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!((&over["ok"], &over["counts"]["errors"]), (&Value::Null, &json!(0)), "{over}");
    signal(fleet.agent_pid(1), libc::SIGCONT);
    let next = create("next");
    fleet.task_is(&next, "succeeded");
}
