//! Where the time of a run has gone: every millisecond from its first event on belongs to exactly one [`Cause`].
//!
//! [`Ledger`] takes the events of a journal as they come; [`Account`] is what it says of them.

mod account;
mod cause;
mod measured;
mod slow;
mod task;
mod timeline;

pub use account::{Account, CauseTime};
pub use cause::Cause;
pub use measured::Measured;
pub use timeline::Ledger;
