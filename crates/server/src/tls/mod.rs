//! How the server proves who it is, and keeps what is said between it and others to themselves.
//!
//! [`authority`] vouches for the server where nobody else does, under the [`names`] by which it is reached;
//! [`certificate`] is what it shows and [`keeper`] sees to it that this never ends; [`listener`] shakes hands beside the
//! requests, and [`plaintext`] answers who speaks no TLS.

mod authority;
mod certificate;
mod keeper;
mod listener;
mod names;
mod plaintext;

use std::path::PathBuf;

pub use keeper::{CertificateKeeper, CertificateProblem};
pub use listener::TlsListener;

/// What the server shows to prove who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// Nothing: what is said can be read on its way.
    #[default]
    None,
    /// A certificate of its own authority, made when it first starts.
    OwnAuthority,
    /// What an operator has put into files; read again when they change.
    Files { certificate: PathBuf, key: PathBuf },
}
