//! Surveys as nodes would bring them, and who is named for what.

use std::net::IpAddr;

use super::*;
use crate::State::{self, Error, Ok, Warning};
use crate::check::tests::name;
use crate::facts::{
    ClockFacts, CpuFacts, DiskFacts, DriverFacts, FirewallFacts, GpuFacts, Interface, LaunchVariables, LimitFacts,
    LoopbackFacts, MachineFacts, MemoryFacts, NameFacts, NetworkFacts, PortFacts, PythonFacts, Reason, Seen,
    SharedMemory, WriteTest,
};
use crate::nodes::message::{Address, Greeting};
use crate::nodes::survey::{
    FolderSeen, FolderSurvey, NodeSeen, PairSum, PathPing, PingRow, Pings, Reach, StepName, SumOutcome, SumSeen,
    Survey, Transfer,
};

fn ip(node: usize) -> IpAddr {
    IpAddr::from([10, 77, 0, u8::try_from(node + 1).unwrap()])
}

/// A machine of which only what is compared is known.
fn facts() -> MachineFacts {
    MachineFacts {
        host: "gn".into(),
        fermi: "0.1.0".into(),
        kernel: "6.1".into(),
        gpus: Seen::Known(DriverFacts::Answers(GpuFacts::default())),
        cpu: Seen::Known(CpuFacts { cores: 8, ..CpuFacts::default() }),
        memory: Seen::Known(MemoryFacts {
            total: 64 << 30,
            used: 0,
            shared: Some(SharedMemory { total: 8 << 30, free: 8 << 30, is_writable: true }),
        }),
        limits: Seen::Known(LimitFacts::default()),
        disk: Seen::Known(DiskFacts {
            free: 500 << 30,
            write: WriteTest::Done { bytes: 1 << 30, seconds: 1.0 },
            ..DiskFacts::default()
        }),
        clock: Seen::Known(ClockFacts::default()),
        network: Seen::Known(NetworkFacts { interfaces: vec![interface(1_500)], ..NetworkFacts::default() }),
        firewall: Seen::Known(FirewallFacts::default()),
        name: Seen::Known(NameFacts { host: "gn".into(), addresses: vec![ip(0)] }),
        port: Seen::Known(PortFacts { port: 29_500, is_free: true, ..PortFacts::default() }),
        master: Seen::Known(None),
        loopback: Seen::Known(LoopbackFacts::Added { bytes: 1, micros: 1, is_right: true }),
        launch: LaunchVariables::default(),
        python: Seen::Known(None),
    }
}

fn interface(mtu: u32) -> Interface {
    let speed = Some(10_000);
    Interface { name: "eth0".into(), is_up: true, mtu, speed, addresses: vec![ip(0)], ..Interface::default() }
}

fn row(to: usize) -> PingRow {
    let pings = Pings { count: 200, least_us: 100, median_us: 150, repeated: 0, skew_us: 20 };
    let path = PathPing { interface: "eth0".into(), ip: ip(to), reach: Reach::Connected, pings: Some(pings) };
    PingRow { node: to, paths: vec![path], master_port: Some(Reach::Connected) }
}

/// Nodes without a fault.
fn healthy(count: usize) -> Survey {
    let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    let transfer = |(from, to): (usize, usize)| Transfer {
        from,
        to,
        interface: "eth0".into(),
        ip: ip(to),
        there: Some(1e9),
        back: Some(1.1e9),
    };
    let added = SumOutcome::Added { micros: 900, is_right: true, digest: 7 };
    let greeting = |node: usize| Greeting {
        node_rank: node,
        nnodes: count,
        name: format!("gn{node}"),
        port: 4_000,
        has_master_port: true,
        addresses: vec![Address { interface: "eth0".into(), ip: ip(node) }],
        fresh: String::new(),
        proof: String::new(),
        knows_engines: true,
        knows_pairs: true,
    };
    let seen = |node: usize| NodeSeen {
        node,
        greeting: Some(greeting(node)),
        name: Some(format!("gn{node}")),
        facts: Some(Box::new(facts())),
        lost: None,
    };
    Survey {
        nnodes: count,
        nodes: (0..count).map(seen).collect(),
        pings: (0..count).map(|from| (0..count).filter(|to| *to != from).map(row).collect()).collect(),
        transfers: pairs.map(transfer).collect(),
        sum: Some(SumSeen {
            bytes: 1 << 20,
            outcomes: (0..count).map(|node| (node, Some(added.clone()))).collect(),
            pairs: Vec::new(),
        }),
        engine: None,
        folder: None,
        join_seconds: 20,
        master_port: 29_500,
    }
}

