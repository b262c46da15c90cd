//! The certificate that the server shows now.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// Why texts are no certificate with its key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCertificate {
    #[error("there is no certificate in it")]
    Empty,
    #[error("there is no private key in it")]
    NoKey,
    #[error("{0}")]
    Unfit(String),
}

/// Reads a chain, the server's own certificate first, and its key.
pub fn read(chain: &[u8], key: &[u8], provider: &CryptoProvider) -> Result<CertifiedKey, NoCertificate> {
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(chain).collect::<Result<_, _>>().map_err(|_| NoCertificate::Empty)?;
    if chain.is_empty() {
        return Err(NoCertificate::Empty);
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| NoCertificate::NoKey)?;
    CertifiedKey::from_der(chain, key, provider).map_err(|error| NoCertificate::Unfit(error.to_string()))
}

/// What is shown to those who connect from now on; connections that there are keep what they have seen.
#[derive(Debug)]
pub struct CurrentCertificate(RwLock<Arc<CertifiedKey>>);

impl CurrentCertificate {
    pub fn new(first: CertifiedKey) -> Self {
        Self(RwLock::new(Arc::new(first)))
    }

    pub fn shown(&self) -> Arc<CertifiedKey> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn replace(&self, with: CertifiedKey) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(with);
    }
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.shown())
    }
}
