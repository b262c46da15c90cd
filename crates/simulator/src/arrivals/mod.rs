//! Tasks that arrive over weeks at a cluster, played through the queue and through plain first come, first served: how long
//! they wait, and how much of the cluster is in use.
//!
//! A trace is drawn by a seed ([`random_weeks`]) or read from a file ([`Job::read_all`]); [`replay()`] plays it.

mod cluster;
mod job;
mod random;
mod replay;

pub use cluster::WORKERS;
pub use job::{DAY, HOUR, Job, TraceError, any};
pub use random::{Mix, job, random_weeks};
pub use replay::{Outcome, Policy, compare, replay};

/// A week that was drawn once and is kept, so that rules are compared on the same arrivals.
pub const KEPT_WEEK: &str = include_str!("../../traces/week.csv");