/// Changes what is measured with a node, both ways.
fn with_rows(mut survey: Survey, node: usize, change: impl Fn(&mut PingRow)) -> Survey {
    for (from, rows) in survey.pings.iter_mut().enumerate() {
        rows.iter_mut().filter(|row| from == node || row.node == node).for_each(&change);
    }
    survey
}

fn bad(survey: &Survey) -> Vec<(&'static str, State, Vec<usize>)> {
    let findings = nodes(survey).into_iter().filter(|finding| finding.state != Ok);
    findings.map(|finding| (name(&finding), finding.state, finding.nodes)).collect()
}

#[test]
fn nodes_without_a_fault_are_well() {
    for count in 2..=8 {
        assert_eq!(bad(&healthy(count)), [], "{count} nodes");
    }
    let found = nodes(&healthy(4));
    let interface = found.iter().find(|finding| finding.check == "wire.interface").unwrap();
    let command = interface.fix.as_ref().unwrap().command.as_deref();
    assert_eq!(command, Some("export NCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=eth0"));
}

#[test]
fn a_node_is_named_once_with_the_reason_from_which_the_rest_follows() {
    // Lost packets make it slow as well.
    let mut lossy = with_rows(healthy(8), 3, |row| row.paths[0].pings.as_mut().unwrap().repeated = 2);
    lossy.transfers.iter_mut().filter(|it| it.to == 3 || it.from == 3).for_each(|it| it.there = Some(1e7));
    assert_eq!(bad(&lossy), [("wire.loss", Error, vec![3])]);
    let far = with_rows(healthy(8), 5, |row| row.paths[0].pings.as_mut().unwrap().least_us = 50_000);
    assert_eq!(bad(&far), [("wire.delay", Warning, vec![5])]);
    let mut slow = healthy(8);
    slow.transfers.iter_mut().filter(|it| it.to == 2 || it.from == 2).for_each(|it| it.back = Some(1.2e6));
    assert_eq!(bad(&slow), [("wire.bandwidth", Error, vec![2])]);
}

/// Slower by a hundred, further by a thousand, or deaf to large packets: one node among any number is named.
#[test]
fn one_bad_node_is_named_among_three_and_more() {
    for count in 3..=8 {
        for node in [0, count - 1] {
            let touches = |it: &&mut Transfer| it.from == node || it.to == node;
            let mut slow = healthy(count);
            slow.transfers.iter_mut().filter(touches).for_each(|it| it.there = Some(1e7));
            assert_eq!(bad(&slow), [("wire.bandwidth", Error, vec![node])], "{node} of {count}");
            let far = with_rows(healthy(count), node, |row| row.paths[0].pings.as_mut().unwrap().least_us = 50_000);
            assert_eq!(bad(&far), [("wire.delay", Warning, vec![node])], "{node} of {count}");
            let mut deaf = healthy(count);
            deaf.transfers.iter_mut().filter(touches).for_each(|it| it.there = None);
            assert_eq!(bad(&deaf), [("wire.packets", Error, vec![node])], "{node} of {count}");
        }
        let mut all = healthy(count);
        all.transfers.iter_mut().for_each(|it| it.there = Some(1e7));
        assert_eq!(bad(&all), [("wire.bandwidth", Warning, vec![])], "all {count}");
    }
}

