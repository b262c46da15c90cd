//! The rules between the server and the agents of its environments: who is admitted, what a hello proves about runs, what
//! silence means, what tells whether a run lives, and which pieces of a stream are taken.

mod admission;
mod comparison;
mod liveness;
mod piece;
mod witness;

pub use admission::{Admission, Identity, Impostor, Introduction, Standing, admit};
pub use comparison::{Conclusion, KnownRun, compare, may_have_runs};
pub use liveness::{Liveness, OFFLINE_AFTER, SUSPECT_AFTER};
pub use piece::{Fit, Wanted, fit};
pub use witness::{Life, Witness, judge};
