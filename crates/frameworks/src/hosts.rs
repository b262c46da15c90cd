//! Host files: a line per node with its slots, as DeepSpeed, Horovod and mpirun read them.

use std::{collections::BTreeSet, fmt::Write as _};

use crate::order::LaunchOrder;

/// Whether nothing in it could be read as something else than a host.
fn is_host(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.:".contains(letter))
}

/// A word for each node that tells it from all others: its name where that could be a host's, else a number.
pub(crate) fn names(order: &LaunchOrder<'_>) -> Vec<String> {
    numbered(order.ranks.nodes().map(|node| Some(node.node).filter(|name| is_host(name))).collect())
}

/// How to reach each node: by its address, else by its name where that could be a host's, else a number stands for it.
pub(crate) fn hosts(order: &LaunchOrder<'_>) -> Vec<String> {
    let own = order.ranks.nodes().enumerate().map(|(node, ranks)| {
        let address = order.nodes.get(node).and_then(|facts| facts.address.as_deref());
        [address, Some(ranks.node)].into_iter().flatten().find(|text| is_host(text))
    });
    numbered(own.collect())
}

/// Gives those without a word a number that is nobody's word.
fn numbered(own: Vec<Option<&str>>) -> Vec<String> {
    let taken: BTreeSet<&str> = own.iter().copied().flatten().collect();
    let stand_in = |node: usize| {
        let spellings = std::iter::once(format!("node{node}")).chain((1..).map(|more| format!("node{node}-{more}")));
        spellings.into_iter().find(|word| !taken.contains(word.as_str())).unwrap_or_default()
    };
    own.iter().enumerate().map(|(node, word)| word.map_or_else(|| stand_in(node), str::to_owned)).collect()
}

/// `host slots=n` for every node, and nothing else: Horovod takes no comments.
pub(crate) fn bare_file(order: &LaunchOrder<'_>) -> String {
    let mut text = String::new();
    for (host, node) in hosts(order).iter().zip(order.ranks.nodes()) {
        let _ = writeln!(text, "{host} slots={}", node.slots.len());
    }
    text
}

/// `host slots=n` for every node; names that are no host's stand in a comment above.
pub(crate) fn file(order: &LaunchOrder<'_>) -> String {
    let mut text = String::new();
    for (host, node) in hosts(order).iter().zip(order.ranks.nodes()) {
        if host != node.node {
            let name: String = node.node.chars().filter(|letter| !letter.is_control()).collect();
            let _ = writeln!(text, "# {name}");
        }
        let _ = writeln!(text, "{host} slots={}", node.slots.len());
    }
    text
}
