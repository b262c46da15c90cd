//! Who measures with whom, and when: as in a tournament, so that in each round every node has one partner.

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

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
