//! A log-in that a browser has begun: kept by the browser, under the server's key, so that the server keeps nothing for strangers
//! and a restart loses none.

use std::io;

use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::settings::OidcSettings;
use crate::access::Vault;

/// For so long it can be finished.
pub const LASTS_MS: u64 = 10 * 60_000;
const NAME: &str = "oidc";

/// What comes back must fit to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BegunLogIn {
    pub state: String,
    pub nonce: String,
    /// Of PKCE: who has it has begun.
    pub verifier: String,
    ends_ms: u64,
}

impl BegunLogIn {
    pub fn draw(now_ms: u64) -> io::Result<Self> {
        Ok(Self { state: random()?, nonce: random()?, verifier: random()?, ends_ms: now_ms + LASTS_MS })
    }

    /// As the browser keeps it.
    pub fn sealed(&self, vault: &Vault) -> io::Result<String> {
        vault.seal_for_browser(NAME, self)
    }

    /// What a browser shows, if it was sealed here and is not over.
    pub fn open(vault: &Vault, shown: &str, now_ms: u64) -> Option<Self> {
        vault.open_of_browser(NAME, shown).filter(|begun: &Self| now_ms < begun.ends_ms)
    }

    /// Where the browser goes.
    pub fn authorization_url(&self, settings: &OidcSettings, endpoint: &str) -> String {
        let challenge = BASE64URL_NOPAD.encode(&Sha256::digest(self.verifier.as_bytes()));
        let query = form(&[
            ("response_type", "code"),
            ("client_id", &settings.client_id),
            ("redirect_uri", &settings.redirect_uri()),
            ("scope", &settings.scopes.join(" ")),
            ("state", &self.state),
            ("nonce", &self.nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        let joint = if endpoint.contains('?') { '&' } else { '?' };
        format!("{endpoint}{joint}{query}")
    }
}

fn random() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

/// Fields as a form sends them.
pub fn form(fields: &[(&str, &str)]) -> String {
    let written =
        |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", written(value))).collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use fermi_domain::access::oidc::RoleRules;

    use super::*;

    #[test]
    fn a_log_in_is_finished_by_the_browser_that_began_it_and_in_time() {
        let vault = Vault::new("word");
        let begun = BegunLogIn::draw(1_000).unwrap();
        let shown = begun.sealed(&vault).unwrap();
        assert_eq!(BegunLogIn::open(&vault, &shown, 1_000 + LASTS_MS - 1).as_ref(), Some(&begun));
        assert_eq!(BegunLogIn::open(&vault, &shown, 1_000 + LASTS_MS), None);
        assert_eq!(BegunLogIn::open(&Vault::new("other"), &shown, 1_000), None);
        for shown in ["", "AAAA", "!", &shown[1..], &"A".repeat(4_000)] {
            assert_eq!(BegunLogIn::open(&vault, shown, 1_000), None, "{shown}");
        }
        let another = BegunLogIn::draw(1_000).unwrap();
        assert!(another.state != begun.state && another.nonce != begun.nonce && another.verifier != begun.verifier);
    }

    #[test]
    fn a_browser_is_sent_with_all_that_must_come_back() {
        let settings = OidcSettings {
            issuer: "https://id.example".to_owned(),
            client_id: "fermi&co".to_owned(),
            client_secret_file: None,
            scopes: vec!["openid".to_owned(), "groups".to_owned()],
            user_claim: "email".to_owned(),
            groups_claim: None,
            roles: RoleRules::default(),
            public_url: "https://fermi.example/ml".to_owned(),
        };
        // The example of the standard of PKCE.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned();
        let begun = BegunLogIn { state: "s".to_owned(), nonce: "n".to_owned(), verifier, ends_ms: 0 };
        let url = begun.authorization_url(&settings, "https://id.example/auth?tenant=1");
        assert_eq!(
            url,
            "https://id.example/auth?tenant=1&response_type=code&client_id=fermi%26co&redirect_uri=\
             https%3A%2F%2Ffermi%2Eexample%2Fml%2Foidc%2Fcallback&scope=openid%20groups&state=s&nonce=n&code_challenge=\
             E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw%2DcM&code_challenge_method=S256"
        );
    }
}
