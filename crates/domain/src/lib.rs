//! What Fermi talks about and every decision it takes, as plain values and plain functions.
//!
//! Never does I/O: no files, sockets, clock, randomness, environment variables or processes; `now` is an argument.
//! Start reading at [`task`] and [`rank_map`], then [`failure`] and [`healing`].

pub mod access;
pub mod aggregate;
pub mod auto;
pub mod checkpoint;
pub mod contract;
pub mod dataset;
pub mod device_fault;
pub mod disk;
pub mod environment;
pub mod event;
pub mod exit;
pub mod explain;
pub mod failure;
pub mod finding;
pub mod fleet;
pub mod framework;
pub mod group;
pub mod guidance;
pub mod hang;
pub mod healing;
pub mod ids;
pub mod ladder;
pub mod language;
pub mod launch;
pub mod layout;
pub mod ledger;
pub mod messages;
pub mod model;
pub mod natural;
pub mod phase;
pub mod placement;
pub mod preflight;
pub mod principal;
pub mod pulse;
pub mod queue;
pub mod rank_map;
pub mod retention;
pub mod slurm;
pub mod start_up;
pub mod sweep;
pub mod task;
pub mod units;
pub mod unseen;
pub mod validation;
pub mod verdict;
pub mod warnings;
pub mod webhook;
pub mod worker;
