//! What crosses the wire: the public API's requests and answers ([`v1`]), the agents' words ([`link`]), and a client.
//!
//! Never knows how anything is stored or decided.

pub mod client;
pub mod link;
pub mod v1;
