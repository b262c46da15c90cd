//! Which parallel strategy, does it fit, how fast, how does it scale.
//!
//! Never does I/O: the data files are part of the program, a user's files come in as text. Start reading at
//! [`plan`], the one door to a layout; then [`job`], [`memory`] and [`time`]. [`resolve`] turns a row with
//! gaps into a job.

pub mod advise;
pub mod architecture;
pub mod calibrate;
pub mod catalogue;
pub mod constants;
pub mod device;
pub mod error;
pub mod evaluate;
pub mod fit;
pub mod framework;
pub mod interval;
pub mod job;
pub mod machines;
pub mod memory;
pub mod network;
pub mod optimizer;
pub mod plan;
pub mod precision;
pub mod predict;
pub mod recompute;
pub mod remedies;
pub mod resolve;
pub mod run;
pub mod scale;
pub mod search;
pub mod sharding;
pub mod strategy;
pub mod time;
