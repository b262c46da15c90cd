//! Where a task and an attempt stand. Each has one function through which its phase changes, and no other way.
//!
//! A final phase never changes: a task that is run again is a new task, a restart is a new attempt.

mod attempt;
mod illegal;
mod task;

pub use attempt::{AttemptEvent, AttemptPhase};
pub use illegal::IllegalTransition;
pub use task::{TaskEvent, TaskPhase};
