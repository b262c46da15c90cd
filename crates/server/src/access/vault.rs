//! Secrets under the server's key: sealed before they are stored, opened for the launch of a task and for nothing else;
//! addresses of webhooks, opened for a delivery; log-ins that a browser has begun.
//!
//! What is sealed is bound to its holder and its name, so that a row that is moved to another place does not open.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use data_encoding::BASE64URL_NOPAD;
use fermi_domain::access::secret::MASK;
use fermi_domain::access::{SecretHolder, SecretProblem};
use fermi_domain::task::Task;
use fermi_domain::webhook::Webhook;
use fermi_store::secrets::SealedValue;
use fermi_store::webhooks::KeptWebhook;
use fermi_store::{StoreError, View};
use hmac::{Hmac, Mac};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
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

/// What else than a secret is sealed.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    Webhook,
    Browser,
}

impl Purpose {
    /// No name of a secret is empty, so that none is bound like this.
    fn bound(self, name: &str) -> Vec<u8> {
        let purpose = match self {
            Self::Webhook => "webhook",
            Self::Browser => "browser",
        };
        format!("{purpose}\0\0{name}").into_bytes()
    }
}

/// What only deliveries need of a webhook.
#[derive(Serialize, Deserialize)]
struct HiddenOfWebhook {
    url: String,
    secret: Option<String>,
}

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
        self.seal_bound(&bound(holder, name), value)
    }

    pub fn open(&self, holder: &SecretHolder, name: &str, value: &SealedValue) -> Result<String, OtherKey> {
        self.open_bound(&bound(holder, name), value)
    }

    /// A webhook as everyone may see it, and its address and secret under the key.
    pub fn seal_webhook(&self, name: &str, webhook: &Webhook) -> std::io::Result<(Webhook, SealedValue)> {
        let hidden = HiddenOfWebhook { url: webhook.url.clone(), secret: webhook.secret.clone() };
        let sealed = self.seal_bound(&Purpose::Webhook.bound(name), &serde_json::to_string(&hidden)?)?;
        let secret = webhook.secret.as_ref().map(|_| MASK.to_owned());
        Ok((Webhook { url: webhook.shown_url(), secret, ..webhook.clone() }, sealed))
    }

    /// The webhook with its address and secret; one of before has both in its row.
    pub fn open_webhook(&self, kept: &KeptWebhook) -> Result<Webhook, OtherKey> {
        let Some(sealed) = &kept.sealed else { return Ok(kept.webhook.clone()) };
        let hidden = self.open_bound(&Purpose::Webhook.bound(&kept.name), sealed)?;
        let HiddenOfWebhook { url, secret } = serde_json::from_str(&hidden).map_err(|_| OtherKey)?;
        Ok(Webhook { url, secret, ..kept.webhook.clone() })
    }

    /// What a browser keeps for the server, and does not read, as its cookie holds it.
    pub fn seal_for_browser(&self, name: &str, value: &impl Serialize) -> std::io::Result<String> {
        let SealedValue { nonce, sealed } =
            self.seal_bound(&Purpose::Browser.bound(name), &serde_json::to_string(value)?)?;
        Ok(BASE64URL_NOPAD.encode(&[&nonce[..], &sealed].concat()))
    }

    /// What a browser shows, if it was sealed here under this name.
    pub fn open_of_browser<T: DeserializeOwned>(&self, name: &str, shown: &str) -> Option<T> {
        let bytes = BASE64URL_NOPAD.decode(shown.as_bytes()).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<24>()?;
        let value = SealedValue { nonce: *nonce, sealed: sealed.to_vec() };
        serde_json::from_str(&self.open_bound(&Purpose::Browser.bound(name), &value).ok()?).ok()
    }

    fn seal_bound(&self, bound: &[u8], value: &str) -> std::io::Result<SealedValue> {
        let mut nonce = [0_u8; 24];
        getrandom::fill(&mut nonce).map_err(std::io::Error::other)?;
        let payload = Payload { msg: value.as_bytes(), aad: bound };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| std::io::Error::other(OtherKey))?;
        Ok(SealedValue { nonce, sealed })
    }

    fn open_bound(&self, bound: &[u8], value: &SealedValue) -> Result<String, OtherKey> {
        let payload = Payload { msg: &value.sealed, aad: bound };
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
    use fermi_domain::language::Language;
    use fermi_domain::webhook::{WebhookFormat, WebhookState, WebhookTopic};

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

    #[test]
    fn a_webhook_is_shown_without_what_its_receiver_knows_and_opens_in_its_place() {
        let vault = Vault::new("word");
        let webhook = Webhook {
            url: "https://hooks.example/key".to_owned(),
            format: WebhookFormat::Json,
            topics: vec![WebhookTopic::Failed],
            owner: None,
            secret: Some("hidden".to_owned()),
            language: Language::En,
        };
        let (shown, sealed) = vault.seal_webhook("chat", &webhook).unwrap();
        assert_eq!((shown.url.as_str(), shown.secret.as_deref()), ("https://hooks.example/…", Some(MASK)));
        let kept = |name: &str, webhook: &Webhook, sealed| KeptWebhook {
            id: "webhook-1".to_owned(),
            name: name.to_owned(),
            created_ms: 0,
            webhook: webhook.clone(),
            sealed,
            state: WebhookState::default(),
        };
        let sealed = Some(sealed);
        assert!(vault.open_webhook(&kept("chat", &shown, sealed.clone())) == Ok(webhook.clone()));
        assert!(vault.open_webhook(&kept("other", &shown, sealed.clone())) == Err(OtherKey));
        assert!(Vault::new("another").open_webhook(&kept("chat", &shown, sealed)) == Err(OtherKey));
        assert!(vault.open_webhook(&kept("chat", &webhook, None)) == Ok(webhook), "of before");
    }
}
