//! How a server proves over TLS who it is: by an authority that the system trusts, or by the fingerprint of its own.
//!
//! [`trust`] makes the configuration, [`verifier`] judges a pinned server, [`refusal`] says in words why one is not
//! spoken to, [`stream`] is an encrypted connection, and [`connector`] puts it below HTTP.

mod connector;
mod refusal;
mod stream;
mod trust;
mod verifier;

pub use connector::agent;
pub use refusal::TlsRefusal;
pub use stream::ServerStream;

use fermi_domain::access::Fingerprint;
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};

/// By what a certificate is known.
pub fn fingerprint(certificate: &CertificateDer<'_>) -> Fingerprint {
    Fingerprint::of_digest(Sha256::digest(certificate).into())
}
