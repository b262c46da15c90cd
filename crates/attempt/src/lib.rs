//! The running attempt: the ranks of a run are started together, fail together and are started anew together.
//!
//! [`bundle`] says everything that was decided before; [`launch`] makes it of what a node shall run. The [`launcher`]
//! starts a warden and a supervisor and listens to them. Inside the supervisor, [`coordinator`] decides and [`node`]
//! carries out: the coordinator is a plain state machine over events, without clock, files or sockets, so that every
//! course of a run can be played in a test.
//! On several nodes the supervisors are joined by [`link`]s, whose ends prove themselves by a [`handshake`]; [`assembly`]
//! gives each node its ranks, and what crosses a link ([`node_message`]) is just what the coordinator tells its own node. What happens is recorded as events
//! ([`fermi_domain::event`]) in the journal, for the launcher and for `--json`.
//!
//! Used by `fermi run` and by the agent. It never knows the server.

pub mod assembly;
pub mod bundle;
mod carried;
pub mod checkpoint_folder;
pub mod coordinator;
pub mod deferred;
pub mod evidence;
pub mod frame;
pub mod frame_signature;
pub mod greeting;
pub mod handshake;
pub mod hook;
pub mod join_refusal;
pub mod joined;
pub mod launch;
pub mod launcher;
pub mod link;
mod listen;
pub mod node;
pub mod node_message;
pub mod port;
pub mod recipes;
pub mod run_folder;
pub mod run_result;
mod serves;
mod strangers_words;
mod unknown;
