//! Who measures with whom, and when: as in a tournament, so that in each round every node has one partner.

use std::collections::BTreeSet;

/// Rounds of disjoint pairs in which all meet all. With an odd number one node pauses in each round.
pub fn rounds(nodes: &[usize]) -> Vec<Vec<(usize, usize)>> {
    let mut seats: Vec<Option<usize>> = nodes.iter().copied().map(Some).collect();
    if !seats.len().is_multiple_of(2) {
        seats.push(None);
    }
    let count = seats.len();
    let mut rounds = Vec::new();
    for _ in 1..count {
        let pairs = (0..count / 2).filter_map(|at| seats[at].zip(seats[count - 1 - at]));
        rounds.push(pairs.collect());
        // All but the first move on by one seat.
        seats[1..].rotate_right(1);
    }
    rounds
}

/// One node measures its way to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    pub from: usize,
    pub to: usize,
    /// Over every address of the other, and not the quickest alone.
    pub over_all: bool,
}

/// Who measures whom in a round. The addresses of each node of `unweighed` are all tried once, the first time that it can be.
pub fn trials(round: &[(usize, usize)], unweighed: &mut BTreeSet<usize>) -> Vec<Trial> {
    let trial = |&(a, b): &(usize, usize)| {
        let (from, to) = if unweighed.contains(&a) && !unweighed.contains(&b) { (b, a) } else { (a, b) };
        Trial { from, to, over_all: unweighed.remove(&to) }
    };
    round.iter().map(trial).collect()
}

/// A round more for those whose addresses no round has tried, as with two nodes; empty where there are none.
pub fn rest(nodes: &[usize], unweighed: &BTreeSet<usize>) -> Vec<(usize, usize)> {
    let mut free: BTreeSet<usize> = nodes.iter().copied().collect();
    let mut pairs = Vec::new();
    for to in nodes.iter().copied().filter(|node| unweighed.contains(node)) {
        let partner = free.iter().copied().filter(|node| *node != to).max_by_key(|node| !unweighed.contains(node));
        if let Some(from) = partner.filter(|_| free.contains(&to)) {
            free.remove(&from);
            free.remove(&to);
            pairs.push((from, to));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_every_node_are_all_tried_once() {
        for count in 2..=17 {
            let nodes: Vec<usize> = (0..count).collect();
            // Of the first ones only one address is known.
            for known in [0, 1, count / 2] {
                let mut unweighed: BTreeSet<usize> = nodes.iter().copied().skip(known).collect();
                let mut tried: Vec<usize> = Vec::new();
                let mut take = |round: Vec<(usize, usize)>, unweighed: &mut BTreeSet<usize>| {
                    let trials = trials(&round, unweighed);
                    let met: BTreeSet<usize> = trials.iter().flat_map(|it| [it.from, it.to]).collect();
                    assert_eq!(met.len(), trials.len() * 2, "{trials:?}");
                    tried.extend(trials.into_iter().filter(|it| it.over_all).map(|it| it.to));
                };
                rounds(&nodes).into_iter().take(15).for_each(|round| take(round, &mut unweighed));
                let mut more = 0;
                while !unweighed.is_empty() {
                    more += 1;
                    take(rest(&nodes, &unweighed), &mut unweighed);
                }
                assert!(more <= 1, "{more} rounds more for {count} nodes");
                tried.sort_unstable();
                assert_eq!(tried, nodes[known..], "{count} nodes");
            }
        }
        assert_eq!(rest(&[3], &[3].into()), [], "alone");
    }

    #[test]
    fn all_meet_all_once_and_nobody_twice_in_a_round() {
        for count in 0..=17 {
            let nodes: Vec<usize> = (0..count).map(|node| node * 3).collect();
            let rounds = rounds(&nodes);
            let mut met = BTreeSet::new();
            for round in &rounds {
                let in_round: BTreeSet<usize> = round.iter().flat_map(|(a, b)| [*a, *b]).collect();
                assert_eq!(in_round.len(), round.len() * 2, "{round:?}");
                met.extend(round.iter().map(|(a, b)| (*a.min(b), *a.max(b))));
            }
            assert_eq!(met.len(), count * count.saturating_sub(1) / 2, "{count} nodes");
            assert!(rounds.len() <= count, "{count} nodes in {} rounds", rounds.len());
        }
    }
}
