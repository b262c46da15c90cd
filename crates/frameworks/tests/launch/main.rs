//! Launches of all frameworks, as people and engines see them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers beside the tests are tests too"
)]

mod batches;
mod golden;
mod machines;
mod names;
mod refusals;
