//! Groups: named sets of workers that are launched together.
//!
//! [`Group`] and its [`LaunchConfig`] are what is kept; who is which rank stands in [`crate::rank_map`]. [`fill`] turns a
//! request for a group into one for its environments; [`checks`] answers what goes wrong with groups, before it does.

mod check;
mod fill;
mod probe;
mod record;
mod refusal;
mod replace;
mod usage;

pub use check::{Check, CheckState, checks, first_failure};
pub use fill::{fill, refill};
pub use probe::{NameFound, PortFound, Probe, Probes, Reach};
pub use record::{Backend, DEFAULT_PORT, Group, LaunchConfig, Members, UNASSIGNED};
pub use refusal::GroupRefusal;
pub use replace::{note as standby_note, replaced};
pub use usage::may_leave;
