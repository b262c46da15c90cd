//! Loops that run beside the requests: what each is called, what wakes it, how its last run went.
//!
//! [`start`] gives a [`BackgroundLoop`] to the [`driver`], which runs it until the server ends, whatever happens to one
//! run of it. [`Background`] is the list of all loops with what became of their runs; `/readyz` and `/metrics` show it.

mod driver;
mod status;

pub use driver::{BackgroundLoop, start};
pub use status::{Background, Complaint, LoopReport, Outcome, Trouble, WakeUp};
