//! Loops that compare what is wanted with what is, and act on the difference. None takes an input: first start, restart
//! after a crash and normal work run the same code.

mod liveness;
mod nodes;
mod placement;
mod retention;
mod sample_keeper;
mod webhooks;

use crate::background;
use crate::core::Core;

/// Starts all of them; each ends with the server.
pub fn start(core: &Core) {
    background::start(core, liveness::Liveness::new(core));
    background::start(core, nodes::Nodes::new(core));
    background::start(core, placement::Placing::new(core));
    background::start(core, retention::Retention::new(core));
    background::start(core, sample_keeper::SampleKeeper::new(core));
    background::start(core, webhooks::Webhooks::new(core));
}
