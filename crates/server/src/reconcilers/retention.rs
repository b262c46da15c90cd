//! Lets go of what is too old or too much.

use std::time::Duration;

use crate::core::Core;

const EVERY: Duration = Duration::from_secs(600);
const DAY_MS: u64 = 24 * 3600 * 1000;
/// Events of this age go, and those beyond this number.
const EVENTS_MS: u64 = 90 * DAY_MS;
const MOST_EVENTS: u64 = 2_000_000;
/// Answers that are kept for a repeated request.
const ANSWERS_MS: u64 = DAY_MS;

pub async fn run(core: Core) {
    loop {
        tokio::time::sleep(EVERY).await;
        let now_ms = core.now_ms();
        let pruned = core
            .store()
            .write(move |tx| {
                tx.prune_events(now_ms.saturating_sub(EVENTS_MS), MOST_EVENTS)?;
                tx.forget_older_than(now_ms.saturating_sub(ANSWERS_MS))
            })
            .await
            .map_err(fermi_store::WriteError::<fermi_store::StoreError>::flatten);
        if let Err(error) = pruned {
            tracing::error!(%error, "old events could not be removed");
        }
    }
}
