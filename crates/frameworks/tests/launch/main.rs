//! Launches of all frameworks, as people and engines see them.

mod batches;
mod golden;
mod machines;
mod names;
mod refusals;
