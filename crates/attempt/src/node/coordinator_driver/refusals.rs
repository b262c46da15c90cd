//! How often it is told that somebody was sent away: whoever reaches the port could fill the journal and the screen with it.

use std::time::{Duration, Instant};

use fermi_domain::language::Text;

/// So many are told at once, and one more each time this has passed.
const AT_ONCE: u32 = 16;
const ONE_MORE_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Refusals {
    left: u32,
    /// When there was one more last.
    since: Instant,
    untold: u64,
}

impl Refusals {
    pub fn new(now: Instant) -> Self {
        Self { left: AT_ONCE, since: now, untold: 0 }
    }

    /// Whether one more is told; it is counted otherwise.
    pub fn may_be_told(&mut self, now: Instant) -> bool {
        while self.left < AT_ONCE && now.saturating_duration_since(self.since) >= ONE_MORE_EVERY {
            self.left += 1;
            self.since += ONE_MORE_EVERY;
        }
        if self.left == AT_ONCE {
            self.since = now;
        }
        let may = self.left > 0;
        if may {
            self.left -= 1;
        } else {
            self.untold += 1;
        }
        may
    }

    /// What is said of those that were not told one by one since this was asked last.
    pub fn untold(&mut self) -> Option<Text> {
        let untold = std::mem::take(&mut self.untold);
        let (others, were) = if untold == 1 { ("other", "was") } else { ("others", "were") };
        (untold > 0).then(|| {
            Text::new(
                format!("另外拒绝了 {untold} 个来加入的连接，不再逐一列出"),
                format!("{untold} {others} that came to join {were} sent away, and not told one by one"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_told_one_by_one_and_of_many_their_number() {
        let began = Instant::now();
        let mut refusals = Refusals::new(began);
        let told = |refusals: &mut Refusals, now| (0..1_000).filter(|_| refusals.may_be_told(now)).count();
        assert_eq!(told(&mut refusals, began), 16);
        assert_eq!(
            refusals.untold().unwrap().en,
            "984 others that came to join were sent away, and not told one by one"
        );
        assert_eq!(refusals.untold(), None);
        assert_eq!(told(&mut refusals, began + Duration::from_secs(4)), 0);
        assert_eq!(told(&mut refusals, began + Duration::from_secs(11)), 2);
        assert_eq!(told(&mut refusals, began + Duration::from_secs(3_600)), 16);
    }
}
