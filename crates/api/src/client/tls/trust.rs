//! Whom a client believes.

use std::io;
use std::sync::Arc;

use fermi_domain::access::Fingerprint;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use super::verifier::PinnedServer;

/// HTTP/1.1 alone: what waits for its answers has no use for more.
const PROTOCOLS: [&[u8]; 1] = [b"http/1.1"];

/// A configuration that believes one server by its fingerprint, or all that the system's authorities vouch for.
pub fn config(pinned: Option<Fingerprint>) -> io::Result<Arc<ClientConfig>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(io::Error::other)?;
    let mut config = match pinned {
        Some(fingerprint) => {
            let verifier = Arc::new(PinnedServer::new(fingerprint, provider));
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
        None => builder.with_root_certificates(system_roots()).with_no_client_auth(),
    };
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(Arc::new(config))
}

/// The authorities of this system; `SSL_CERT_FILE` names others.
fn system_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
}
