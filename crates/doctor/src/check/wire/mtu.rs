//! MTUs that differ: large packets of one node may not fit another.

use std::collections::BTreeMap;

use fermi_domain::language::Text;

use super::{named, place};
use crate::nodes::survey::Survey;
use crate::{Finding, Topic};

pub fn check(survey: &Survey) -> Vec<Finding> {
    let mut by_mtu: BTreeMap<u32, Vec<(usize, String)>> = BTreeMap::new();
    for node in survey.present() {
        if let Some(card) = place::card(survey, node).filter(|card| card.mtu > 0) {
            by_mtu.entry(card.mtu).or_default().push((node, card.name.clone()));
        }
    }
    let Some(usual) = by_mtu.iter().max_by_key(|(_, nodes)| nodes.len()).map(|(mtu, _)| *mtu) else {
        return Vec::new();
    };
    by_mtu.remove(&usual);
    by_mtu.into_iter().flat_map(|(mtu, nodes)| nodes.into_iter().map(move |it| (mtu, it))).map(|(mtu, (node, interface))| {
        let name = named(survey, [node]);
        let text = Text::new(
            format!("节点 {node}（{name}）的 {interface} MTU 为 {mtu}，其他节点为 {usual}；大包可能丢失"),
            format!("node {node} ({name}) has an MTU of {mtu} on {interface}, the others {usual}: large packets may be lost"),
        );
        let fix = Text::new("让所有节点的 MTU 相同", "give all nodes the same MTU");
        Finding::warning("wire.mtu", Topic::Wire, text).of(node).fix(fix, format!("sudo ip link set dev {interface} mtu {usual}"))
    }).collect()
}
