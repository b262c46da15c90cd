//! The queue: which waiting tasks start now, on which workers, and what the others wait for. Plain values in and out;
//! `now` is an argument. Never starts, stops or stores anything.
//!
//! How a server uses it: one [`Queue`] in the placement loop, filled at start with [`Queue::set_environment`] for each
//! environment ([`Offer::of`]), [`Queue::set_running`] for each task with leases, [`Queue::charge`] for those that ended
//! in the last weeks, [`Queue::insert`] for each that waits, in the order of creation (`existing` and groups as
//! [`Need::Workers`] of their rank map, `auto` as [`Need::Auto`]). Then on every change: `set_environment`,
//! `remove_environment`, `insert`, `remove`, [`Queue::freed`] or [`Queue::ended`], and after a batch of changes
//! [`Queue::decide`]: a [`Start`] is leased and placed with [`Start::text`] as its reason ([`Queue::not_started`] if the
//! store refuses), a [`Preempt`] is a stop, after which the task is inserted again as [`Standing::Returned`].
//! [`Queue::explain`] gives the reason of a task that has just come and did not start, and of any that people ask about;
//! reasons of the whole queue are never written again. What is stored wins: where leases differ, fill a new queue.
//!
//! Start reading at [`Request`] and `walk.rs`; the order is in `order.rs`, the choice for `auto` in `pick.rs`.

mod candidates;
mod choice;
mod decision;
mod explaining;
mod forecast;
mod inventory;
mod line;
mod moment;
mod needs;
mod offer;
mod order;
mod passed;
mod pick;
mod request;
mod reservation;
mod rules;
mod running;
mod shares;
mod sheet;
mod state;
mod victims;
mod waiting;
mod walk;

#[cfg(test)]
mod tests;

pub use choice::{Choice, Closeness};
pub use decision::{Decision, Preempt, Start};
pub use moment::{Latest, written};
pub use offer::{Offer, WorkerRun};
pub use passed::{PassedOver, Why};
pub use request::{Kind, Need, Request, Size, Standing, Wish};
pub use reservation::Reservation;
pub use rules::{Limits, Preemption, Rules, UserRules};
pub use running::{Running, Stopping, TaskName};
pub use state::Queue;
pub use waiting::{Holder, Reason, Waiting};
