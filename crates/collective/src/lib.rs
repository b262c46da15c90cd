//! Collective operations between the ranks of one run, over plain TCP and blocking calls.
//!
//! The ranks meet at rank 0 ([`Rendezvous`]), get to know each other's addresses there, and close a ring: every rank
//! sends only to its right neighbour and hears only its left one. All operations of a [`Communicator`] run on that ring
//! and give bitwise the same result on every rank. A rank that dies, hangs or does something else than its neighbours
//! becomes an error that names it, never a wait without end.
//!
//! This is no training framework: it moves and adds numbers for the built-in trainer and for checks of the wire.
//! There is no authentication here either; strangers are turned away, forgers are the network's business.
//!
//! Start reading at [`Communicator`], then `rendezvous` for how the ranks meet and `ring` for how bytes move.

mod acceptor;
mod admission;
mod all_gather;
mod all_reduce;
pub mod bench;
mod broadcast;
mod bytes;
mod communicator;
mod error;
mod halves;
mod hello;
mod listener;
pub mod nccl;
mod neighbours;
mod rendezvous;
mod ring;
mod wire;
mod words;

pub use communicator::{Communicator, DEFAULT_OPERATION_TIMEOUT};
pub use error::{ConnectError, Operation, OperationError};
pub use rendezvous::Rendezvous;
pub use words::InChinese;
