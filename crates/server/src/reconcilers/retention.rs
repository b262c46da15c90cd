//! Lets go of what is too old or too much.

use std::time::Duration;

use fermi_store::{StoreError, WriteError};

use crate::background::BackgroundLoop;
use crate::core::Core;

const DAY_MS: u64 = 24 * 3600 * 1000;
/// Events of this age go, and those beyond this number.
const EVENTS_MS: u64 = 90 * DAY_MS;
const MOST_EVENTS: u64 = 2_000_000;
/// Answers that are kept for a repeated request.
const ANSWERS_MS: u64 = DAY_MS;

pub struct Retention {
    core: Core,
}

impl Retention {
    pub fn new(core: &Core) -> Self {
        Self { core: core.clone() }
    }
}

impl BackgroundLoop for Retention {
    const NAME: &'static str = "retention";
    const PERIOD: Duration = Duration::from_secs(600);

    async fn run(&mut self) -> Result<(), StoreError> {
        let now_ms = self.core.now_ms();
        let pruned = self.core.store().write(move |tx| {
            tx.prune_events(now_ms.saturating_sub(EVENTS_MS), MOST_EVENTS)?;
            tx.forget_older_than(now_ms.saturating_sub(ANSWERS_MS))
        });
        pruned.await.map(drop).map_err(WriteError::flatten)
    }
}