#[test]
fn of_two_nodes_the_pair_is_told() {
    let mut slow = healthy(2);
    slow.transfers[0].back = Some(1.2e6);
    assert_eq!(bad(&slow), [("wire.bandwidth", Warning, vec![])]);
    assert!(nodes(&slow).iter().any(|it| it.text.en == "10 Mbit/s between gn0 and gn1"));
    slow.transfers[0].back = None;
    assert_eq!(bad(&slow), [("wire.packets", Error, vec![0, 1])]);
}

/// Two machines with two nodes each: the way inside a machine is faster than any wire.
#[test]
fn nodes_of_one_machine_say_nothing_of_the_wire() {
    let mut survey = healthy(4);
    for (node, machine) in [(1, 0), (3, 2)] {
        survey.nodes[node].greeting.as_mut().unwrap().addresses[0].ip = ip(machine);
    }
    let inside = |it: &&mut Transfer| (it.from, it.to) == (0, 1) || (it.from, it.to) == (2, 3);
    survey.transfers.iter_mut().filter(inside).for_each(|it| (it.there, it.back) = (Some(2e10), Some(2e10)));
    assert_eq!(bad(&survey), []);
}

#[test]
fn commands_name_what_the_node_has() {
    let command = |survey: &Survey, check: &str| {
        let found = nodes(survey).into_iter().find(|it| it.check == check && it.state != Ok);
        found.and_then(|it| it.fix?.command).unwrap_or_default()
    };
    let named = |mut survey: Survey| {
        survey
            .pings
            .iter_mut()
            .flatten()
            .filter(|row| row.node == 2)
            .for_each(|row| row.paths[0].interface = "ens5".into());
        survey
    };
    let mut slow = named(healthy(4));
    slow.transfers.iter_mut().filter(|it| it.to == 2 || it.from == 2).for_each(|it| it.there = Some(1e7));
    assert_eq!(command(&slow, "wire.bandwidth"), "ethtool ens5 | grep -i speed; tc qdisc show dev ens5");
    let far = with_rows(named(healthy(4)), 2, |row| row.paths[0].pings.as_mut().unwrap().least_us = 50_000);
    assert_eq!(command(&far, "wire.delay"), "traceroute -n 10.77.0.3; ip route get 10.77.0.3");
    let mut deaf = named(healthy(4));
    deaf.transfers.iter_mut().filter(|it| it.to == 2 || it.from == 2).for_each(|it| it.there = None);
    assert_eq!(command(&deaf, "wire.packets"), "ping -M do -s 1472 -c 3 10.77.0.3; ip link show dev ens5");
    let mut only_master = healthy(4);
    for row in only_master.pings.iter_mut().flatten().filter(|row| row.node == 2) {
        (row.paths[0].reach, row.paths[0].pings) = (Reach::Silent, None);
    }
    assert_eq!(command(&only_master, "wire.port"), "sudo ufw allow from 10.77.0.0/24");
    let interfaces = nodes(&named(healthy(3))).into_iter().find(|it| it.check == "wire.interface").unwrap();
    assert_eq!(
        interfaces.fix.unwrap().command.unwrap(),
        "export NCCL_SOCKET_IFNAME=ens5 GLOO_SOCKET_IFNAME=ens5   # gn2\n\
         export NCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=eth0   # gn0, gn1"
    );
}

#[test]
fn pairs_that_were_not_tried_are_not_called_good() {
    let reach = |survey: &Survey| {
        let found = nodes(survey).into_iter().find(|it| it.check == "wire.reach").unwrap();
        (found.state, found.text.en.to_string())
    };
    let mut survey = healthy(4);
    assert_eq!(reach(&survey), (Ok, "all 6 pairs of nodes reach each other".into()));
    survey.pings[0].retain(|row| row.node != 3);
    assert_eq!(survey.untried(), [(0, 3)]);
    survey.pings[3].retain(|row| row.node != 0);
    let said = "the 5 pairs of nodes that were tried reach each other; for 1 there was no time";
    assert_eq!(reach(&survey), (Ok, said.into()));
    survey.pings.iter_mut().for_each(Vec::clear);
    assert_eq!(reach(&survey).0, State::Skipped);
}

