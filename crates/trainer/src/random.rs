//! Numbers that are a function of what they are for, not of how many were drawn before: every rank computes the same
//! ones, in any order, and a resumed run goes on exactly where the first one stopped.

/// What a number is for; two purposes never share numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Where sample `counter` of a step begins in the text.
    Sample { step: u64 },
    /// The first value of parameter `counter`.
    Parameter,
}

pub(crate) fn random(seed: u64, purpose: Purpose, counter: u64) -> u64 {
    let stream = match purpose {
        Purpose::Parameter => 0,
        Purpose::Sample { step } => step + 1,
    };
    scramble(scramble(scramble(seed) ^ stream) ^ counter)
}

/// Evenly spread over -1..1.
pub(crate) fn random_unit(seed: u64, purpose: Purpose, counter: u64) -> f32 {
    let bits = (random(seed, purpose, counter) >> 40) as u32;
    bits as f32 / (1 << 23) as f32 - 1.0
}

/// Multiplications and shifts that let every bit of the input move about half the bits of the output, and lose none:
/// each step can be undone.
pub(crate) fn scramble(input: u64) -> u64 {
    let mut bits = input.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn seeds_steps_and_counters_all_give_different_numbers() {
        let mut seen = HashSet::new();
        for seed in 0..10 {
            for step in 0..30 {
                for counter in 0..30 {
                    assert!(seen.insert(random(seed, Purpose::Sample { step }, counter)));
                }
            }
        }
    }

    #[test]
    fn units_are_spread_evenly_between_minus_one_and_one() {
        let units: Vec<f32> = (0..10_000).map(|index| random_unit(3, Purpose::Parameter, index)).collect();
        let mean = units.iter().sum::<f32>() / 10_000.0;
        let square = units.iter().map(|unit| unit * unit).sum::<f32>() / 10_000.0;
        assert!(units.iter().all(|unit| (-1.0..1.0).contains(unit)));
        assert!(mean.abs() < 0.03 && (square - 1.0 / 3.0).abs() < 0.02, "mean {mean}, mean square {square}");
    }
}
