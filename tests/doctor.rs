//! `fermi doctor` on this machine, and on hosts each of which has a fault of its own.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Hosts, Place, Run, eventually, is_left_out};

const FERMI: &str = env!("CARGO_BIN_EXE_fermi");

fn json(out: &str) -> Value {
    serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// `check` and `state` of each finding.
fn states(report: &Value) -> Vec<(String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|finding| (text(finding, "check"), text(finding, "state"))).collect()
}

#[test]
fn a_machine_is_looked_at_without_python_and_every_fault_has_a_fix() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let words = ["doctor", "--no-python", "--json", "--master-port", &port];
    let report = json(&Run::whole(&mut place.fermi(words)).expect(1).out());
    assert_eq!((&report["v"], &report["ok"]), (&Value::from(1), &Value::from(false)));
    let states = states(&report);
    for check in ["cpu.cores", "memory.size", "limits.files", "disk.write", "network.firewall", "launch.ranks"] {
        assert!(states.iter().any(|(name, _)| name == check), "{check} is missing: {states:?}");
    }
    assert!(states.contains(&("launch.port".into(), "error".into())), "{states:?}");
    let bad =
        report["findings"].as_array().unwrap().iter().filter(|it| it["state"] == "error" || it["state"] == "warning");
    for finding in bad {
        assert!(finding["fix"]["text"]["zh-CN"].is_string() && finding["fix"]["text"]["en"].is_string(), "{finding}");
    }
    let mut chinese = place.fermi(["doctor", "--no_python", "--master_port", &port]);
    let shown = Run::whole(chinese.env("FERMI_LANG", "zh")).expect(1).out();
    assert!(shown.contains("体检：") && shown.contains(&format!("✗ 端口 {port} 已被占用")), "{shown}");
    assert!(shown.contains("办法") && shown.contains("项错误"), "{shown}");
}

#[test]
fn machines_that_cannot_be_checked_together_are_refused_with_a_hint() {
    let place = Place::new();
    let refused =
        |words: &[&str]| Run::whole(place.fermi([&["doctor"], words].concat()).env_remove("MASTER_ADDR")).expect(2);
    refused(&["--nnodes", "2"]).says(&["several machines need the address of node 0", "--master-addr"]);
    refused(&["--path", "/data"]).says(&["--path compares a folder of several machines", "--folder"]);
    refused(&["--nnodes", "2", "--node-rank", "2", "--master-addr", "x"]).says(&["--node-rank 2 does not exist"]);
    let mut alone = place.fermi(["doctor", "--no-python", "--nnodes", "2", "--node-rank", "1", "--join-timeout", "1"]);
    let alone = Run::whole(alone.args(["--master-addr", "no-such-name.invalid"])).expect(1);
    alone.says(&["the master's name no-such-name.invalid does not resolve here"]);
}

/// Whoever tries it out starts two on one machine, in any order.
#[test]
fn two_nodes_on_one_machine_meet_whichever_starts_first() {
    let place = Place::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let doctor = |rank: &str| {
        let mut command = place.fermi(["doctor", "--no-python", "--json", "--nnodes", "2", "--node-rank", rank]);
        command.args(["--master-addr", "127.0.0.1", "--master-port", &port, "--join-timeout", "15"]);
        command
    };
    let other = Run::start(&mut doctor("1"));
    // From here on it knocks, and nobody is there.
    let tasks = format!("/proc/{}/task", other.pid());
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    eventually("the other to be up", || {
        fs::read_dir(&tasks).unwrap().flatten().map(name).find(|name| name.trim() == "responder")
    });
    let report = json(&Run::whole(&mut doctor("0")).out());
    let all = states(&report);
    assert!(all.contains(&("nodes.presence".into(), "ok".into())), "{all:?}");
    assert!(all.iter().all(|(check, state)| check != "launch.port" || state == "ok"), "{all:?}");
    other.ended().expect(0);
}

