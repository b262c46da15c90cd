//! `pytorch_ddp_config.yaml`.

use std::fmt::Write as _;

use fermi_domain::launch::{Placeholder, Template};

use crate::{batch::Batch, order::LaunchOrder, precision::Precision, yaml};

/// Arguments of DistributedDataParallel that the user set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tuning {
    pub bucket_cap_mb: Option<u64>,
    pub find_unused_parameters: Option<bool>,
    pub broadcast_buffers: Option<bool>,
    pub gradient_as_bucket_view: Option<bool>,
    pub static_graph: Option<bool>,
}

impl Tuning {
    /// Torch's own names.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let flags = [
            ("find_unused_parameters", self.find_unused_parameters),
            ("broadcast_buffers", self.broadcast_buffers),
            ("gradient_as_bucket_view", self.gradient_as_bucket_view),
            ("static_graph", self.static_graph),
        ];
        let cap = self.bucket_cap_mb.map(|cap| ("bucket_cap_mb", cap.to_string()));
        let flags = flags.into_iter().filter_map(|(name, flag)| Some((name, flag?.to_string())));
        cap.into_iter().chain(flags).collect()
    }
}

/// The file: the world, the nodes with their first ranks, and what was set.
pub(super) fn text(
    order: &LaunchOrder<'_>,
    backend: &str,
    tuning: &Tuning,
    batch: Option<Batch>,
    precision: Precision,
) -> Template {
    let head =
        format!("# pytorch_ddp_config.yaml\ndistributed:\n  backend: {}\n  init_method: tcp://", yaml::scalar(backend));
    let mut rest = format!("\n  world_size: {}\n  rank: 0  # 主节点\n", order.ranks.world_size());
    nodes(order, &mut rest);
    section("ddp", &tuning.lines(), &mut rest);
    if let Some(batch) = batch {
        let lines = [
            ("per_device_train_batch_size", batch.micro.to_string()),
            ("gradient_accumulation_steps", batch.accumulation.to_string()),
            ("effective_batch_size", batch.global.to_string()),
            ("mixed_precision", yaml::scalar(precision.in_accelerate())),
        ];
        section("training", &lines, &mut rest);
    }
    Template::text(head)
        .then_placeholder(Placeholder::MasterAddress)
        .then(":")
        .then_placeholder(Placeholder::MasterPort)
        .then(rest)
}

fn nodes(order: &LaunchOrder<'_>, text: &mut String) {
    text.push_str("\nnodes:\n");
    for (index, node) in order.ranks.nodes().enumerate() {
        let facts = order.nodes.get(index);
        let ip = facts.and_then(|facts| facts.address.as_deref()).map_or_else(|| "null".to_owned(), yaml::scalar);
        let gpus: Vec<String> = node.slots.iter().filter_map(|slot| slot.gpu).map(|gpu| gpu.to_string()).collect();
        let first = node.slots.first().map_or(0, |slot| slot.rank.get());
        let _ = writeln!(text, "  - name: {}", yaml::scalar(node.node));
        let _ = writeln!(text, "    rank: {}", node.node_rank);
        let _ = writeln!(text, "    first_rank: {first}");
        let _ = writeln!(text, "    processes: {}", node.slots.len());
        let _ = writeln!(text, "    ip: {ip}");
        let _ = writeln!(text, "    gpus: [{}]", gpus.join(", "));
        if let Some(zone) = facts.and_then(|facts| facts.zone.as_deref()) {
            let _ = writeln!(text, "    zone: {}", yaml::scalar(zone));
        }
    }
}

fn section(name: &str, lines: &[(&'static str, String)], text: &mut String) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{name}:");
    for (key, value) in lines {
        let _ = writeln!(text, "  {key}: {value}");
    }
}
