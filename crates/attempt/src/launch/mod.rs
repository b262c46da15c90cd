//! From what a node shall run to its bundle. There is one way, and every caller takes it: `fermi run` with and without
//! a framework (and so Slurm and ssh, which start it), agents, and `fermi launch generate`.
//!
//! A caller says what it was given ([`NodeLaunch`](fermi_domain::launch::NodeLaunch), [`RunPolicy`](fermi_domain::launch::RunPolicy))
//! and what is true here ([`Site`]); [`prepare()`] decides the rest and touches nothing. [`LaunchFiles::write`] writes.

mod files;
mod prepare;
mod python;
mod site;
mod variables;
mod virtual_env;

pub use files::{FileError, FileOutside, LaunchFiles};
pub use prepare::{Prepared, RunIdentity, prepare, unseen_ranks};
pub use python::{NoPython, PythonSearch, is_executable};
pub use site::{Devices, Folders, Site, inherited, own_binary};
