//! When a delivery that did not get through is tried again.

use super::Delivery;

/// So often a receiver may refuse a delivery before it is left out, so that it does not hold up those behind it.
const MOST_REFUSALS: u32 = 5;
const FIRST_MS: u64 = 1_000;
const LONGEST_MS: u64 = 300_000;

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The next delivery; this one is done with.
    Next,
    LeaveOut,
    Again {
        after_ms: u64,
    },
}

/// `failures` and `refusals` count those of this delivery, this one included. A receiver that is down is tried for as long
/// as the event log reaches back.
pub fn retry(delivery: &Delivery, failures: u32, refusals: u32) -> Retry {
    let after_ms = FIRST_MS.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(LONGEST_MS);
    match delivery {
        Delivery::Taken => Retry::Next,
        Delivery::Refused(_) if refusals >= MOST_REFUSALS => Retry::LeaveOut,
        Delivery::Refused(_) | Delivery::Later(_) => Retry::Again { after_ms },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Text;

    #[test]
    fn pauses_grow_and_only_refusals_end_it() {
        let later = Delivery::Later(Text::new("", ""));
        let pauses: Vec<Retry> = (1..=10).map(|failures| retry(&later, failures, 0)).collect();
        let expected = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300].map(|s| Retry::Again { after_ms: s * 1_000 });
        assert_eq!(pauses, expected);
        assert_eq!(retry(&later, u32::MAX, 0), Retry::Again { after_ms: LONGEST_MS });
        let refused = Delivery::Refused(Text::new("", ""));
        assert_eq!(retry(&refused, 4, 4), Retry::Again { after_ms: 8_000 });
        assert_eq!(retry(&refused, 5, 5), Retry::LeaveOut);
        assert_eq!(retry(&Delivery::Taken, 3, 0), Retry::Next);
    }
}
