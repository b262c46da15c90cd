//! Who is worse than the others in what is measured between two.

use super::blame::blame;
use crate::nodes::survey::Survey;

/// What is usual, and who is far from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outliers {
    /// What most nodes reach with their best partner.
    pub usual: f64,
    /// Each with what it reaches with its best partner.
    pub nodes: Vec<(usize, f64)>,
}

/// By a cost between two nodes, of which less is better and None was not measured; `is_bad` judges a cost beside the usual
/// one. Of two nodes none can be told to be the bad one.
///
/// A bad node spoils each of its pairs, which are half of all among four nodes and two thirds among three: a median over pairs
/// would be its own. So nodes are compared by their best partner, which only a bad node lacks.
pub fn outliers(
    nodes: &[usize],
    cost: impl Fn(usize, usize) -> Option<f64>,
    is_bad: impl Fn(f64, f64) -> bool,
) -> Option<Outliers> {
    let best = |node: usize| {
        let costs = nodes.iter().filter(|it| **it != node).filter_map(|it| cost(node.min(*it), node.max(*it)));
        costs.min_by(f64::total_cmp)
    };
    let mut bests: Vec<f64> = nodes.iter().filter_map(|node| best(*node)).collect();
    bests.sort_by(f64::total_cmp);
    let usual = *bests.get(bests.len().checked_sub(1)? / 2)?;
    let found = blame(nodes, |a, b| cost(a, b).map(|cost| is_bad(cost, usual))).nodes;
    // A half that is near to each other and far from the other half is no worse than that.
    let is_few = found.len() * 2 < nodes.len();
    let judged = found.into_iter().filter_map(|node| Some((node, best(node)?)));
    Some(Outliers { usual, nodes: judged.filter(|(_, best)| is_few || is_bad(*best, usual)).collect() })
}

/// Pairs on one machine say nothing of the wire; where there are no others, they are what can be measured.
pub fn between_machines(survey: &Survey, nodes: &[usize]) -> impl Fn(usize, usize) -> bool {
    let addresses = |node: usize| {
        let greeting = survey.nodes.get(node).and_then(|it| it.greeting.as_ref());
        let mut all: Vec<_> = greeting.iter().flat_map(|it| &it.addresses).map(|it| it.ip).collect();
        all.sort_unstable();
        all
    };
    let machines: Vec<_> = (0..survey.nnodes).map(addresses).collect();
    let are_apart = move |a: usize, b: usize| machines.get(a) != machines.get(b);
    let has_several = nodes.iter().any(|a| nodes.iter().any(|b| are_apart(*a, *b)));
    move |a, b| !has_several || are_apart(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(count: usize, cost: impl Fn(usize, usize) -> Option<f64>) -> Vec<usize> {
        let nodes: Vec<usize> = (0..count).collect();
        let found = outliers(&nodes, cost, |cost, usual| cost > usual * 4.0);
        found.into_iter().flat_map(|it| it.nodes).map(|(node, _)| node).collect()
    }

    /// What costs one between good nodes costs a hundred with one of these.
    fn with_bad(count: usize, bad: &[usize]) -> Vec<usize> {
        named(count, |a, b| Some(if bad.contains(&a) || bad.contains(&b) { 100.0 } else { 1.0 }))
    }

    #[test]
    fn a_bad_node_is_named_among_any_number_of_nodes_from_three_on() {
        assert_eq!(with_bad(2, &[1]), Vec::<usize>::new(), "of two none can be told");
        for count in (3..=8).chain([17, 64]) {
            for bad in [0, 1, count - 1] {
                assert_eq!(with_bad(count, &[bad]), [bad], "{bad} of {count}");
            }
            for every in [1.0, 100.0] {
                assert_eq!(named(count, |_, _| Some(every)), Vec::<usize>::new(), "{count} that are alike");
            }
            assert_eq!(named(count, |_, _| None), Vec::<usize>::new());
        }
        for count in 4..=8 {
            assert_eq!(with_bad(count, &[1, 3]), [1, 3], "two of {count}");
        }
    }

    #[test]
    fn two_halves_far_from_each_other_have_no_bad_node_and_a_few_that_are_far_are_named() {
        let halves =
            |count: usize, far: usize| named(count, |a, b| Some(if (a < far) == (b < far) { 1.0 } else { 100.0 }));
        assert_eq!(halves(4, 2), Vec::<usize>::new());
        assert_eq!(halves(8, 4), Vec::<usize>::new());
        assert_eq!(halves(8, 2), [0, 1]);
        assert_eq!(halves(3, 1), [0]);
    }

    #[test]
    fn a_sample_of_the_pairs_is_enough() {
        // Among 64 each has met the fifteen that follow.
        let met = |a: usize, b: usize| (b - a) <= 15 || a + 64 - b <= 15;
        let cost = |a: usize, b: usize| met(a, b).then_some(if a == 40 || b == 40 { 100.0 } else { 1.0 });
        assert_eq!(named(64, cost), [40]);
    }
}
