//! `4x8xA100-80G`, `2x8xH100@east,2x8xH100@west`: the machines as people write them.

use fermi_domain::language::Text;
use fermi_planner::catalogue::{Catalogue, Gpu, GpuEntry};
use fermi_planner::error::PlanError;
use fermi_planner::job::{Cluster, Zones};
use fermi_planner::machines::Nodes;
use fermi_planner::network::Network;

/// Machines, and what was simplified about them.
#[derive(Debug)]
pub struct Machines {
    pub cluster: Cluster,
    pub name: String,
    pub notes: Vec<Text>,
}

/// One part of the list.
struct Part {
    nodes: Nodes,
    name: String,
    zone: String,
}

/// A GPU that no catalogue knows, by its numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnGpu {
    pub tflops: Option<f64>,
    pub memory_gib: Option<f64>,
    pub bandwidth_gbs: Option<f64>,
    pub link_gbs: Option<f64>,
}

/// The links that the flags name.
#[derive(Clone, Copy, Debug)]
pub struct Links<'a> {
    pub network: Option<&'a str>,
    pub zone_network: Option<&'a str>,
    pub zone_rtt_ms: f64,
}

pub fn parse(words: &str, catalogue: &Catalogue, own: OwnGpu, links: Links<'_>) -> Result<Machines, PlanError> {
    let parts: Vec<Part> =
        words.split(',').map(|part| read(part.trim(), catalogue, own)).collect::<Result<_, PlanError>>()?;
    let kinds: Vec<Nodes> = parts.iter().map(|part| part.nodes).collect();
    let Some(mut cluster) = Cluster::of(&kinds) else { return Err(PlanError::zero("gpus")) };
    let mut notes = Vec::new();
    let alike = |(a, b): (&Nodes, &Nodes)| a.gpu == b.gpu && a.gpus_per_node == b.gpus_per_node;
    if !kinds.iter().zip(kinds.iter().skip(1)).all(alike) {
        notes.push(Text::new(
            "节点不相同：按最慢的 GPU、最小的显存和最少的每节点 GPU 数估算",
            "nodes differ: estimated at the pace of the slowest GPU, in the smallest memory, with the fewest GPUs per node",
        ));
    }
    match links.network {
        Some(words) => {
            cluster.network =
                Network::parse(words, cluster.gpus_per_node).ok_or_else(|| unknown_network("network", words))?;
        }
        None if kinds.iter().map(|kind| kind.count).fold(0, u64::saturating_add) > 1 => notes.push(Text::new(
            format!("未给出网络：按每节点 {:.0} Gbps 估算", cluster.network.node_gbps),
            format!("no network given: estimated with {:.0} Gbps per node", cluster.network.node_gbps),
        )),
        None => {}
    }
    let mut zones: Vec<&str> = parts.iter().map(|p| p.zone.as_str()).collect();
    zones.sort_unstable();
    zones.dedup();
    cluster.zones = match (zones.len(), links.zone_network) {
        (0 | 1, _) => None,
        (count, words) => {
            let link = match words {
                None => Network::of_gbps(10.0),
                Some(words) => Network::parse(words, 1).ok_or_else(|| unknown_network("zone-network", words))?,
            };
            Some(Zones { count: count as u64, gbps: link.node_gbps, round_trip_ms: links.zone_rtt_ms })
        }
    };
    let mut names: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
    names.dedup();
    Ok(Machines { name: names.join(" + "), cluster, notes })
}

fn read(part: &str, catalogue: &Catalogue, own: OwnGpu) -> Result<Part, PlanError> {
    let (part, zone) = part.split_once('@').unwrap_or((part, ""));
    let mut counts = Vec::new();
    let mut rest = part;
    while counts.len() < 2
        && let Some((head, tail)) = rest.split_once(['x', '×', '*'])
        && let Ok(count) = head.trim().parse::<u64>()
    {
        counts.push(count);
        rest = tail;
    }
    let rest = rest.trim();
    let (nodes, per_node) = match counts.as_slice() {
        [nodes, per_node] => (*nodes, *per_node),
        [gpus] => (1, *gpus),
        _ => (1, 1),
    };
    if nodes == 0 || per_node == 0 {
        return Err(PlanError::zero("gpus"));
    }
    if nodes.saturating_mul(per_node) > 1 << 20 {
        return Err(PlanError::too_large("gpus"));
    }
    let nodes = Nodes { count: nodes, gpus_per_node: per_node, gpu: gpu(rest, catalogue, own)? };
    Ok(Part { nodes, name: rest.to_owned(), zone: zone.trim().to_owned() })
}

fn gpu(name: &str, catalogue: &Catalogue, own: OwnGpu) -> Result<Gpu, PlanError> {
    if name.is_empty() {
        return Err(PlanError::missing("gpu"));
    }
    match (catalogue.gpu(name, own.memory_gib), own.tflops) {
        (Ok(gpu), None) => Ok(gpu),
        (_, Some(tflops)) => {
            let memory_gib = own.memory_gib.ok_or_else(|| PlanError::missing("gpu-memory"))?;
            GpuEntry::by_numbers(tflops, memory_gib, own.bandwidth_gbs, own.link_gbs)
        }
        (Err(error), None) => Err(error),
    }
}

fn unknown_network(field: &'static str, words: &str) -> PlanError {
    PlanError::not_among(field, words, &["100Gbps", "8x200Gbps", "400Gbps/GPU"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(words: &str) -> Result<Machines, PlanError> {
        let links = Links { network: Some("100Gbps"), zone_network: None, zone_rtt_ms: 5.0 };
        parse(words, &Catalogue::builtin(), OwnGpu::default(), links)
    }

    #[test]
    fn machines_are_read_as_people_write_them() {
        for (words, gpus, per_node, zones) in [
            ("4x8xA100-80G", 32, 8, None),
            ("8xH100", 8, 8, None),
            ("RTX-4090", 1, 1, None),
            ("2x8xA100@east,2x8xA100@west", 32, 8, Some(2)),
            ("2x8xA100-80,1x4xV100-32", 20, 4, None),
        ] {
            let read = read_words(words).unwrap();
            assert_eq!((read.cluster.gpus, read.cluster.gpus_per_node), (gpus, per_node), "{words}");
            assert_eq!(read.cluster.zones.map(|z| z.count), zones, "{words}");
        }
        assert_eq!(read_words("2x8xA100-80,1x4xV100-32").unwrap().cluster.gpu.memory_gib, 32.0);
    }

    #[test]
    fn no_gpus_and_unknown_ones_get_a_sentence() {
        for (words, said) in [
            ("0xA100", "above 0"),
            ("4x0xA100", "above 0"),
            ("8xA1000000", "unknown gpu"),
            ("9999999x9999xH100", "larger than"),
        ] {
            let error = read_words(words).unwrap_err();
            assert!(error.message.en.contains(said), "{words}: {}", error.message.en);
        }
    }

    #[test]
    fn an_unknown_gpu_is_taken_by_its_numbers() {
        let own = OwnGpu { tflops: Some(500.0), memory_gib: Some(64.0), ..OwnGpu::default() };
        let links = Links { network: None, zone_network: None, zone_rtt_ms: 0.0 };
        let read = parse("8xNext-1", &Catalogue::builtin(), own, links).unwrap();
        assert_eq!(read.cluster.gpu.memory_gib, 64.0);
        assert_eq!(read.cluster.gpu.bf16_flops, 5e14);
    }
}
