//! torch's TCPStore, served: the key-value store at which the ranks of a torch program meet.
//!
//! [`request`] reads what a client says, [`store`] knows what follows from it and who is answered, both without sockets,
//! clocks or threads; [`StoreServer`] is the one thread that carries bytes between them and the clients.
//!
//! It speaks the protocol of torch's own server (its libuv backend, little endian) and knows nothing of runs.

mod board;
mod connection;
mod request;
mod server;
mod store;

pub use board::WaitingClient;
pub use request::{GREETING, MAGIC, Malformed, Request};
pub use server::{Options, StoreServer};
pub use store::{Full, Store};
