//! Decides the course of a run: when ranks start, when they are stopped and how hard, whether there is another attempt,
//! and what the verdict is.
//!
//! A plain state machine: [`Coordinator::on`] takes what happened and the time, and answers with what is to be done. It
//! makes every choice; the executor, which carries the effects out, makes none.

mod judgement;
mod machine;
mod remnants;
mod survey;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use machine::Coordinator;
pub use vocabulary::{Failure, Loss, NodeRanks, Policy, RunEffect, RunInput};
