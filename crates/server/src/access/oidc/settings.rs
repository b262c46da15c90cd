//! What operators have said of the company's service.

use std::path::PathBuf;

use fermi_domain::access::oidc::RoleRules;

/// Where a browser begins, behind the address of the console.
pub const LOG_IN_PATH: &str = "/oidc/log-in";
/// Where the service sends it back to.
pub const CALLBACK_PATH: &str = "/oidc/callback";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcSettings {
    /// As the service names itself, to the letter.
    pub issuer: String,
    pub client_id: String,
    /// None: a client without a secret, which PKCE alone protects.
    pub client_secret_file: Option<PathBuf>,
    pub scopes: Vec<String>,
    /// What a new user is called by.
    pub user_claim: String,
    pub groups_claim: Option<String>,
    pub roles: RoleRules,
    /// Where people find the console, without a slash at its end.
    pub public_url: String,
}

impl OidcSettings {
    /// The address that is registered at the service.
    pub fn redirect_uri(&self) -> String {
        format!("{}{CALLBACK_PATH}", self.public_url)
    }

    pub fn log_in_url(&self) -> String {
        format!("{}{LOG_IN_PATH}", self.public_url)
    }

    /// The path of an address here, as browsers see it.
    pub fn path_of(&self, path: &str) -> String {
        let prefix = self.public_url.parse::<http::Uri>().map(|uri| uri.path().trim_end_matches('/').to_owned());
        // What would end the attribute of a cookie is no path for one.
        let prefix = prefix.ok().filter(|prefix| !prefix.contains([';', ','])).unwrap_or_default();
        format!("{prefix}{path}")
    }

    /// Whether browsers come over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.public_url.starts_with("https://")
    }
}

/// Whether what is sent there cannot be read on its way: over TLS, or within the machine.
pub fn is_private(url: &str) -> bool {
    let Ok(uri) = url.parse::<http::Uri>() else { return false };
    let host = uri.host().unwrap_or_default();
    let is_loopback = host == "localhost"
        || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    match uri.scheme_str() {
        Some("https") => !host.is_empty(),
        Some("http") => is_loopback,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_travel_over_tls_or_within_the_machine() {
        for url in ["https://id.example", "http://127.0.0.1:9000/x", "http://localhost", "http://[::1]:1/"] {
            assert!(is_private(url), "{url}");
        }
        for url in ["http://id.example", "ftp://127.0.0.1", "127.0.0.1", "", "http://127.0.0.1.example", "/x"] {
            assert!(!is_private(url), "{url}");
        }
    }
}
