//! Who is rank r.
//!
//! Two rules, one result: groups order their nodes by the alphabet ([`of_group`]), tasks keep the order in which the
//! user chose them ([`for_task`], and [`of_spec`] for a whole specification); in both the master comes first. Neither
//! guesses: what does not add up is refused.

mod error;
mod group;
mod map;
mod task;

pub use error::RankMapError;
pub use group::{GroupRanks, of_group};
pub use map::{NodeRanks, RankMap, RankSlot};
pub use task::{ChosenNode, for_task, of_spec};
