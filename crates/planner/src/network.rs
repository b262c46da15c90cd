//! How machines are joined: what one node can send, read from the words people use.

use serde::{Deserialize, Serialize};

/// By what means nodes talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fabric {
    /// InfiniBand, RoCE, EFA.
    Rdma,
    OmniPath,
    /// A flow costs processor time and stays below the line rate.
    Tcp,
}

impl Fabric {
    /// Of the line rate, against RDMA. NCCL's all-reduce over four nodes moves 40 of an Omni-Path card's 100 Gbit/s (measured by
    /// BigScience on the machines that BLOOM was trained on), where it reaches 0.7 of InfiniBand's.
    fn usable(self) -> f64 {
        match self {
            Self::Rdma => 1.0,
            Self::OmniPath => 0.4 / 0.7,
            Self::Tcp => 0.9,
        }
    }
}

/// Bandwidth and delay between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// What one node sends, in gigabits per second.
    pub node_gbps: f64,
    /// Delay of one message, in microseconds.
    pub latency_us: f64,
    pub fabric: Fabric,
}

impl Network {
    pub fn of_gbps(node_gbps: f64) -> Self {
        let (fabric, latency_us) = if node_gbps >= 100.0 { (Fabric::Rdma, 8.0) } else { (Fabric::Tcp, 40.0) };
        Self { node_gbps, latency_us, fabric }
    }

    /// Bytes per second of a node.
    pub fn node_bytes_per_s(&self) -> f64 {
        self.node_gbps * 1e9 / 8.0 * self.fabric.usable()
    }

    /// Reads `100Gbps`, `8x 200 Gbps HDR IB/node`, `400 Gbps/GPU RDMA`, `4x NDR`, `3.2 Tbps`, `25GbE`.
    pub fn parse(words: &str, gpus_per_node: u64) -> Option<Self> {
        let text = words.to_ascii_lowercase();
        let (value, unit_at) = rate(&text)?;
        let count = multiplier(&text).unwrap_or(1.0);
        let after = &text[unit_at..];
        let per_gpu = after.trim_start().starts_with("/gpu") || text.contains("per gpu");
        let links = if per_gpu { gpus_per_node.max(1) as f64 } else { count };
        let mut network = Self::of_gbps(value * links);
        if text.contains("tcp") || text.contains("ethernet") || text.contains("gbe") {
            network.fabric = Fabric::Tcp;
        }
        if ["ib", "infiniband", "rdma", "roce", "efa"].iter().any(|w| text.contains(w)) {
            network.fabric = Fabric::Rdma;
            network.latency_us = 8.0;
        }
        if ["omni-path", "omnipath", "opa"].iter().any(|w| text.contains(w)) {
            network.fabric = Fabric::OmniPath;
        }
        (network.node_gbps.is_finite() && network.node_gbps > 0.0).then_some(network)
    }
}

/// The last number before a unit of rate, in Gbps, and where the text after the unit begins.
fn rate(text: &str) -> Option<(f64, usize)> {
    let units = [
        ("tbps", 1000.0),
        ("tb/s", 1000.0),
        ("gbps", 1.0),
        ("gbit/s", 1.0),
        ("gb/s", 8.0),
        ("gbe", 1.0),
        ("mbps", 1e-3),
    ];
    let stated = units
        .iter()
        .filter_map(|(unit, factor)| {
            let at = text.find(unit)?;
            Some((at, number_before(text, at)? * factor, at + unit.len()))
        })
        .min_by_key(|(at, _, _)| *at);
    if let Some((_, value, end)) = stated {
        return Some((value, end));
    }
    for (unit, gbps) in [("xdr", 800.0), ("ndr", 400.0), ("hdr", 200.0), ("edr", 100.0)] {
        if let Some(at) = text.find(unit) {
            return Some((gbps, at + unit.len()));
        }
    }
    text.trim().parse().ok().map(|value| (value, text.len()))
}

fn number_before(text: &str, at: usize) -> Option<f64> {
    let head = text.get(..at)?.trim_end();
    let start = head
        .rfind(|c: char| !(c.is_ascii_digit() || c == '.'))
        .map_or(0, |i| i + head[i..].chars().next().map_or(1, char::len_utf8));
    head.get(start..)?.parse().ok()
}

/// The `8` of `8x 200 Gbps` or `8 x 400`.
fn multiplier(text: &str) -> Option<f64> {
    text.char_indices()
        .filter(|(_, c)| *c == 'x' || *c == '×')
        .find_map(|(at, c)| {
            let follows = text.get(at + c.len_utf8()..)?.trim_start().chars().next()?;
            if !(follows.is_ascii_digit()
                || ["ndr", "hdr", "edr", "xdr"].iter().any(|w| text[at + c.len_utf8()..].trim_start().starts_with(w)))
            {
                return None;
            }
            number_before(text, at)
        })
        .filter(|n| *n >= 1.0 && *n <= 64.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_tables_and_people_are_read_as_one_rate_per_node() {
        for (words, gpus, gbps) in [
            ("100Gbps", 8, 100.0),
            ("8x 200 Gbps HDR IB/node (Selene), NVLink3", 8, 1600.0),
            ("1600 Gbps/node RoCE", 8, 1600.0),
            ("400 Gbps/GPU RDMA; 500 W power cap, HBM2e 2.4 TB/s", 8, 3200.0),
            ("4x 100 Gbps Omni-Path/node, NVLink3", 8, 400.0),
            ("NDR 400 Gbps/GPU IB (4 GPU/node), NVLink4", 4, 1600.0),
            ("DGX Cloud H100, 8x400 Gbps/node (not restated)", 8, 3200.0),
            ("800 Gbps/node IB, NVLink3", 8, 800.0),
            ("25GbE", 8, 25.0),
            ("3.2 Tbps", 8, 3200.0),
            ("8x NDR", 8, 3200.0),
            ("10", 4, 10.0),
        ] {
            let read = Network::parse(words, gpus).map(|n| n.node_gbps);
            assert_eq!(read, Some(gbps), "{words}");
        }
        assert_eq!(Network::parse("4x 100 Gbps Omni-Path/node", 8).map(|n| n.fabric), Some(Fabric::OmniPath));
        assert_eq!(Network::parse("100 Gbps Ethernet", 8).map(|n| n.fabric), Some(Fabric::Tcp));
        assert_eq!(Network::parse("100 Gbps Ethernet, RoCE", 8).map(|n| n.fabric), Some(Fabric::Rdma));
        assert_eq!(Network::parse("not stated", 8), None);
        assert_eq!(Network::parse("one node, NVLink", 8), None);
    }
}
