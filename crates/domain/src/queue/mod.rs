//! The queue: which waiting tasks start now, on which workers, and what the others wait for. Plain values in and out;
//! `now` is an argument. Never starts, stops or stores anything.
//!
//! [`Scheduler`](crate::placement::Scheduler) feeds it: environments as [`Offer`]s, tasks with leases as [`Running`], those that
//! wait as [`Request`]s (`existing` and groups as [`Need::Workers`] of their rank map, `auto` as [`Need::Auto`]). After a batch
//! of changes [`Queue::decide`] says who starts ([`Start`]; what the store refuses is told by [`Queue::not_started`]) and who
//! gives way ([`Preempt`]: a stop, after which the task comes again as [`Standing::Returned`]). [`Queue::explain`] gives the
//! reason of any task that waits. What is stored wins: where leases differ, a new queue is filled.
//!
//! Start reading at [`Request`] and `walk.rs`; the order is in `order.rs`, the choice for `auto` in `pick.rs`.

mod candidates;
mod choice;
mod decision;
mod explaining;
mod forecast;
mod hope;
mod inventory;
mod line;
mod moment;
mod needs;
mod never;
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
pub use never::never_fits;
pub use offer::{Offer, WorkerRun};
pub use passed::{PassedOver, Why};
pub use request::{Kind, Need, Request, Size, Standing, Wish};
pub use reservation::Reservation;
pub use rules::{Limits, Preemption, Rules, RulesRefusal, UserRules};
pub use running::{Running, Stopping, TaskName};
pub use state::Queue;
pub use waiting::{Holder, Reason, Reserved, Waiting};
