//! Over which interface all nodes reach each other.

use std::collections::{BTreeMap, BTreeSet};

use fermi_domain::contract::engines::{GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME};
use fermi_domain::language::Text;

use super::named;
use crate::nodes::survey::Survey;
use crate::{Finding, Topic};

/// Of interfaces that are nearly as fast as the fastest, which one is chosen may go by other reasons: transfers are short.
const AS_FAST: f64 = 0.7;

pub fn check(survey: &Survey, blamed: &BTreeSet<usize>) -> Vec<Finding> {
    let nodes: Vec<usize> = survey.present().into_iter().filter(|node| !blamed.contains(node)).collect();
    let chosen = chosen(survey, &nodes);
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

/// The interface of each node at which all that are present get through, by node; none of a node that has none.
pub fn interfaces(survey: &Survey) -> Vec<Option<String>> {
    let present = survey.present();
    let mut chosen = if present.len() < 2 { BTreeMap::new() } else { chosen(survey, &present) };
    (0..survey.nnodes).map(|node| chosen.remove(&node)).collect()
}

/// Of the fastest interfaces of a node the one whose name most nodes have among theirs, then the nearest.
fn chosen(survey: &Survey, nodes: &[usize]) -> BTreeMap<usize, String> {
    let ways: BTreeMap<usize, Vec<Way<'_>>> = nodes.iter().map(|node| (*node, fastest(survey, nodes, *node))).collect();
    let votes = |interface: &str| ways.values().filter(|ways| ways.iter().any(|it| it.interface == interface)).count();
    let best = |ways: &Vec<Way<'_>>| {
        // Of equals the first one: cards of the machine stand before what is made of software.
        let way = ways.iter().rev().max_by_key(|way| (votes(way.interface), std::cmp::Reverse(way.median_us)))?;
        Some(way.interface.to_owned())
    };
    ways.iter().filter_map(|(node, ways)| Some((*node, best(ways)?))).collect()
}

/// An interface of a node at which all others get through.
#[derive(Clone, Copy, Debug)]
struct Way<'a> {
    interface: &'a str,
    /// The longest of the usual round trips.
    median_us: u64,
    /// None where nothing was transferred.
    speed: Option<f64>,
}

