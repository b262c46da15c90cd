//! What a slow rank costs, from how long each rank was in collectives.

/// Ranks look that often whether they are in a collective; what a look finds counts for the time since the one before.
const LOOK_MS: f64 = 500.0;
/// So many deviations apart it is no chance that a rank waits less than others.
const DEVIATIONS: f64 = 3.0;

/// Of ranks that make each step together the slowest waits least. What the others wait longer, on average, is what it costs;
/// nothing where that may be chance.
pub fn waited_for_the_slowest(waited_ms: &[u64]) -> u64 {
    let (Some(least), others) = (waited_ms.iter().min().copied(), waited_ms.len().saturating_sub(1)) else { return 0 };
    if others == 0 {
        return 0;
    }
    let sum: f64 = waited_ms.iter().map(|ms| *ms as f64).sum();
    let mean = (sum - least as f64) / others as f64;
    let excess = mean - least as f64;
    let chance = DEVIATIONS * ((mean + least as f64) / LOOK_MS).sqrt() * LOOK_MS;
    if excess > chance { excess as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_waits_least_and_what_chance_explains_is_nothing() {
        for (waited, expected) in [
            (&[][..], 0),
            (&[60_000], 0),
            // Ten minutes in which one rank computes for a third longer.
            (&[200_000, 10_000, 205_000, 195_000], 190_000),
            (&[200_000, 0], 200_000),
            (&[200_000, 195_000, 210_000, 203_000], 0),
            (&[1_000, 0], 0),
        ] {
            assert_eq!(waited_for_the_slowest(waited), expected, "{waited:?}");
        }
    }
}
