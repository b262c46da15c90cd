//! The rules between the server and the agents of its environments: who is admitted, what a hello proves about runs, what
//! silence means, when one dials again, what tells whether a run lives, which pieces of a stream are taken, and what a restored database does not
//! know.

mod admission;
mod comparison;
mod dial;
mod history;
mod liveness;
mod piece;
mod witness;

pub use admission::{Admission, Identity, Impostor, Introduction, Standing, admit};
pub use comparison::{Conclusion, Heard, KnownRun, compare, may_have_runs};
pub use dial::pause_before_dial;
pub use history::{History, Hold, LostNumbers, Origin, StrayRun, number, waits_for_stray, waits_for_unheard};
pub use liveness::{LastHeard, Liveness, OFFLINE_AFTER, SUSPECT_AFTER};
pub use piece::{Fit, JournalSent, Wanted, fit};
pub use witness::{Life, Witness, judge};
