//! What crosses the wire: the public API's requests and answers ([`v1`]), the agents' words ([`link`]), and a client.
//!
//! Never knows how anything is stored or decided.

pub mod client;
pub mod link;
pub mod v1;

/// The header by which a caller says where its answers are read, so that hints name settings as they are known there:
/// `console`, `command-line`, or `api`, which is meant by one that says nothing.
pub const FRONT_END: &str = "fermi-front-end";
