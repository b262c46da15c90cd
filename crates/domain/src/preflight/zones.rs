//! How far zones are from each other.

use std::collections::BTreeMap;

use super::{PreflightNode, PreflightReport};
use crate::finding::{Finding, FindingTopic};
use crate::language::Text;

/// Beyond this each step of a training that adds gradients waits noticeably.
const FAR_US: u64 = 5_000;

/// The shortest round trips between zones; nothing where all are in one.
pub fn check(nodes: &[PreflightNode], report: &PreflightReport) -> Option<Finding> {
    let mut trips: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (from, row) in report.round_trips_us.iter().enumerate() {
        for (to, trip) in row.iter().enumerate() {
            let (Some(trip), Some(a), Some(b)) = (*trip, zone(nodes, from), zone(nodes, to)) else { continue };
            if a != b {
                let least = trips.entry((a.min(b), a.max(b))).or_insert(trip);
                *least = trip.min(*least);
            }
        }
    }
    let farthest = *trips.values().max()?;
    let each: Vec<String> =
        trips.iter().map(|((a, b), trip)| format!("{a} – {b} {:.2} ms", *trip as f64 / 1e3)).collect();
    let each = each.join(", ");
    let text = Text::new(format!("跨区往返：{each}"), format!("round trips between zones: {each}"));
    if farthest < FAR_US {
        return Some(Finding::ok("wire.zones", FindingTopic::Wire, text));
    }
    let advice = Text::new(
        "把一个任务放在同一区内，或减少通信：更大的批量、梯度累积",
        "keep a task within one zone, or let it talk less: larger batches, gradient accumulation",
    );
    Some(Finding::warning("wire.zones", FindingTopic::Wire, text).advice(advice))
}

fn zone(nodes: &[PreflightNode], node: usize) -> Option<&str> {
    nodes.get(node)?.zone.as_deref()
}
