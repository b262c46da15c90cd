//! A server that is known by the fingerprint of its authority, or of its certificate itself.

use std::sync::Arc;

use fermi_domain::access::Fingerprint;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};

use super::fingerprint;
use super::refusal::OtherFingerprint;

/// Believes whom the certificate of this fingerprint vouches for, and no authority of the system.
#[derive(Debug)]
pub struct PinnedServer {
    expected: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl PinnedServer {
    pub fn new(expected: Fingerprint, provider: Arc<CryptoProvider>) -> Self {
        Self { expected, provider }
    }
}

impl ServerCertVerifier for PinnedServer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The very certificate: nothing that it could say of itself would tell more.
        if fingerprint(end_entity) == self.expected {
            return Ok(ServerCertVerified::assertion());
        }
        let Some(authority) = intermediates.iter().find(|shown| fingerprint(shown) == self.expected) else {
            let shown = fingerprint(intermediates.last().unwrap_or(end_entity));
            let other = OtherFingerprint { shown, expected: self.expected };
            return Err(CertificateError::Other(OtherError(Arc::new(other))).into());
        };
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), self.provider.clone()).build();
        let verifier = verifier.map_err(|error| Error::General(error.to_string()))?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