#[test]
fn a_firewall_is_told_from_a_cut() {
    let mut dropped = healthy(4);
    for rows in &mut dropped.pings {
        rows.iter_mut().filter(|row| row.node == 2).for_each(|row| row.master_port = Some(Reach::Silent));
    }
    assert_eq!(bad(&dropped), [("wire.port", Error, vec![2])]);
    let closed = |row: &mut PingRow| {
        row.paths[0].reach = Reach::Silent;
        row.paths[0].pings = None;
    };
    let mut only_master = healthy(4);
    for rows in &mut only_master.pings {
        rows.iter_mut().filter(|row| row.node == 2).for_each(closed);
    }
    assert_eq!(bad(&only_master), [("wire.port", Error, vec![2])]);
    let cut = with_rows(healthy(4), 1, |row| {
        closed(row);
        row.master_port = Some(Reach::Silent);
    });
    assert_eq!(bad(&cut), [("wire.reach", Error, vec![1])]);
    let mut one_pair = healthy(4);
    one_pair.pings[0].iter_mut().filter(|row| row.node == 3).for_each(|row| {
        closed(row);
        row.master_port = Some(Reach::Silent);
    });
    assert_eq!(bad(&one_pair), [("wire.reach", Error, vec![0, 3])]);
}

#[test]
fn who_never_came_and_who_was_lost_are_told_apart() {
    let mut survey = healthy(4);
    survey.nodes[2] = NodeSeen { node: 2, ..NodeSeen::default() };
    survey.nodes[3].lost = Some(StepName::Ping);
    survey.sum = None;
    assert_eq!(bad(&survey), [("nodes.presence", Error, vec![2]), ("nodes.lost", Error, vec![3])]);
}

#[test]
fn a_clock_that_is_off_is_named_even_if_it_is_the_first_nodes() {
    let mut survey = healthy(4);
    for row in survey.pings[0].iter_mut().filter(|row| row.node == 2) {
        row.paths[0].pings.as_mut().unwrap().skew_us = -3_000_000;
    }
    assert_eq!(bad(&survey), [("wire.clock", Warning, vec![2])]);
    let mut first = healthy(4);
    first.pings[0].iter_mut().for_each(|row| row.paths[0].pings.as_mut().unwrap().skew_us = 9_000_000);
    assert_eq!(bad(&first), [("wire.clock", Warning, vec![0])]);
}

#[test]
fn a_sum_that_is_wrong_differs_or_does_not_come_is_an_error() {
    let with = |outcome: Option<SumOutcome>| {
        let mut survey = healthy(3);
        survey.sum.as_mut().unwrap().outcomes[1].1 = outcome;
        bad(&survey)
    };
    let expected = [("wire.sum", Error, vec![])];
    assert_eq!(with(None), expected);
    assert_eq!(with(Some(SumOutcome::Failed(Reason::said("rank 2 silent")))), expected);
    assert_eq!(with(Some(SumOutcome::Added { micros: 1, is_right: false, digest: 7 })), expected);
    assert_eq!(with(Some(SumOutcome::Added { micros: 1, is_right: true, digest: 8 })), expected);
}

#[test]
fn a_sum_that_fails_is_tried_again_in_pairs_which_name_the_node() {
    let with = |pairs: &[(usize, usize, bool)]| {
        let mut survey = healthy(4);
        let sum = survey.sum.as_mut().unwrap();
        sum.outcomes[1].1 = Some(SumOutcome::Failed(Reason::said("rank 2 silent")));
        sum.pairs = pairs.iter().map(|(a, b, is_right)| PairSum { nodes: (*a, *b), is_right: *is_right }).collect();
        let found = nodes(&survey).into_iter().find(|it| it.check == "wire.sum").unwrap();
        (found.nodes, found.text.en.to_string())
    };
    let failed = "the all-reduce of 4 nodes failed";
    // Whoever fails with both of its partners.
    let (named, text) = with(&[(0, 3, false), (1, 2, true), (0, 2, true), (3, 1, false)]);
    assert_eq!((named, text), (vec![3], format!("{failed}: tried again two at a time, it fails only with gn3")));
    let (named, text) = with(&[(0, 3, false), (1, 2, true), (0, 2, true), (3, 1, true)]);
    assert_eq!((named, text), (vec![0, 3], format!("{failed}: tried again two at a time, it fails between gn0 – gn3")));
    assert_eq!(with(&[(0, 1, true)]), (vec![], format!("{failed}, though it is well two at a time")));
}

