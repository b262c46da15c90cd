//! Looks whether ranks report steps by their progress files, for those whose pulses do not tell.

use std::time::{Duration, Instant};

use super::rank_processes::RankProcess;
use crate::joined;

/// How soon after the ranks began their files are looked at.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// A run that reports no steps is looked at less and less often.
const SELDOM: Duration = Duration::from_secs(30);

/// Of one attempt.
#[derive(Debug, Default)]
pub struct StepWatch {
    /// None before ranks run, and when a step was seen.
    look_at: Option<Instant>,
    pause: Duration,
}

impl StepWatch {
    pub fn attempt_begins(&mut self, now: Instant) {
        *self = Self { look_at: Some(now + FIRST_LOOK), pause: FIRST_LOOK };
    }

    pub fn wake_in(&self, now: Instant) -> Option<Duration> {
        self.look_at.map(|at| at.saturating_duration_since(now))
    }

    /// Whether the first step of the attempt is seen by this look. Without ranks there is nothing to see.
    pub fn look(&mut self, now: Instant, ranks: &[RankProcess]) -> bool {
        if self.look_at.is_none_or(|at| now < at) || ranks.is_empty() {
            return false;
        }
        self.pause = (self.pause * 2).min(SELDOM);
        self.look_at = Some(now + self.pause);
        let has_stepped = ranks.iter().filter_map(RankProcess::progress_file).any(|file| joined::made_progress(&file));
        has_stepped && self.is_first_step()
    }

    /// A rank has ended and a step was seen of it or of others: whether that is new.
    pub fn is_first_step(&mut self) -> bool {
        self.look_at.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_news_once_in_an_attempt_and_the_looks_become_rare() {
        let began = Instant::now();
        let mut watch = StepWatch::default();
        assert!(!watch.is_first_step(), "no ranks have begun");
        watch.attempt_begins(began);
        assert_eq!(watch.wake_in(began), Some(FIRST_LOOK));
        assert!(watch.is_first_step());
        assert!(!watch.is_first_step());
        assert_eq!(watch.wake_in(began), None);
        watch.attempt_begins(began);
        assert!(watch.is_first_step(), "the next attempt tells anew");
    }
}
