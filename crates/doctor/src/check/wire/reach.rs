//! Who reaches whom.

use std::collections::BTreeSet;

use fermi_domain::language::Text;

use super::blame::blame;
use super::{named, place};
use crate::nodes::survey::{Reach, Survey};
use crate::{Finding, Topic};

pub fn check(survey: &Survey, blamed: &mut BTreeSet<usize>) -> Vec<Finding> {
    let present = survey.present();
    if present.len() < 2 {
        return Vec::new();
    }
    let mut findings = ports(survey, &present, blamed);
    let left: Vec<usize> = present.iter().copied().filter(|node| !blamed.contains(node)).collect();
    let is_bad = |a: usize, b: usize| {
        let ways = [reaches(survey, a, b), reaches(survey, b, a)];
        (ways != [None, None]).then(|| ways.contains(&Some(false)))
    };
    let found = blame(&left, is_bad);
    for node in &found.nodes {
        findings.push(unreachable(survey, *node, &left));
    }
    for (a, b) in &found.pairs {
        findings.push(pair(survey, *a, *b));
    }
    blamed.extend(&found.nodes);
    if findings.is_empty() {
        let pairs = present.iter().enumerate().flat_map(|(at, a)| present[at + 1..].iter().map(move |b| (*a, *b)));
        let all = pairs.clone().count();
        findings.push(well(pairs.filter(|(a, b)| is_bad(*a, *b).is_some()).count(), all));
    }
    findings
}

/// Of those that were tried, none is bad.
fn well(tried: usize, all: usize) -> Finding {
    let left_out = all - tried;
    if left_out == 0 {
        let text = Text::new(format!("{all} 对节点都能互相连接"), format!("all {all} pairs of nodes reach each other"));
        return Finding::ok("wire.reach", Topic::Wire, text);
    }
    let text = Text::new(
        format!("试过的 {tried} 对节点都能互相连接；{left_out} 对因时间不够没有试"),
        format!("the {tried} pairs of nodes that were tried reach each other; for {left_out} there was no time"),
    );
    let make = if tried == 0 { Finding::skipped } else { Finding::ok };
    make("wire.reach", Topic::Wire, text)
}

/// Whether one node gets through to another's responder, over any address.
fn reaches(survey: &Survey, from: usize, to: usize) -> Option<bool> {
    let row = survey.row(from, to)?;
    Some(row.paths.iter().any(|path| path.pings.is_some()))
}

/// A node that answers at one kind of port and not at the other has a firewall.
fn ports(survey: &Survey, present: &[usize], blamed: &mut BTreeSet<usize>) -> Vec<Finding> {
    let port = survey.master_port;
    let mut findings = Vec::new();
    for node in present {
        let rows: Vec<_> = present
            .iter()
            .filter_map(|from| survey.row(*from, *node))
            .filter(|row| row.master_port.is_some())
            .collect();
        if rows.is_empty() {
            continue;
        }
        let door = |row: &&&crate::nodes::survey::PingRow| row.master_port == Some(Reach::Connected);
        let others = |row: &&&crate::nodes::survey::PingRow| row.paths.iter().any(|path| path.pings.is_some());
        let (open, answered) = (rows.iter().filter(door).count(), rows.iter().filter(others).count());
        let name = survey.name(*node);
        let fix = Text::new("在该节点上放行节点之间的流量", "let traffic between nodes pass on that node");
        if open == 0 && answered == rows.len() {
            let text = Text::new(
                format!("节点 {node}（{name}）丢弃发往端口 {port} 的包；它做主节点时没有节点能加入"),
                format!("node {node} ({name}) drops what is sent to port {port}: as the master it could not be joined"),
            );
            findings.push(
                Finding::error("wire.port", Topic::Wire, text)
                    .of(*node)
                    .fix(fix, format!("sudo firewall-cmd --add-port={port}/tcp   # or: sudo ufw allow {port}/tcp")),
            );
        } else if answered == 0 && open == rows.len() {
            let text = Text::new(
                format!("节点 {node}（{name}）只放行端口 {port}；NCCL 与 gloo 还要用其他端口"),
                format!("node {node} ({name}) lets in port {port} alone; NCCL and gloo use other ports as well"),
            );
            findings.push(Finding::error("wire.port", Topic::Wire, text).of(*node).fix(fix, allow_all(survey, *node)));
            blamed.insert(*node);
        }
    }
    findings
}

/// For the network in which the nodes are, else for each of them.
fn allow_all(survey: &Survey, node: usize) -> String {
    let others = || survey.present().into_iter().filter(|it| *it != node).map(|it| place::address(survey, it));
    let from = place::network(survey).map_or_else(|| others().collect(), |network| vec![network]);
    from.iter().map(|from| format!("sudo ufw allow from {from}")).collect::<Vec<_>>().join("\n")
}

fn unreachable(survey: &Survey, node: usize, all: &[usize]) -> Finding {
    let others: Vec<usize> = all.iter().copied().filter(|it| *it != node).collect();
    let not_in: Vec<usize> = others.iter().copied().filter(|it| reaches(survey, *it, node) == Some(false)).collect();
    let not_out: Vec<usize> = others.iter().copied().filter(|it| reaches(survey, node, *it) == Some(false)).collect();
    let name = survey.name(node);
    let address = place::address(survey, node);
    let (text, fix) = if not_out.is_empty() {
        let by = named(survey, not_in);
        (
            Text::new(
                format!("节点 {node}（{name}）拦截传入的连接：{by} 连不进去，它自己连得出去"),
                format!("node {node} ({name}) keeps connections out: {by} cannot get in, though it gets out"),
            ),
            Text::new("在该节点上放行节点之间的流量", "let traffic between nodes pass on that node"),
        )
    } else {
        let with = named(survey, not_in.iter().chain(&not_out).copied().collect::<BTreeSet<_>>());
        (
            Text::new(
                format!("节点 {node}（{name}）与 {with} 不通"),
                format!("node {node} ({name}) and {with} do not reach each other"),
            ),
            Text::new("检查该节点的网线、路由、网段与防火墙", "look at that node's cable, route, network and firewall"),
        )
    };
    Finding::error("wire.reach", Topic::Wire, text)
        .of(node)
        .fix(fix, format!("ping -c 3 {address}; sudo nft list ruleset"))
}

fn pair(survey: &Survey, a: usize, b: usize) -> Finding {
    let ways = (reaches(survey, a, b), reaches(survey, b, a));
    let (from, to) = if ways.0 == Some(false) { (a, b) } else { (b, a) };
    let (from_name, to_name) = (survey.name(from), survey.name(to));
    let text = Text::new(
        format!("节点 {from}（{from_name}）连不到节点 {to}（{to_name}），其余节点正常"),
        format!("node {from} ({from_name}) does not reach node {to} ({to_name}); others do"),
    );
    let fix = Text::new("检查这两个节点之间的路由与防火墙", "look at route and firewall between the two");
    let address = place::address(survey, to);
    Finding::error("wire.reach", Topic::Wire, text).of(from).of(to).fix(fix, format!("ip route get {address}"))
}
