//! Runs a loop again and again. A run that fails or panics is logged, counted, and followed by the next one.

use std::any::Any;
use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use fermi_store::StoreError;
use futures_util::FutureExt;
use tokio::time::{Instant, sleep, timeout};
use tracing::Instrument;

use super::status::{LoopState, Outcome, WakeUp};
use crate::core::Core;

/// After a failed run the next one waits so long, and twice as long after each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Work that is done again and again, and that takes up where the last run ended.
pub trait BackgroundLoop: Send + 'static {
    const NAME: &'static str;
    /// A run begins at the latest so long after the one before: a wake-up that was missed costs a moment, never a task.
    const PERIOD: Duration;
    /// A run begins at the earliest so long after the one before began, whatever wakes it.
    const BREATH: Duration = Duration::ZERO;

    /// Returns when there may be something to do. Whatever it takes in must be in `self` when it returns, and it may be
    /// dropped at any await.
    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        pending()
    }

    /// Looks at what there is to do, and does it.
    fn run(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Lets go of whatever a run that failed or panicked may have left half done.
    fn reset(&mut self) {}
}

/// Runs a loop from now on until the server ends.
pub fn start<L: BackgroundLoop>(core: &Core, work: L) {
    let state = core.background().register(L::NAME, L::PERIOD);
    let core = core.clone();
    let life = async move {
        tokio::select! {
            () = drive(work, &state) => {}
            () = core.ended() => {}
        }
    };
    tokio::spawn(life.instrument(tracing::info_span!("background", loop_name = L::NAME)));
}

async fn drive<L: BackgroundLoop>(mut work: L, state: &LoopState) {
    let mut wake_up = WakeUp::Start;
    let mut pause = FIRST_PAUSE;
    loop {
        let began = Instant::now();
        if !run(&mut work, state, wake_up).await {
            work.reset();
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            wake_up = WakeUp::Retry;
            continue;
        }
        pause = FIRST_PAUSE;
        let rest = L::BREATH.saturating_sub(began.elapsed());
        // Even a sleep of no length waits for the timer's next tick.
        if !rest.is_zero() {
            sleep(rest).await;
        }
        wake_up = match timeout(L::PERIOD, AssertUnwindSafe(work.woken()).catch_unwind()).await {
            Ok(Ok(())) => WakeUp::Bell,
            Err(_) => WakeUp::Period,
            Ok(Err(panic)) => {
                let reason = message_of(&*panic);
                tracing::error!(reason, "a background loop panicked while it waited; it goes on");
                state.panicked_waiting(reason);
                work.reset();
                sleep(pause).await;
                WakeUp::Retry
            }
        };
    }
}

/// One run. Answers whether it went well.
async fn run<L: BackgroundLoop>(work: &mut L, state: &LoopState, wake_up: WakeUp) -> bool {
    state.begins();
    let began = Instant::now();
    let outcome = AssertUnwindSafe(async {
        state.panic_if_told();
        work.run().await
    });
    let outcome = match outcome.catch_unwind().await {
        Ok(Ok(())) => Outcome::Done,
        Ok(Err(error)) => {
            let error = with_sources(&error);
            tracing::error!(error, "a run of a background loop failed; it is tried again");
            Outcome::Failed(error)
        }
        Err(panic) => {
            let reason = message_of(&*panic);
            tracing::error!(reason, "a background loop panicked; it is started again");
            Outcome::Panicked(reason)
        }
    };
    let went_well = outcome == Outcome::Done;
    state.ended(wake_up, began.elapsed(), outcome);
    went_well
}

/// An error with what it comes from: the first sentence alone says that the database refused, and not why.
fn with_sources(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |said, source| format!("{said}: {source}"))
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}
