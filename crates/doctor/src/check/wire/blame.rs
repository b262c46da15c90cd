//! From bad pairs to the bad node.

use std::collections::BTreeSet;

/// Nodes that explain most of their bad pairs, and the bad pairs that no node explains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blame {
    pub nodes: Vec<usize>,
    pub pairs: Vec<(usize, usize)>,
}

/// `is_bad` judges two nodes; None where they were not measured. Of two nodes none can be told to be the bad one.
pub fn blame(nodes: &[usize], is_bad: impl Fn(usize, usize) -> Option<bool>) -> Blame {
    let mut left: BTreeSet<usize> = nodes.iter().copied().collect();
    let mut found = Blame::default();
    loop {
        let counted = left.iter().map(|node| {
            let judged: Vec<bool> =
                left.iter().filter(|it| *it != node).filter_map(|it| is_bad(*node.min(it), *node.max(it))).collect();
            (judged.iter().filter(|bad| **bad).count(), judged.len(), *node)
        });
        // Of equals the later one: the first node is the one that people are most likely to have chosen with care.
        let worst = counted.max_by_key(|(bad, _, node)| (*bad, *node));
        match worst {
            Some((bad, judged, node)) if bad >= 2 && bad * 2 > judged => {
                left.remove(&node);
                found.nodes.push(node);
            }
            _ => break,
        }
    }
    let rest: Vec<usize> = left.into_iter().collect();
    for (at, a) in rest.iter().enumerate() {
        found.pairs.extend(rest[at + 1..].iter().filter(|b| is_bad(*a, **b) == Some(true)).map(|b| (*a, *b)));
    }
    found.nodes.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_bad(bad: &[usize], pairs: &[(usize, usize)]) -> Blame {
        blame(&[0, 1, 2, 3, 4, 5], |a, b| Some(bad.contains(&a) || bad.contains(&b) || pairs.contains(&(a, b))))
    }

    #[test]
    fn bad_nodes_are_told_from_bad_pairs() {
        assert_eq!(with_bad(&[], &[]), Blame::default());
        assert_eq!(with_bad(&[3], &[]).nodes, [3]);
        assert_eq!(with_bad(&[0, 5], &[]), Blame { nodes: vec![0, 5], pairs: vec![] });
        assert_eq!(with_bad(&[], &[(1, 4)]), Blame { nodes: vec![], pairs: vec![(1, 4)] });
        assert_eq!(with_bad(&[2], &[(1, 4)]), Blame { nodes: vec![2], pairs: vec![(1, 4)] });
        assert_eq!(blame(&[0, 1], |_, _| Some(true)), Blame { nodes: vec![], pairs: vec![(0, 1)] });
        assert_eq!(blame(&[0, 1, 2], |_, _| None), Blame::default());
    }
}
