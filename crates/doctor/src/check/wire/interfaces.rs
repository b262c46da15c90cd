//! Over which interface all nodes reach each other.

use std::collections::{BTreeMap, BTreeSet};

use fermi_domain::contract::engines::{GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME};
use fermi_domain::language::Text;

use super::named;
use crate::nodes::survey::Survey;
use crate::{Finding, Topic};

pub fn check(survey: &Survey, blamed: &BTreeSet<usize>) -> Vec<Finding> {
    let nodes: Vec<usize> = survey.present().into_iter().filter(|node| !blamed.contains(node)).collect();
    let chosen: BTreeMap<usize, String> =
        nodes.iter().filter_map(|node| Some((*node, best(survey, &nodes, *node)?))).collect();
    if nodes.len() < 2 || chosen.len() < nodes.len() {
        return Vec::new();
    }
    let names: BTreeSet<&String> = chosen.values().collect();
    let set = |interface: &str| format!("export {NCCL_SOCKET_IFNAME}={interface} {GLOO_SOCKET_IFNAME}={interface}");
    let finding =
        |text: Text, fix: Text, command: String| Finding::ok("wire.interface", Topic::Wire, text).fix(fix, command);
    match names.iter().next().filter(|_| names.len() == 1) {
        Some(interface) => {
            let text = Text::new(
                format!("所有节点都能经 {interface} 互通"),
                format!("all nodes reach each other over {interface}"),
            );
            let fix = Text::new("要固定它，在每个节点上设置", "to fix it, set on each node");
            vec![finding(text, fix, set(interface))]
        }
        None => {
            let each = chosen
                .iter()
                .map(|(node, interface)| format!("{} {interface}", survey.name(*node)))
                .collect::<Vec<_>>()
                .join(", ");
            let text = Text::new(
                format!("各节点互通的网卡名不同：{each}"),
                format!("nodes reach each other over interfaces of different names: {each}"),
            );
            let fix = Text::new("在每个节点上设置它自己的", "set each node's own");
            let line = |interface: &&String| {
                let with = chosen.iter().filter(|(_, it)| it == interface).map(|(node, _)| *node);
                format!("{}   # {}", set(interface), named(survey, with))
            };
            vec![finding(text, fix, names.iter().map(line).collect::<Vec<_>>().join("\n"))]
        }
    }
}

/// The interface of a node at which all others get through: the fastest where transfers were measured, else the nearest.
fn best(survey: &Survey, nodes: &[usize], node: usize) -> Option<String> {
    let others: Vec<usize> = nodes.iter().copied().filter(|it| *it != node).collect();
    let rows: Vec<_> = others.iter().filter_map(|from| survey.row(*from, node)).collect();
    let paths = rows.first()?.paths.iter();
    let works = |ip| {
        rows.len() == others.len()
            && rows.iter().all(|row| row.paths.iter().any(|path| path.ip == ip && path.pings.is_some()))
    };
    let speed = |ip| {
        let measured = survey.transfers.iter().filter(|it| it.to == node && it.ip == ip);
        measured.map(|it| it.speed()).fold(0.0, f64::max)
    };
    let working = paths.filter(|path| works(path.ip));
    working.max_by(|a, b| speed(a.ip).total_cmp(&speed(b.ip))).map(|path| path.interface.clone())
}
