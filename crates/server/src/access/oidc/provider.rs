//! The company's service: where its parts are, its keys, and what it says of who has logged in. Everything here waits: it is
//! called on threads that may.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use fermi_domain::access::oidc::{IdClaims, IdTokenFault, OidcProblem};
use serde_json::{Map, Value};

use super::fetch::{Fetcher, Request, path, strange};
use super::flow::form;
use super::keys::KnownKeys;
use super::settings::{OidcSettings, is_private};
use super::signature::{PublicKey, SignedToken};

/// Where its parts are is asked again after so long.
const KNOWN_FOR: Duration = Duration::from_secs(10 * 60);
const WELL_KNOWN: &str = "/.well-known/openid-configuration";

#[derive(Debug, Default)]
pub struct Provider {
    fetcher: Fetcher,
    parts: Mutex<Option<(Instant, Parts)>>,
    keys: Mutex<KnownKeys>,
}

/// Where to ask for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    pub authorization: String,
    token: String,
    keys: String,
    user_info: Option<String>,
    /// Where it ends the session of a browser, if it says so.
    pub end_session: Option<String>,
    /// The secret goes into the form where its header is not taken.
    is_secret_posted: bool,
}

/// What comes for a code.
pub struct Handed {
    pub id_token: String,
    access_token: Option<String>,
}

impl Provider {
    /// What was found out not long ago; never waits.
    pub fn known_parts(&self) -> Option<Parts> {
        let known = self.parts.try_lock().ok()?;
        known.as_ref().filter(|(asked, _)| asked.elapsed() < KNOWN_FOR).map(|(_, parts)| parts.clone())
    }

    pub fn parts(&self, settings: &OidcSettings, until: Instant) -> Result<Parts, OidcProblem> {
        let mut known = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((asked, parts)) = &*known
            && asked.elapsed() < KNOWN_FOR
        {
            return Ok(parts.clone());
        }
        let url = format!("{}{WELL_KNOWN}", settings.issuer.trim_end_matches('/'));
        let (status, document) = self.fetcher.object(&url, Request::Get { bearer: None }, until)?;
        if status != 200 {
            return Err(bad_status(&url, status));
        }
        let parts = Parts::read(&document, &settings.issuer)?;
        *known = Some((Instant::now(), parts.clone()));
        Ok(parts)
    }

    /// Gives a code back for the tokens of who has logged in.
    pub fn redeem(
        &self,
        settings: &OidcSettings,
        secret: Option<&str>,
        code: &str,
        verifier: &str,
        until: Instant,
    ) -> Result<Handed, OidcProblem> {
        let parts = self.parts(settings, until)?;
        let redirect = settings.redirect_uri();
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect.as_str()),
            ("client_id", settings.client_id.as_str()),
            ("code_verifier", verifier),
        ];
        let mut authorization = None;
        match secret {
            Some(secret) if parts.is_secret_posted => fields.push(("client_secret", secret)),
            Some(secret) => authorization = Some(basic(&settings.client_id, secret)),
            None => {}
        }
        let request = Request::Form { body: form(&fields), authorization };
        let (status, answer) = self.fetcher.object(&parts.token, request, until)?;
        let text = |field: &str| answer.get(field).and_then(Value::as_str);
        if status != 200 {
            let said = [text("error"), text("error_description")].into_iter().flatten().collect::<Vec<_>>().join(": ");
            return Err(if said.is_empty() { bad_status(&parts.token, status) } else { OidcProblem::Denied { said } });
        }
        let id_token = text("id_token").ok_or_else(|| missing("id_token"))?.to_owned();
        Ok(Handed { id_token, access_token: text("access_token").map(str::to_owned) })
    }

    /// What a token says that the service has signed. Its keys are fetched when they are old, and when it uses another one.
    pub fn open(&self, settings: &OidcSettings, handed: &Handed, until: Instant) -> Result<IdClaims, OidcProblem> {
        let token = SignedToken::read(&handed.id_token).map_err(OidcProblem::Token)?;
        let url = self.parts(settings, until)?.keys;
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.are_old(Instant::now()) {
            keys.take(self.fetch_keys(&url, until)?, Instant::now());
        }
        match keys.open(&token) {
            Err(IdTokenFault::UnknownKey) if keys.may_ask_again(Instant::now()) => {
                keys.asked_again();
                keys.take(self.fetch_keys(&url, until)?, Instant::now());
                keys.open(&token).map_err(OidcProblem::Token)
            }
            opened => opened.map_err(OidcProblem::Token),
        }
    }

    fn fetch_keys(&self, url: &str, until: Instant) -> Result<Vec<PublicKey>, OidcProblem> {
        let (status, document) = self.fetcher.object(url, Request::Get { bearer: None }, until)?;
        let listed = document.get("keys").and_then(Value::as_array).filter(|_| status == 200);
        let listed = listed.ok_or_else(|| bad_status(url, status))?;
        Ok(listed.iter().filter_map(PublicKey::read).collect())
    }

    /// What the service tells of the same user when it is asked; nothing where it cannot be asked.
    pub fn user_info(
        &self,
        settings: &OidcSettings,
        handed: &Handed,
        subject: &str,
        until: Instant,
    ) -> Result<IdClaims, OidcProblem> {
        let (Some(url), Some(token)) = (self.parts(settings, until)?.user_info, &handed.access_token) else {
            return Ok(IdClaims::default());
        };
        let (status, told) = self.fetcher.object(&url, Request::Get { bearer: Some(token) }, until)?;
        let told = IdClaims(told);
        if status != 200 || told.text("sub") != Some(subject) {
            return Err(bad_status(&url, status));
        }
        Ok(told)
    }
}

