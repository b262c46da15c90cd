//! When it is told that ranks wait for others.

use super::RanksWait;

/// Who waits for a moment is of no interest to anybody.
const FIRST_AFTER_MS: u64 = 500;
/// From here on it is a long start-up, and is shown to people.
pub const SHOWN_AFTER_MS: u64 = 5_000;
/// What has not changed is told again after this, and then at twice the time.
const REMIND_AFTER_MS: u64 = 60_000;

/// What was told last of a start-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Telling {
    told: Option<(RanksWait, u64)>,
}

impl Telling {
    /// Whether this is to be told, when somebody has waited so long. What is told is remembered.
    pub fn is_due(&mut self, wait: &RanksWait, waited_ms: u64) -> bool {
        let is_due = match &self.told {
            None => waited_ms >= FIRST_AFTER_MS,
            Some((_, at)) if *at < SHOWN_AFTER_MS => waited_ms >= SHOWN_AFTER_MS,
            Some((told, at)) if told.awaited != wait.awaited => waited_ms >= at + SHOWN_AFTER_MS,
            Some((_, at)) => waited_ms >= REMIND_AFTER_MS.max(2 * at),
        };
        if is_due {
            self.told = Some((wait.clone(), waited_ms));
        }
        is_due
    }

    /// Nobody waits any longer. Whether somebody was told that they did.
    pub fn pass(&mut self) -> bool {
        self.told.take().is_some()
    }
}
