//! The supervisor of one node: carries out what the coordinator decides and tells it what happens.
//!
//! [`run`] is the whole life of the process. [`crew`] are the ranks it has started.

mod crew;
mod life;

pub use life::run;
