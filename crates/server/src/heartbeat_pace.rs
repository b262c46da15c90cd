//! How many heartbeats of an agent are kept. Those that a stall has held back come all at once; twice as many as an agent owes do not come
//! for long.

use std::time::{Duration, Instant};

const MOST_AT_ONCE: u32 = 60;
const ONE_MORE_EVERY: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct HeartbeatPace {
    left: u32,
    /// Up to when it was counted how many more there may be.
    counted: Instant,
}

impl HeartbeatPace {
    pub fn new(now: Instant) -> Self {
        Self { left: MOST_AT_ONCE, counted: now }
    }

    /// Whether one that comes now is kept; else it says that the agent lives, and no more.
    pub fn keeps_one(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.counted).as_millis() / ONE_MORE_EVERY.as_millis();
        let more = u32::try_from(passed).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(more).min(MOST_AT_ONCE);
        self.counted = now.min(self.counted + ONE_MORE_EVERY.saturating_mul(more));
        let keeps = self.left > 0;
        self.left = self.left.saturating_sub(1);
        keeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_each_second_and_those_of_a_stall_are_kept_and_a_flood_is_not() {
        let began = Instant::now();
        let mut pace = HeartbeatPace::new(began);
        let second = |number: u64| began + Duration::from_secs(number);
        assert!((0..10_000).all(|number| pace.keeps_one(second(number))));
        assert!((0..MOST_AT_ONCE).all(|_| pace.keeps_one(second(20_000))), "a stall is over");
        let flood = |pace: &mut HeartbeatPace, at| (0..1_000).filter(|_| pace.keeps_one(at)).count();
        assert_eq!(flood(&mut pace, second(20_000)), 0);
        assert_eq!(flood(&mut pace, second(20_001)), 2);
        assert_eq!(flood(&mut pace, second(30_000)), 60);
    }
}
