//! The nodes of the command line.

use fermi_domain::language::Text;
use fermi_domain::rank_map::RankMap;
use fermi_frameworks::{NodeFacts, ranks_of};

use super::EngineRefusal;

/// Ranks and nodes, the master first.
#[derive(Debug)]
pub(super) struct Cluster {
    pub ranks: RankMap,
    pub nodes: Vec<NodeFacts>,
}

/// Reads `NAME:RANKS[:ADDRESS[:ZONE]]`; one node of two ranks where nothing is said.
pub(super) fn read(given: &[String], on_gpus: bool) -> Result<Cluster, EngineRefusal> {
    let usual = ["localhost:2:127.0.0.1".to_owned()];
    let given = if given.is_empty() { &usual } else { given };
    let mut counts = Vec::new();
    let mut nodes = Vec::new();
    for text in given {
        let mut parts = text.splitn(3, ':');
        let name = parts.next().filter(|name| !name.is_empty()).ok_or_else(|| refused(text))?;
        let count = parts.next().and_then(|count| count.parse().ok()).filter(|count| (1..=4096).contains(count));
        let count: u32 = count.ok_or_else(|| refused(text))?;
        let filled = |part: Option<&str>| part.filter(|part| !part.is_empty()).map(str::to_owned);
        let (address, zone) = address_and_zone(parts.next()).ok_or_else(|| refused(text))?;
        counts.push((name, count));
        nodes.push(NodeFacts {
            name: name.to_owned(),
            address: filled(address),
            zone: filled(zone),
            gpu_model: None,
            gpu_count: if on_gpus { count } else { 0 },
        });
    }
    let ranks = ranks_of(counts, on_gpus).map_err(|error| EngineRefusal::of(&error))?;
    Ok(Cluster { ranks, nodes })
}

/// `ADDRESS[:ZONE]`; an address with colons of its own stands in brackets.
fn address_and_zone(rest: Option<&str>) -> Option<(Option<&str>, Option<&str>)> {
    let Some(rest) = rest else { return Some((None, None)) };
    let (address, zone) = match rest.strip_prefix('[') {
        Some(rest) => {
            let (address, zone) = rest.split_once(']')?;
            (address, if zone.is_empty() { None } else { Some(zone.strip_prefix(':')?) })
        }
        None => rest.split_once(':').map_or((rest, None), |(address, zone)| (address, Some(zone))),
    };
    let bare = |text: &str| text.starts_with(':') || text.parse::<std::net::Ipv6Addr>().is_ok();
    // Without brackets it would be cut in the middle.
    if !rest.starts_with('[') && (bare(rest) || zone.is_some_and(|zone| zone.starts_with(':'))) {
        return None;
    }
    Some((Some(address), zone))
}

fn refused(text: &str) -> EngineRefusal {
    EngineRefusal {
        text: Text::new(format!("--node {text} 无效"), format!("--node {text} is no node")),
        hint: Text::new(
            "格式为 名称:RANK数[:地址[:可用区]]，例如 gn6:4:10.0.0.6；IPv6 地址加方括号",
            "give NAME:RANKS[:ADDRESS[:ZONE]], such as gn6:4:10.0.0.6; an IPv6 address stands in brackets",
        ),
    }
}
