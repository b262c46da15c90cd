//! The rules between the server and the agents of its environments: who is admitted, what a hello proves about runs, what
//! silence means, what tells whether a run lives, which pieces of a stream are taken, and what a restored database does not
//! know.

mod admission;
mod comparison;
mod history;
mod liveness;
mod piece;
mod witness;

pub use admission::{Admission, Identity, Impostor, Introduction, Standing, admit};
pub use comparison::{Conclusion, KnownRun, compare, may_have_runs};
pub use history::{History, Hold, LostNumbers, Origin, StrayRun, number, waits_for_stray, waits_for_unheard};
pub use liveness::{Liveness, OFFLINE_AFTER, SUSPECT_AFTER};
pub use piece::{Fit, Wanted, fit};
pub use witness::{Life, Witness, judge};
