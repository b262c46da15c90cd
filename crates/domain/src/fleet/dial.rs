//! How long an agent waits before it dials its server again.

use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The pause before the next dial, after so many in a row that have led to nothing; `drawn` is between 0 and 1.
///
/// It is drawn from a quarter to five quarters of a span that doubles: agents that have lost their server in one moment
/// are spread over more and more time, instead of coming back in waves.
pub fn pause_before_dial(tries: u32, drawn: f64) -> Duration {
    let span = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(tries.min(16))).min(LONGEST_PAUSE);
    span.mul_f64(0.25 + drawn.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_doubles_up_to_five_seconds() {
        let cases = [(0, 25, 125), (1, 50, 250), (4, 400, 2_000), (6, 1_250, 6_250), (1_000, 1_250, 6_250)];
        for (tries, least, most) in cases {
            assert_eq!(pause_before_dial(tries, 0.0), Duration::from_millis(least), "{tries}");
            assert_eq!(pause_before_dial(tries, 1.0), Duration::from_millis(most), "{tries}");
        }
    }

    /// Ten thousand agents lose a server that is away for two seconds: how many of them dial in the busiest tenth of a
    /// second after it is back.
    #[test]
    fn agents_that_were_cut_off_together_do_not_come_back_together() {
        let (agents, away_ms) = (10_000_u64, 2_000.0);
        let mut dials = std::collections::BTreeMap::<u64, u32>::new();
        let mut random = 7_u64;
        for _ in 0..agents {
            let (mut at_ms, mut tries) = (0.0, 0);
            while at_ms < away_ms {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                at_ms += pause_before_dial(tries, (random >> 11) as f64 / (1_u64 << 53) as f64).as_secs_f64() * 1e3;
                tries += 1;
            }
            *dials.entry((at_ms / 100.0) as u64).or_default() += 1;
        }
        let busiest = dials.values().max().copied().unwrap_or(0);
        assert!(busiest < 1_000, "{busiest} of {agents} dial in one tenth of a second: {dials:?}");
        let last = dials.keys().next_back().copied().unwrap_or(0);
        assert!(last < 60, "the last one dials {last} tenths of a second after the loss");
    }
}
