//! The black-box tests: the real binary, real processes, real engines. One program with a module per file, since
//! twenty programs would each be linked.
//!
//! A new file is a `mod` line here and begins with `use crate::support::…`. What cannot be had on a machine (a namespace,
//! sshd, Slurm, an engine) is named in FERMI_LEAVE_OUT and said aloud; otherwise its absence fails the test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers beside the tests are tests too"
)]
#![allow(clippy::print_stderr, reason = "what is left out is said aloud")]

mod access;
mod backups;
mod bad_input;
mod checkpoints;
mod contract;
mod corpus;
mod devices;
mod docs;
mod doctor;
mod drop_in;
mod encrypted;
mod engines;
mod failure_report;
mod first_line;
mod fleet_cli;
mod fleet_creates;
mod fleet_environments;
mod fleet_fence;
mod fleet_groups;
mod fleet_hangs;
mod fleet_kills;
mod fleet_logs;
mod fleet_schema;
mod floods;
mod full_disks;
mod hangs;
mod horovod;
mod hosted_store;
mod hosts;
mod kill_matrix;
mod launch_doors;
mod launch_generate;
mod launchers;
mod leases;
mod logs;
mod nobody;
mod oidc;
mod outcomes;
mod partitions;
mod plan;
mod power_loss;
mod preflight;
mod queue;
mod registries;
mod restarts;
mod retention;
mod run_as;
mod run_framework;
mod scale;
mod scripts;
mod secrets;
mod slow_readers;
mod slurm;
mod small_disks;
mod specification;
mod ssh;
mod start_up;
mod stopping;
mod support;
mod syscalls;
mod systemd;
mod top;
mod torch_gloo;
mod torchft;
mod train;
mod trainer;
mod training_reader;
mod warm_restarts;
mod webhooks;
