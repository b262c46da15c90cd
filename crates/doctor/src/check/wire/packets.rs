//! Small packets come through and large ones do not, as where an MTU is wrong.

use std::collections::BTreeSet;

use fermi_domain::language::Text;

use super::blame::blame;
use super::{named, place};
use crate::nodes::survey::Survey;
use crate::{Finding, Topic};

const NAME: &str = "wire.packets";
/// What a packet of 1500 bytes has beside its headers.
const FULL: u32 = 1_472;

pub fn check(survey: &Survey, blamed: &mut BTreeSet<usize>) -> Vec<Finding> {
    let left: Vec<usize> = survey.present().into_iter().filter(|node| !blamed.contains(node)).collect();
    let is_swallowed = |a: usize, b: usize| survey.speed(a, b).map(|speed| speed <= 0.0);
    let found = blame(&left, is_swallowed);
    let mut findings = Vec::new();
    for node in found.nodes {
        let with = left.iter().copied().filter(|it| is_swallowed(node, *it) == Some(true));
        let (name, with) = (survey.name(node), named(survey, with));
        let text = Text::new(
            format!("节点 {node}（{name}）收发小包正常，大包到不了：MTU 不对，或中途有设备丢弃大包"),
            format!(
                "node {node} ({name}) gets small packets through and no large ones: its MTU is wrong, or something on the way \
                 drops them"
            ),
        );
        let seen = Text::new(
            format!("往返正常，但与 {with} 之间没有传过数据"),
            format!("round trips are well, but no data came through between it and {with}"),
        );
        findings.push(mend(survey, Finding::error(NAME, Topic::Wire, text).of(node).seen(seen), node));
        blamed.insert(node);
    }
    for (a, b) in found.pairs {
        let (one, other) = (survey.name(a), survey.name(b));
        let text = Text::new(
            format!("节点 {a}（{one}）与节点 {b}（{other}）之间小包正常，大包到不了：两者或中途的 MTU 不对"),
            format!(
                "small packets come through between node {a} ({one}) and node {b} ({other}) and no large ones: an MTU is wrong, \
                 theirs or one on the way"
            ),
        );
        findings.push(mend(survey, Finding::error(NAME, Topic::Wire, text).of(a).of(b), b));
    }
    findings
}

fn mend(survey: &Survey, finding: Finding, node: usize) -> Finding {
    let fix = Text::new(
        "让所有节点与交换机的 MTU 相同；下面的命令从别的节点发一个大包",
        "give all nodes and switches the same MTU; the command sends a large packet from another node",
    );
    let probe = format!("ping -M do -s {} -c 3 {}", most(survey), place::address(survey, node));
    match place::interface(survey, node) {
        Some(interface) => finding.fix(fix, format!("{probe}; ip link show dev {interface}")),
        None => finding.fix(fix, probe),
    }
}

/// What fits the smallest MTU of the nodes.
fn most(survey: &Survey) -> u32 {
    const HEADERS: u32 = 28;
    let mtus = survey.present().into_iter().filter_map(|node| Some(place::card(survey, node)?.mtu));
    mtus.min().map_or(FULL, |mtu| mtu.saturating_sub(HEADERS))
}
