//! Why a rank died: from its exit and its last lines to a cause, an advice and a guess whether it would happen again.
//!
//! Never reads a file: the caller hands in [`Evidence`]. Start at [`diagnose`]; a new signature is one file under
//! `signatures/`, one line in its list and a log under `samples/`. [`first_failure`] chooses the rank to blame; where all that
//! failed are victims, [`returned_early`] finds who has left them.

mod diagnosis;
pub mod early_return;
mod evidence;
mod first;
mod scene;
pub mod signatures;
mod traceback;

pub use diagnosis::{Diagnosis, FailureClass, Recurrence, Role, diagnose};
pub use early_return::{RankEnd, Reached, returned_early};
pub use evidence::Evidence;
pub use first::{RankFailure, first_failure};
pub use traceback::{Traceback, last_traceback};
