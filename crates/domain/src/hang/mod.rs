//! Which rank hangs, and where. Start reading at [`HangWatch`].
//!
//! Samples of all ranks go in with the time; what comes out is to look closer, to gather evidence, to judge. A rank that
//! computes, reads or writes is busy and no hang, however long the others wait for it.

mod sample;
mod stack;
mod verdict;
mod watch;

pub use sample::{Pending, RankSample, Work};
pub use stack::{Frame, StackGroup, grouped, own_frame, trained_in};
pub use verdict::{HangCase, HangKind};
pub use watch::{HangPatience, HangStep, HangWatch};