fn fastest<'a>(survey: &'a Survey, nodes: &[usize], node: usize) -> Vec<Way<'a>> {
    let others: Vec<usize> = nodes.iter().copied().filter(|it| *it != node).collect();
    let rows: Vec<_> = others.iter().filter_map(|from| survey.row(*from, node)).collect();
    let Some(first) = rows.first().filter(|_| rows.len() == others.len()) else { return Vec::new() };
    let way = |ip, interface: &'a str| {
        let pings = rows.iter().map(|row| row.paths.iter().find(|path| path.ip == ip)?.pings.map(|it| it.median_us));
        let median_us = pings.collect::<Option<Vec<u64>>>()?.into_iter().max()?;
        let measured = survey.transfers.iter().filter(|it| it.to == node && it.ip == ip);
        let speed = measured.map(crate::nodes::survey::Transfer::speed).max_by(f64::total_cmp);
        // Packets of one byte that get through are no way where bytes in bulk do not.
        let works = speed.is_none_or(|speed| speed > 0.0);
        works.then_some(Way { interface, median_us, speed })
    };
    let ways: Vec<Way<'a>> = first.paths.iter().filter_map(|path| way(path.ip, path.interface.as_str())).collect();
    let most = ways.iter().filter_map(|way| way.speed).fold(0.0, f64::max);
    ways.into_iter().filter(|way| way.speed.unwrap_or(0.0) >= most * AS_FAST).collect()
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::nodes::message::Greeting;
    use crate::nodes::survey::{NodeSeen, PathPing, PingRow, Pings, Reach, Transfer};

    /// What one interface of a node is to all others.
    #[derive(Clone, Copy)]
    struct Card {
        name: &'static str,
        /// None where nobody gets through.
        trip_us: Option<u64>,
        /// None where nothing was transferred.
        speed: Option<f64>,
    }

    fn card(name: &'static str, trip_us: u64, speed: f64) -> Card {
        Card { name, trip_us: Some(trip_us), speed: (speed >= 0.0).then_some(speed) }
    }

    fn survey(cards: &[&[Card]]) -> Survey {
        let nnodes = cards.len();
        let ip = |node: usize, at: usize| IpAddr::from([10, at as u8, 0, node as u8 + 1]);
        let path = |to: usize, at: usize, card: &Card| PathPing {
            interface: card.name.into(),
            ip: ip(to, at),
            reach: if card.trip_us.is_some() { Reach::Connected } else { Reach::Silent },
            pings: card.trip_us.map(|us| Pings { count: 200, least_us: us, median_us: us, ..Pings::default() }),
        };
        let row = |to: usize| PingRow {
            node: to,
            paths: cards[to].iter().enumerate().map(|(at, card)| path(to, at, card)).collect(),
            master_port: None,
        };
        let greeting = |node_rank| Greeting {
            node_rank,
            nnodes,
            name: String::new(),
            port: 4_000,
            has_master_port: true,
            addresses: Vec::new(),
            fresh: String::new(),
            proof: String::new(),
            knows_engines: true,
            knows_pairs: true,
        };
        let seen = |node| NodeSeen { node, greeting: Some(greeting(node)), ..NodeSeen::default() };
        let transfers = cards.iter().enumerate().flat_map(|(to, cards)| {
            let transfer = move |(at, card): (usize, &Card)| {
                let there = card.speed?;
                let (from, interface) = ((to + 1) % nnodes, card.name.to_owned());
                Some(Transfer { from, to, interface, ip: ip(to, at), there: Some(there), back: Some(there) })
            };
            cards.iter().enumerate().filter_map(transfer)
        });
        Survey {
            nnodes,
            nodes: (0..nnodes).map(seen).collect(),
            pings: (0..nnodes).map(|from| (0..nnodes).filter(|to| *to != from).map(row).collect()).collect(),
            transfers: transfers.collect(),
            ..Survey::default()
        }
    }

    #[test]
    fn each_node_has_the_fastest_interface_at_which_all_get_through() {
        const UNTRIED: f64 = -1.0;
        let dead = |name| Card { name, trip_us: None, speed: None };
        let of = |cards: &[&[Card]]| {
            let found = interfaces(&survey(cards));
            found.into_iter().map(|it| it.unwrap_or_else(|| "none".into())).collect::<Vec<_>>().join(" ")
        };
        let slow_first = [card("eth0", 100, 1e6), card("eth1", 120, 1e9)];
        assert_eq!(of(&[&slow_first, &slow_first]), "eth1 eth1");
        let other_name = [card("ens5", 120, 1e9), card("eno1", 100, 1e6)];
        assert_eq!(of(&[&slow_first, &other_name, &slow_first]), "eth1 ens5 eth1");
        // Nearly as fast: all take the one that all have.
        let (a, b) = ([card("eth0", 100, 9e8), card("eth1", 90, 1e9)], [card("eth0", 100, 1e9), card("eth1", 90, 3e8)]);
        assert_eq!(of(&[&a, &b, &b]), "eth0 eth0 eth0");
        // Nothing was transferred: the nearest, and of equals the first.
        let near = [card("eth0", 900, UNTRIED), card("eth1", 100, UNTRIED)];
        assert_eq!(of(&[&near, &near]), "eth1 eth1");
        let same = [card("eth0", 100, UNTRIED), card("tun0", 100, UNTRIED)];
        assert_eq!(of(&[&same, &same]), "eth0 eth0");
        // Where small packets get through and large ones do not is no way, nor where one of the others does not.
        let swallows = [card("eth0", 100, 0.0), card("eth1", 100, 1e8)];
        assert_eq!(of(&[&swallows, &swallows]), "eth1 eth1");
        let cut = [dead("eth0"), card("eth1", 500, 1e7)];
        assert_eq!(of(&[&cut, &slow_first, &slow_first]), "eth1 eth1 eth1");
        let none = [dead("eth0")];
        assert_eq!(of(&[&none, &slow_first]), "none eth1");
        let mut partly = survey(&[&slow_first, &slow_first, &slow_first]);
        partly.pings[2].iter_mut().filter(|row| row.node == 0).for_each(|row| row.paths[1].pings = None);
        assert_eq!(interfaces(&partly)[0].as_deref(), Some("eth0"), "the third does not get through at eth1");
        assert_eq!(of(&[&slow_first]), "none", "alone");
    }
}