impl Parts {
    fn read(document: &Map<String, Value>, issuer: &str) -> Result<Self, OidcProblem> {
        let text = |field: &'static str| document.get(field).and_then(Value::as_str);
        if text("issuer") != Some(issuer) {
            let named: String = text("issuer").unwrap_or_default().chars().take(200).collect();
            let named = named.escape_debug();
            return Err(strange(
                format!("它自称“{named}”，而设置的是“{issuer}”"),
                format!("it calls itself '{named}', and was set up as '{issuer}'"),
            ));
        }
        let address = |field: &'static str| {
            let found = text(field).ok_or_else(|| missing(field))?;
            if is_private(found) { Ok(found.to_owned()) } else { Err(missing(field)) }
        };
        let methods = document.get("token_endpoint_auth_methods_supported").and_then(Value::as_array);
        let takes = |name: &str| methods.is_some_and(|methods| methods.iter().any(|method| method == name));
        Ok(Self {
            authorization: address("authorization_endpoint")?,
            token: address("token_endpoint")?,
            keys: address("jwks_uri")?,
            user_info: text("userinfo_endpoint").filter(|url| is_private(url)).map(str::to_owned),
            end_session: text("end_session_endpoint").filter(|url| is_private(url)).map(str::to_owned),
            is_secret_posted: takes("client_secret_post") && !takes("client_secret_basic"),
        })
    }
}

/// As the standard writes a client and its secret.
fn basic(client: &str, secret: &str) -> String {
    let written =
        |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    format!("Basic {}", BASE64.encode(format!("{}:{}", written(client), written(secret)).as_bytes()))
}

fn missing(field: &'static str) -> OidcProblem {
    strange(format!("缺少可用的 {field}"), format!("there is no {field} that can be used"))
}

fn bad_status(url: &str, status: u16) -> OidcProblem {
    let url = path(url);
    strange(format!("{url} 回答状态 {status}"), format!("{url} answers with status {status}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(changed: Value) -> Map<String, Value> {
        let mut all = json!({"issuer": "https://id.example", "authorization_endpoint": "https://id.example/auth",
            "token_endpoint": "https://id.example/token", "jwks_uri": "https://id.example/keys"});
        for (field, value) in changed.as_object().unwrap() {
            all[field] = value.clone();
        }
        all.as_object().unwrap().clone()
    }

    #[test]
    fn a_service_is_the_one_that_was_set_up_and_speaks_tls() {
        let read = |changed| Parts::read(&document(changed), "https://id.example");
        assert!(!read(json!({})).unwrap().is_secret_posted);
        let posted = json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]});
        assert!(read(posted).unwrap().is_secret_posted);
        for bad in [
            json!({"issuer": "https://evil.example"}),
            json!({"issuer": null}),
            json!({"token_endpoint": null}),
            json!({"token_endpoint": "http://id.example/token"}),
            json!({"jwks_uri": "file:///etc/passwd"}),
            json!({"authorization_endpoint": "javascript:alert(1)"}),
        ] {
            assert!(matches!(read(bad.clone()), Err(OidcProblem::Strange { .. })), "{bad}");
        }
        assert_eq!(read(json!({"userinfo_endpoint": "http://id.example/me"})).unwrap().user_info, None);
        let ends = |url: &str| read(json!({"end_session_endpoint": url})).unwrap().end_session;
        assert_eq!(ends("https://id.example/end").as_deref(), Some("https://id.example/end"));
        assert_eq!((ends("http://id.example/end"), ends("javascript:alert(1)")), (None, None));
    }

    #[test]
    fn a_secret_is_written_as_the_standard_says() {
        assert_eq!(basic("a b", "c:d"), format!("Basic {}", BASE64.encode(b"a%20b:c%3Ad")));
    }
}
