//! Groups of workers: what is kept of them, who is in them, their ranks, their starts.
//!
//! [`on_group`] is how any request for a task comes to the workers of a group.

pub mod manage;
pub mod members;
pub mod on_group;
pub mod ranks;
pub mod start;
mod view;

pub use view::name_of_unassigned;
