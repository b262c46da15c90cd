//! What to do after an attempt has failed. One file per policy.

pub mod keeper;
pub mod restart;
pub mod spent;
pub mod standstill;
pub mod warm;

pub use restart::{Decision, FailedAttempt, GiveUp, LONGEST_BACK_OFF_MS, RestartPolicy, decide};
