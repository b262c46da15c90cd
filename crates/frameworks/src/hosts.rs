//! Host files: a line per node with its slots, as DeepSpeed, Horovod and mpirun read them.

use std::fmt::Write as _;

use crate::order::LaunchOrder;

/// The name by which a host file calls a node: its address, else its name where that could be a host's, else its number.
pub(crate) fn host_of(order: &LaunchOrder<'_>, node: usize, name: &str) -> String {
    let address = order.nodes.get(node).and_then(|facts| facts.address.as_deref());
    let candidates = [address, Some(name)];
    let usable = candidates.into_iter().flatten().find(|text| is_host(text));
    usable.map_or_else(|| format!("node{node}"), str::to_owned)
}

/// Whether nothing in it could be read as something else than a host.
pub(crate) fn is_host(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.:".contains(letter))
}

/// `host slots=n` for every node; names that are no host's stand in a comment above.
pub(crate) fn file(order: &LaunchOrder<'_>) -> String {
    let mut text = String::new();
    for (node, ranks) in order.ranks.nodes().enumerate() {
        let host = host_of(order, node, ranks.node);
        if host != ranks.node {
            let name: String = ranks.node.chars().filter(|letter| !letter.is_control()).collect();
            let _ = writeln!(text, "# {name}");
        }
        let _ = writeln!(text, "{host} slots={}", ranks.slots.len());
    }
    text
}
