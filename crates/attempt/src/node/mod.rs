//! The supervisor of one node.
//!
//! [`run`] is the whole life of the process: a loop over everything that can happen. What the node itself does (start,
//! signal, sweep) is done by [`hands`], with the [`crew`] of its ranks, whoever says so: the coordinator in this very
//! process ([`chief`]), or one on another node ([`member`]). The [`teller`] writes down and passes on what happens.

mod chief;
mod crew;
mod hands;
mod life;
mod member;
mod teller;

pub use life::run;
