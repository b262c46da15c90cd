//! Where a task and an attempt stand. Each has one function through which its phase changes, and no other way.
//!
//! A final phase changes only when the task shall run again; an attempt's never does.

mod attempt;
mod illegal;
#[cfg(test)]
mod table;
mod task;

pub use attempt::{AttemptEvent, AttemptPhase};
pub use illegal::IllegalTransition;
pub use task::{TaskEvent, TaskPhase};
