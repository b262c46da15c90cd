//! The session that a person has at the company's service, which ends with the one here. The browser keeps what that takes, under
//! the server's key: the server keeps no token of the service.

use std::io;

use fermi_store::tokens::TokenDigest;
use serde::{Deserialize, Serialize};

use super::flow::form;
use super::settings::OidcSettings;
use crate::access::Vault;

const NAME: &str = "oidc-session";
/// A longer cookie is not kept by browsers.
const LONGEST_KEPT: usize = 3_800;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompanySession {
    /// Where the service ends sessions.
    pub endpoint: String,
    /// By which it knows whose; empty where it is too long to be kept.
    pub id_token: String,
    /// The session here, with which it began.
    pub session: TokenDigest,
}

impl CompanySession {
    /// As the browser keeps it.
    pub fn sealed(&self, vault: &Vault) -> io::Result<String> {
        let kept = vault.seal_for_browser(NAME, self)?;
        if kept.len() <= LONGEST_KEPT {
            return Ok(kept);
        }
        vault.seal_for_browser(NAME, &Self { id_token: String::new(), ..self.clone() })
    }

    /// What a browser shows, if it was sealed here and for this session.
    pub fn open(vault: &Vault, shown: &str, session: &TokenDigest) -> Option<Self> {
        vault.open_of_browser(NAME, shown).filter(|kept: &Self| kept.session == *session)
    }

    /// Where the browser goes to end it; it comes back to the console.
    pub fn log_out_url(&self, settings: &OidcSettings) -> String {
        let back = format!("{}/", settings.public_url);
        let mut fields = vec![("client_id", settings.client_id.as_str()), ("post_logout_redirect_uri", back.as_str())];
        if !self.id_token.is_empty() {
            fields.push(("id_token_hint", &self.id_token));
        }
        let joint = if self.endpoint.contains('?') { '&' } else { '?' };
        format!("{}{joint}{}", self.endpoint, form(&fields))
    }
}

#[cfg(test)]
mod tests {
    use fermi_domain::access::oidc::RoleRules;

    use super::*;

    fn session(id_token: &str) -> CompanySession {
        CompanySession {
            endpoint: "https://id.example/end".to_owned(),
            id_token: id_token.to_owned(),
            session: [7; 32],
        }
    }

    #[test]
    fn it_is_opened_for_the_session_with_which_it_began_and_fits_into_a_cookie() {
        let vault = Vault::new("word");
        let kept = session("a.b.c").sealed(&vault).unwrap();
        assert_eq!(CompanySession::open(&vault, &kept, &[7; 32]), Some(session("a.b.c")));
        assert_eq!(CompanySession::open(&vault, &kept, &[8; 32]), None);
        assert_eq!(CompanySession::open(&Vault::new("other"), &kept, &[7; 32]), None);
        assert_eq!(CompanySession::open(&vault, "AAAA", &[7; 32]), None);
        let long = session(&"x".repeat(4_000)).sealed(&vault).unwrap();
        assert!(long.len() < LONGEST_KEPT);
        assert_eq!(CompanySession::open(&vault, &long, &[7; 32]), Some(session("")));
    }

    #[test]
    fn the_service_is_told_whose_session_ends_and_where_to_go_then() {
        let settings = OidcSettings {
            issuer: "https://id.example".to_owned(),
            client_id: "fermi".to_owned(),
            client_secret_file: None,
            scopes: Vec::new(),
            user_claim: "sub".to_owned(),
            groups_claim: None,
            roles: RoleRules::default(),
            public_url: "https://fermi.example/ml".to_owned(),
        };
        let url = session("a.b").log_out_url(&settings);
        let back = "https%3A%2F%2Ffermi%2Eexample%2Fml%2F";
        assert_eq!(
            url,
            format!("https://id.example/end?client_id=fermi&post_logout_redirect_uri={back}&id_token_hint=a%2Eb")
        );
        let without = CompanySession { endpoint: "https://id.example/end?x=1".to_owned(), ..session("") };
        let url = without.log_out_url(&settings);
        assert!(url.starts_with("https://id.example/end?x=1&client_id=fermi&") && !url.contains("hint"), "{url}");
    }
}
