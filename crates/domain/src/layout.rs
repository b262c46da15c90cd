//! Layouts: how ranks are divided into data, pipeline and tensor parallel parts.

use std::cmp::Ordering;

use crate::task::Strategy;

/// Layouts that use exactly these ranks, the nearest to `wanted` first, at most `most` of them.
///
/// Tensor parallelism talks in every layer, so its parts stay within a node: its degree divides the ranks of each.
pub fn that_fit(ranks_per_node: &[u32], wanted: Strategy, most: usize) -> Vec<Strategy> {
    let ranks: u32 = ranks_per_node.iter().fold(0, |sum, ranks| sum.saturating_add(*ranks));
    let common = ranks_per_node.iter().copied().fold(0, greatest_common_divisor);
    let mut fitting = Vec::new();
    for tensor_parallel in divisors(common) {
        for pipeline_parallel in divisors(ranks / tensor_parallel) {
            let data_parallel = ranks / tensor_parallel / pipeline_parallel;
            fitting.push(Strategy { data_parallel, pipeline_parallel, tensor_parallel });
        }
    }
    fitting.sort_by(|a, b| distance(*a, wanted).partial_cmp(&distance(*b, wanted)).unwrap_or(Ordering::Equal));
    fitting.truncate(most);
    fitting
}

/// How far apart two layouts are, in factors. The tensor degree is compared first, since memory hangs on it, then the
/// pipeline's; data parallelism takes what is left.
fn distance(a: Strategy, b: Strategy) -> [f64; 3] {
    let factor = |a: u32, b: u32| (f64::from(a.max(1)) / f64::from(b.max(1))).ln().abs();
    [
        factor(a.tensor_parallel, b.tensor_parallel),
        factor(a.pipeline_parallel, b.pipeline_parallel),
        factor(a.data_parallel, b.data_parallel),
    ]
}

fn divisors(number: u32) -> Vec<u32> {
    let small: Vec<u32> = (1..).take_while(|part| u64::from(*part).pow(2) <= u64::from(number)).collect();
    let mut found: Vec<u32> =
        small.into_iter().filter(|part| number.is_multiple_of(*part)).flat_map(|part| [part, number / part]).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::task::Strategy;

    fn strategy(data_parallel: u32, pipeline_parallel: u32, tensor_parallel: u32) -> Strategy {
        Strategy { data_parallel, pipeline_parallel, tensor_parallel }
    }

    #[test]
    fn the_nearest_layouts_come_first() {
        assert_eq!(that_fit(&[8; 8], strategy(2, 4, 8), 1), [strategy(2, 4, 8)]);
        assert_eq!(that_fit(&[2, 4, 8], strategy(2, 4, 8), 2), [strategy(1, 7, 2), strategy(7, 1, 2)]);
        assert_eq!(that_fit(&[], strategy(1, 1, 1), 3), []);
    }

    proptest! {
        #[test]
        fn every_layout_uses_all_ranks_and_keeps_tensors_in_a_node(
            nodes in proptest::collection::vec(1_u32..17, 1..6), dp in 0_u32..9, pp in 0_u32..9, tp in 0_u32..9,
        ) {
            let found = that_fit(&nodes, strategy(dp, pp, tp), 3);
            prop_assert!(!found.is_empty());
            for layout in found {
                prop_assert_eq!(layout.ranks(), u64::from(nodes.iter().sum::<u32>()));
                prop_assert!(nodes.iter().all(|ranks| ranks % layout.tensor_parallel == 0));
            }
        }
    }
}
