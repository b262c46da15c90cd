//! Where a node is found by the others: what its commands name.

use std::net::{IpAddr, Ipv4Addr};

use crate::facts::Interface;
use crate::nodes::survey::{PathPing, Survey};

/// The path over which others reach the node quickest.
fn reached(survey: &Survey, node: usize) -> Option<&PathPing> {
    let rows = survey.present().into_iter().filter_map(|from| survey.row(from, node)).flat_map(|row| &row.paths);
    rows.filter(|path| path.pings.is_some()).min_by_key(|path| path.pings.map(|pings| pings.least_us))
}

/// The interface over which others reach the node, else the one that it offered first.
pub fn interface(survey: &Survey, node: usize) -> Option<&str> {
    let offered = || Some(survey.nodes.get(node)?.greeting.as_ref()?.addresses.first()?.interface.as_str());
    reached(survey, node).map(|path| path.interface.as_str()).or_else(offered)
}

/// The same with all that the node says of it.
pub fn card(survey: &Survey, node: usize) -> Option<&Interface> {
    let name = &reached(survey, node)?.interface;
    let facts = survey.nodes[node].facts.as_ref()?.network.known()?;
    facts.interfaces.iter().find(|it| it.name == *name)
}

/// Its address there; its name where none is known.
pub fn address(survey: &Survey, node: usize) -> String {
    let offered = || Some(survey.nodes.get(node)?.greeting.as_ref()?.addresses.first()?.ip);
    let ip = reached(survey, node).map(|path| path.ip).or_else(offered);
    ip.map_or_else(|| survey.name(node), |ip| ip.to_string())
}

/// The smallest network, in whole bytes, in which all nodes are; none where they are far apart or not of IPv4.
pub fn network(survey: &Survey) -> Option<String> {
    const FAR: u32 = 8;
    let of = |node: usize| match address(survey, node).parse() {
        Ok(IpAddr::V4(ip)) => Some(u32::from(ip)),
        _ => None,
    };
    let all: Option<Vec<u32>> = survey.present().into_iter().map(of).collect();
    let all = all?;
    let (least, most) = (all.iter().min()?, all.iter().max()?);
    let bits = (least ^ most).leading_zeros().min(24) / 8 * 8;
    let start = Ipv4Addr::from(least & u32::MAX.checked_shl(32 - bits).unwrap_or(0));
    (bits >= FAR).then(|| format!("{start}/{bits}"))
}
