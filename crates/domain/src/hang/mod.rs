//! Which rank hangs, and where. Start reading at [`HangWatch`].
//!
//! Samples of all ranks go in with the time; what comes out is to look closer, to gather evidence, to judge. A rank that
//! computes, reads or writes is busy and no hang, however long the others wait for it.

mod apart;
mod connections;
mod disagreement;
pub mod dumps;
mod elsewhere;
mod note;
mod sample;
mod stack;
mod standing;
mod verdict;
mod watch;
mod words;

pub use connections::{Connection, Unanswered, unanswered};
pub use elsewhere::{NodeStanding, RankStanding};
pub use note::HangNote;
pub use sample::{Collective, RankSample, StoppedBy, StoppedProcess, Tracer, Work};
pub use stack::{Frame, StackGroup, frames_of, grouped, own_frame, trained_in};
pub use standing::{Demand, GroupName, GroupStanding};
pub use verdict::{HangCase, HangKind};
pub use watch::{HangPatience, HangStep, HangWatch};
pub(crate) use words::listed;