#[test]
fn what_differs_between_machines_is_named_with_its_nodes() {
    let mut mtu = healthy(4);
    let network = NetworkFacts { interfaces: vec![interface(9_000)], ..NetworkFacts::default() };
    mtu.nodes[3].facts.as_mut().unwrap().network = Seen::Known(network);
    assert_eq!(bad(&mtu), [("wire.mtu", Warning, vec![3])]);
    let mut torch = healthy(3);
    for (node, version) in ["2.9.0", "2.9.0", "2.8.0"].iter().enumerate() {
        let packages = [("torch".to_owned(), (*version).to_owned())].into();
        let python = PythonFacts { version: Some("3.11".into()), packages, ..PythonFacts::default() };
        torch.nodes[node].facts.as_mut().unwrap().python = Seen::Known(Some(python));
    }
    let found = nodes(&torch);
    let finding = found.iter().find(|finding| finding.check == "versions.differ").unwrap();
    assert_eq!(finding.text.en, "torch differs: 2.8.0: gn2; 2.9.0: gn0, gn1");
    assert_eq!(finding.fix.as_ref().unwrap().command.as_deref(), Some("python -m pip install torch==2.9.0"));
    assert_eq!(finding.state, Error);
}

#[test]
fn a_fault_of_several_machines_is_told_once() {
    let mut survey = healthy(4);
    for node in [1, 2] {
        survey.nodes[node].facts.as_mut().unwrap().memory =
            Seen::Known(MemoryFacts { total: 64 << 30, used: 0, shared: None });
    }
    assert_eq!(bad(&survey), [("memory.shared", Error, vec![1, 2])]);
    survey.nodes[1].facts = None;
    assert_eq!(bad(&survey), [("nodes.unknown", Warning, vec![1]), ("memory.shared", Error, vec![2])]);
}

#[test]
fn a_folder_is_one_for_all_or_the_same_in_each() {
    let found = |entries, sees_mark| FolderSeen::Found {
        file_system: None,
        entries,
        bytes: entries * 10,
        is_whole: true,
        sees_mark,
    };
    let with = |seen: [FolderSeen; 3]| {
        let mut survey = healthy(3);
        let nodes = seen.into_iter().enumerate().collect();
        survey.folder = Some(FolderSurvey { path: "/data".into(), unmarked: None, nodes });
        let findings = nodes_of_folder(&survey);
        findings.iter().map(|finding| (name(finding), finding.state, finding.nodes.clone())).collect::<Vec<_>>()
    };
    let (sees, blind) = (found(7, Some(true)), found(7, Some(false)));
    let gone = FolderSeen::Failed(Reason::said("No such file or directory (os error 2)"));
    let cases = [
        ([sees.clone(), sees.clone(), sees.clone()], vec![("folder.shared", Ok, vec![])]),
        ([sees.clone(), blind.clone(), sees.clone()], vec![("folder.shared", Error, vec![1])]),
        ([sees.clone(), blind.clone(), blind.clone()], vec![("folder.same", Ok, vec![])]),
        ([sees.clone(), blind, found(6, Some(false))], vec![("folder.same", Error, vec![2])]),
        ([found(7, None), found(7, None), found(7, None)], vec![("folder.same", Ok, vec![])]),
        ([sees.clone(), sees, gone], vec![("folder.read", Error, vec![2]), ("folder.shared", Ok, vec![])]),
    ];
    for (seen, expected) in cases {
        let shown = format!("{seen:?}");
        assert_eq!(with(seen), expected, "{shown}");
    }
}

fn nodes_of_folder(survey: &Survey) -> Vec<Finding> {
    nodes(survey).into_iter().filter(|finding| finding.check.starts_with("folder.")).collect()
}
