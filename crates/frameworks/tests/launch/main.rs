//! Launches of all frameworks, as people and engines see them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers beside the tests are tests too"
)]

mod batches;
mod engines;
mod engines_of_torch;
mod golden;
mod machines;
mod megatron;
mod names;
mod refusals;
mod training;
