//! Processes that are never lost and never leaked.
//!
//! # Theory of operation
//! A run on one node is held by two processes. The [`warden`] is forked first and does nothing but wait; its child, the
//! supervisor, starts the ranks ([`spawn`]), reads what they write ([`output`]) and takes note of how they end
//! ([`exit_record`], [`journal`]). Both are subreapers: whatever a rank forks, double-forks or moves to a session of its
//! own comes back to one of them when its parent dies. When the supervisor dies the warden ends every process below it;
//! when the warden dies the supervisor does ([`sweep`]). The
//! warden also keeps the [`lease`] of a run that must end when it has lost its coordinator or its server. Where the kernel lets us, a cgroup ([`cgroup`]) holds the
//! processes together as well, and every process carries a mark in its environment, so that even the death of both
//! keepers at once leaves something by which the next start finds and ends the rest ([`stale`]).
//!
//! This crate knows processes, bytes and signals. It never knows tasks, restarts or verdicts: those are `fermi-attempt`'s.
//! It forks only from threads that live as long as the process, because PR_SET_PDEATHSIG follows the thread.

pub mod account;
pub mod activity;
pub mod cgroup;
pub mod clock;
pub mod connections;
pub mod death_bell;
pub mod descriptors;
pub mod exit_record;
pub mod fork_exec;
pub mod in_place;
pub mod journal;
pub mod last_word;
pub mod lease;
mod listeners;
pub mod no_dump;
pub mod output;
pub mod pidfd;
pub mod private_folder;
pub mod procfs;
pub mod pty;
pub mod shared_page;
pub mod spawn;
pub mod spent;
pub mod stale;
pub mod sweep;
pub mod warden;
