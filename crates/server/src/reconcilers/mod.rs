//! Loops that compare what is wanted with what is, and act on the difference. None takes an input: first start, restart
//! after a crash and normal work run the same code.

mod liveness;
mod nodes;
mod placement;
mod retention;

use std::future::Future;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

pub use placement::rank_map;

use crate::core::Core;

/// Starts all of them; each ends with the server.
pub fn start(core: &Core) {
    tokio::spawn(keep(core.clone(), liveness::run(core.clone())));
    tokio::spawn(keep(core.clone(), nodes::run(core.clone())));
    tokio::spawn(keep(core.clone(), placement::run(core.clone())));
    tokio::spawn(keep(core.clone(), retention::run(core.clone())));
}

async fn keep(core: Core, work: impl Future<Output = ()>) {
    tokio::select! {
        () = work => {}
        () = core.ended() => {}
    }
}

/// Waits for the bell, but not longer than this: a bell that was missed costs a moment, never a task.
async fn rest(bell: &Notify, at_most: Duration) {
    let _ = timeout(at_most, bell.notified()).await;
}
