//! Secrets under the server's key: sealed before they are stored, opened for the launch of a task and for nothing else.
//!
//! What is sealed is bound to its holder and its name, so that a row that is moved to another place does not open.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use fermi_domain::access::{SecretHolder, SecretProblem};
use fermi_domain::task::Task;
use fermi_store::secrets::SealedValue;
use fermi_store::{StoreError, View};
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Seals and opens.
#[derive(Clone)]
pub struct Vault {
    cipher: XChaCha20Poly1305,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").finish_non_exhaustive()
    }
}

/// The value could not be sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret does not open with this key")]
pub struct OtherKey;

/// A variable with the value of its secret.
pub type SecretVariable = (String, String);

impl Vault {
    /// The vault of this word, which lies in the key file.
    pub fn new(word: &str) -> Self {
        // A key of any length is taken.
        let derived = <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(word.as_bytes()).map(|mut mac| {
            mac.update(b"fermi/secrets/1");
            <[u8; 32]>::from(mac.finalize().into_bytes())
        });
        Self { cipher: XChaCha20Poly1305::new(&Key::from(derived.unwrap_or_default())) }
    }

    pub fn seal(&self, holder: &SecretHolder, name: &str, value: &str) -> std::io::Result<SealedValue> {
        let mut nonce = [0_u8; 24];
        getrandom::fill(&mut nonce).map_err(std::io::Error::other)?;
        let bound = bound(holder, name);
        let payload = Payload { msg: value.as_bytes(), aad: &bound };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| std::io::Error::other(OtherKey))?;
        Ok(SealedValue { nonce, sealed })
    }

    pub fn open(&self, holder: &SecretHolder, name: &str, value: &SealedValue) -> Result<String, OtherKey> {
        let bound = bound(holder, name);
        let payload = Payload { msg: &value.sealed, aad: &bound };
        let bytes = self.cipher.decrypt(&XNonce::from(value.nonce), payload).map_err(|_| OtherKey)?;
        String::from_utf8(bytes).map_err(|_| OtherKey)
    }

    /// The variables of a task that are secrets, with their values.
    pub fn variables(
        &self,
        view: &View<'_>,
        task: &Task,
    ) -> Result<Result<Vec<SecretVariable>, SecretProblem>, StoreError> {
        let mut variables = Vec::new();
        for (variable, name) in task.spec.secrets() {
            let Some((holder, sealed)) = find(view, task.owner(), name)? else {
                return Ok(Err(SecretProblem::Gone { name: name.to_owned(), variable: variable.to_owned() }));
            };
            match self.open(&holder, name, &sealed) {
                Ok(value) => variables.push((variable.to_owned(), value)),
                Err(OtherKey) => return Ok(Err(SecretProblem::Sealed { name: name.to_owned() })),
            }
        }
        Ok(Ok(variables))
    }
}

/// The secret that a task of this owner means by a name.
pub fn find(
    view: &View<'_>,
    owner: Option<&str>,
    name: &str,
) -> Result<Option<(SecretHolder, SealedValue)>, StoreError> {
    for holder in SecretHolder::for_task(owner) {
        if let Some(sealed) = view.secret(&holder, name)? {
            return Ok(Some((holder, sealed)));
        }
    }
    Ok(None)
}

/// No name of a user or a secret holds a NUL.
fn bound(holder: &SecretHolder, name: &str) -> Vec<u8> {
    format!("{}\0{name}", holder.user().unwrap_or_default()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_with_its_key_in_its_place_and_whole() {
        let (vault, ann) = (Vault::new("word"), SecretHolder::User("ann".into()));
        let sealed = vault.seal(&ann, "HF", "hf_密").unwrap();
        assert_eq!(vault.open(&ann, "HF", &sealed).as_deref(), Ok("hf_密"));
        assert!(!sealed.sealed.windows(3).any(|bytes| bytes == b"hf_"));
        assert_eq!(Vault::new("another").open(&ann, "HF", &sealed), Err(OtherKey));
        assert_eq!(vault.open(&ann, "WANDB", &sealed), Err(OtherKey));
        assert_eq!(vault.open(&SecretHolder::Shared, "HF", &sealed), Err(OtherKey));
        let mut torn = sealed.clone();
        torn.sealed[0] ^= 1;
        assert_eq!(vault.open(&ann, "HF", &torn), Err(OtherKey));
        assert_ne!(vault.seal(&ann, "HF", "hf_密").unwrap().nonce, sealed.nonce);
    }
}