/// The master has no name that resolves, one host is dead, and each of the others has another fault: all are named with
/// their reason.
#[test]
fn each_of_eight_hosts_is_named_with_the_right_reason() {
    let Some(hosts) = Hosts::new(8) else { return };
    hosts.lose_every(4, 100);
    hosts.limit_rate(5, "10mbit");
    hosts.set_mtu(6, 1_400);
    hosts.drop_port(7, 29_500);
    hosts.delay(8, Duration::from_millis(50));
    (1..=8).for_each(|host| add_docker(&hosts, host));
    let doctor = |host: usize, program: &[&str]| {
        let mut command = hosts.program(host, program[0]);
        command.args(&program[1..]).args([FERMI, "doctor", "--no-python", "--json", "--nnodes", "8"]);
        command.args(["--master-addr", "10.77.0.1", "--master-port", "29500", "--join-timeout", "8"]);
        command.args(["--node-rank", &(host - 1).to_string()]);
        command
    };
    let nameless = ["unshare", "--uts", "sh", "-c", "hostname no-such-name.invalid; exec \"$@\"", "sh"];
    let has_skew = !is_left_out("faketime");
    let skewed: &[&str] = if has_skew { &["faketime", "-m", "-f", "+90s"] } else { &["env"] };
    // Host 3 is dead.
    let mut members = vec![Run::start(doctor(2, skewed).env("FAKETIME_DONT_FAKE_MONOTONIC", "1"))];
    members.extend([4, 5, 6, 7, 8].iter().map(|host| Run::start(&mut doctor(*host, &["env"]))));
    let report = json(&Run::whole(&mut doctor(1, &nameless)).expect(1).out());
    let named = |check: &str| -> Vec<Vec<u64>> {
        let findings =
            report["findings"].as_array().unwrap().iter().filter(|it| it["check"] == check && it["state"] != "ok");
        let nodes = |it: &Value| it["nodes"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        findings.map(nodes).collect()
    };
    let all = serde_json::to_string_pretty(&report["findings"]).unwrap();
    assert_eq!(named("nodes.presence"), [[2]], "{all}");
    assert_eq!(named("wire.loss"), [[3]], "{all}");
    assert_eq!(named("wire.bandwidth"), [[4]], "{all}");
    assert_eq!(named("wire.mtu"), [[5]], "{all}");
    assert_eq!(named("wire.port"), [[6]], "{all}");
    assert_eq!(named("wire.delay"), [[7]], "{all}");
    assert!(named("network.name").contains(&vec![0]), "{all}");
    if has_skew {
        assert_eq!(named("wire.clock"), [[1]], "{all}");
        assert!(all.contains("the clock of node 1 (gn2) is 90.0 s ahead"), "{all}");
    }
    assert_eq!(named("wire.reach"), Vec::<Vec<u64>>::new(), "{all}");
    assert_eq!(named("wire.sum"), Vec::<Vec<u64>>::new(), "{all}");
    assert!(report["seconds"].as_f64().unwrap() < 60.0, "{}", report["seconds"]);
    for member in members {
        let told = json(&member.ended().expect(1).out());
        assert_eq!(told["ok"], false);
    }
}

/// What every host with Docker has, under the same address.
fn add_docker(hosts: &Hosts, host: usize) {
    ip(hosts, host, &["link", "add", "docker0", "type", "bridge"]);
    ip(hosts, host, &["addr", "add", "172.17.0.1/16", "dev", "docker0"]);
    ip(hosts, host, &["link", "set", "docker0", "up"]);
}

fn ip(hosts: &Hosts, host: usize, words: &[&str]) {
    assert!(hosts.program(host, "ip").args(words).status().is_ok_and(|status| status.success()), "ip {words:?}");
}

/// A check and the nodes that it names.
type Named = (String, Vec<u64>);

/// What is bad among hosts that `fail` has touched: the names of the checks with the nodes that they name, and the seconds.
fn found_among(count: usize, fail: impl Fn(&Hosts)) -> Option<(Vec<Named>, f64)> {
    let hosts = Hosts::new(count)?;
    fail(&hosts);
    let doctor = |host: usize| {
        let mut command = hosts.program(host, FERMI);
        command.args(["doctor", "--no-python", "--json", "--nnodes", &count.to_string()]);
        command.args(["--master-addr", "10.77.0.1", "--node-rank", &(host - 1).to_string()]);
        command
    };
    let _members: Vec<Run> = (2..=count).map(|host| Run::start(&mut doctor(host))).collect();
    let report = json(&Run::whole(&mut doctor(1)).out());
    let of_nodes = |it: &&Value| {
        let check = it["check"].as_str().unwrap();
        it["state"] != "ok" && (check.starts_with("wire.") || check.starts_with("nodes."))
    };
    let nodes = |it: &Value| it["nodes"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let bad = report["findings"].as_array().unwrap().iter().filter(of_nodes);
    let bad = bad.map(|it| (it["check"].as_str().unwrap().to_owned(), nodes(it)));
    let bad = bad.filter(|(_, nodes): &Named| !nodes.is_empty()).collect();
    Some((bad, report["seconds"].as_f64().unwrap()))
}

#[test]
fn a_slow_host_is_named_among_three_and_among_four() {
    for count in [3, 4] {
        let Some((bad, _)) = found_among(count, |hosts| hosts.limit_rate(2, "10mbit")) else { return };
        assert_eq!(bad, [("wire.bandwidth".to_owned(), vec![1])], "{count} hosts");
    }
}

/// As behind a wrong MTU: small packets come through, so that all meet.
#[test]
fn a_host_that_swallows_large_packets_is_named_by_what_comes_through_and_by_pairs() {
    let Some((bad, seconds)) = found_among(4, |hosts| hosts.swallow_above(3, 1_400)) else { return };
    assert_eq!(bad, [("wire.packets".to_owned(), vec![2]), ("wire.sum".to_owned(), vec![2])]);
    assert!(seconds < 60.0, "{seconds}");
}

/// Such as those of networks that only this host is in.
#[test]
fn addresses_that_lead_nowhere_do_not_make_a_host_look_dead() {
    let lead_nowhere = |hosts: &Hosts| {
        for number in 1..=5 {
            let (name, address) = (format!("dead{number}"), format!("10.88.{number}.3/24"));
            ip(hosts, 3, &["link", "add", &name, "type", "veth", "peer", "name", &format!("{name}-end")]);
            ip(hosts, 3, &["link", "set", &format!("{name}-end"), "up"]);
            ip(hosts, 3, &["addr", "add", &address, "dev", &name]);
            ip(hosts, 3, &["link", "set", &name, "up"]);
        }
        // What is sent there gets no answer at all.
        for host in [1, 2] {
            ip(hosts, host, &["route", "add", "10.88.0.0/16", "via", "10.77.0.99"]);
        }
    };
    let Some((bad, _)) = found_among(3, lead_nowhere) else { return };
    assert_eq!(bad, []);
}
