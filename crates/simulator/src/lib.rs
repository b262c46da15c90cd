//! A cluster in a box: the real rules of server, agents and supervisors under one seeded scheduler and a virtual clock,
//! with a network that cuts and lies, stores that fail, machines that die, and operators who change their minds.
//!
//! [`play`] plays the history of one seed and says which promise did not hold; [`shrink()`] makes it short. The rules are
//! those of `domain` (lifecycle, placement, fleet), of `agent` (registry, adoption, uploads) and of `attempt` (coordinator,
//! assembly). What is played here is only what carries them out: the database, files, processes and the network.

mod agent;
pub mod arrivals;
mod disks;
mod followers;
mod lease;
mod lines;
pub mod operators;
mod plan;
mod rest;
mod restore;
mod server;
mod shrink;
mod supervisor;
mod truth;
mod uploads;
mod world;

pub use plan::Plan;
pub use shrink::shrink;
pub use truth::Violation;

use world::World;

/// A history is thousands of small values that live for a moment: a third of its time went to the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Plays a history. The answer is the promise that did not hold.
pub fn play(plan: &Plan) -> Option<Violation> {
    World::new(plan, false).play()
}

/// Plays a history and tells it.
pub fn tell(plan: &Plan) -> (Vec<String>, Option<Violation>) {
    let mut world = World::new(plan, true);
    let violation = world.play();
    (world.story(), violation)
}
