//! The supervisor of one node.
//!
//! [`run`] is the whole life of the process: an [`event_loop`] over everything that can happen. What the node itself does
//! (start, signal, sweep) is done by the [`executor`], with the [`rank_processes`] of the attempt, wherever the decision is made: by the
//! coordinator in this very process ([`coordinator_driver`], with the other nodes as its [`peers`], and those who come as [`pending_peers`]), or one on another node
//! ([`follower`]). The [`event_sink`] records what happens; both together are the [`local_node`].
//! [`start_notes`] write down what ranks were started with. The [`checkpoint_watch`] looks after the checkpoint folder, [`parking`] after pulses and parked ranks,
//! the [`step_watch`] after steps that ranks report, the [`rank_watch`] after ranks that hang, with what [`hang_evidence`] gathers, the [`device_watch`] after GPUs that fail,
//! the [`warden_watch`] after a warden that stands still. Why a node cannot even begin is told by [`not_started`].

mod checkpoint_watch;
mod coordinator_driver;
mod device_watch;
mod event_loop;
mod event_sink;
mod executor;
mod follower;
mod hang_evidence;
mod local_node;
mod not_started;
mod parking;
mod peers;
mod pending_peers;
mod rank_processes;
mod rank_watch;
#[cfg(test)]
mod relayed_links;
mod start_notes;
mod start_up;
mod step_watch;
mod warden_watch;

pub use event_loop::{SupervisorError, run};
pub use not_started::{tell as tell_not_started, why as why_not_started};
