//! Log-ins that fail cost time, more each time, so that guessing does not pay.

use std::collections::HashMap;

/// Failures that cost nothing: fingers slip.
const FREE: u32 = 5;
const FIRST_WAIT_MS: u64 = 1_000;
const LONGEST_WAIT_MS: u64 = 60_000;
/// After so long without a failure all is forgotten.
const FORGOTTEN_MS: u64 = 15 * 60_000;
/// Beyond so many keys the oldest are forgotten: an attacker must not fill the memory.
const MOST_KEYS: usize = 10_000;

/// What is known of failed log-ins, by a key such as a user at an address.
#[derive(Clone, Debug, Default)]
pub struct Throttle {
    failures: HashMap<String, Failures>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last_ms: u64,
}

impl Failures {
    fn wait_ms(self) -> u64 {
        let beyond = self.count.saturating_sub(FREE);
        if beyond == 0 { 0 } else { LONGEST_WAIT_MS.min(FIRST_WAIT_MS << (beyond - 1).min(10)) }
    }
}

impl Throttle {
    /// How long the next try under this key has to wait; none if it may be now.
    pub fn wait_ms(&self, key: &str, now_ms: u64) -> Option<u64> {
        let failures = self.failures.get(key).filter(|failures| now_ms < failures.last_ms + FORGOTTEN_MS)?;
        let over_ms = failures.last_ms + failures.wait_ms();
        // A clock that was set back makes no one wait for longer.
        (over_ms > now_ms).then(|| (over_ms - now_ms).min(failures.wait_ms()))
    }

    /// Counts a try as failed before it is known to be, so that many at once count as many; [`Self::succeeded`] takes it back.
    pub fn failed(&mut self, key: &str, now_ms: u64) {
        self.failures.retain(|_, failures| now_ms < failures.last_ms + FORGOTTEN_MS);
        if self.failures.len() >= MOST_KEYS && !self.failures.contains_key(key) {
            let oldest = self.failures.iter().min_by_key(|(_, failures)| failures.last_ms);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.failures.remove(&oldest);
            }
        }
        let failures = self.failures.entry(key.to_owned()).or_insert(Failures { count: 0, last_ms: now_ms });
        *failures = Failures { count: failures.count.saturating_add(1), last_ms: now_ms };
    }

    /// A try that was counted and never judged.
    pub fn take_back(&mut self, key: &str) {
        if let Some(failures) = self.failures.get_mut(key) {
            failures.count = failures.count.saturating_sub(1);
        }
    }

    pub fn succeeded(&mut self, key: &str) {
        self.failures.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_beyond_the_first_wait_longer_each_time() {
        let mut throttle = Throttle::default();
        let mut waits = Vec::new();
        let mut now = 1_000_000;
        for _ in 0..13 {
            throttle.failed("ann", now);
            let wait = throttle.wait_ms("ann", now).unwrap_or(0);
            waits.push(wait / 1_000);
            now += wait;
            assert_eq!(throttle.wait_ms("ann", now), None);
        }
        assert_eq!(waits, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(throttle.wait_ms("bob", now), None);
    }

    #[test]
    fn a_success_or_a_quarter_of_an_hour_forgets() {
        let mut throttle = Throttle::default();
        (0..8).for_each(|_| throttle.failed("ann", 0));
        assert_eq!(throttle.wait_ms("ann", 0), Some(4_000));
        throttle.succeeded("ann");
        assert_eq!(throttle.wait_ms("ann", 0), None);
        (0..8).for_each(|_| throttle.failed("ann", 0));
        throttle.failed("bob", FORGOTTEN_MS);
        assert_eq!(throttle.failures.len(), 1);
    }

    #[test]
    fn there_is_a_bound_to_what_is_remembered() {
        let mut throttle = Throttle::default();
        for number in 0..MOST_KEYS as u64 + 10 {
            throttle.failed(&number.to_string(), number);
        }
        assert_eq!(throttle.failures.len(), MOST_KEYS);
    }
}
