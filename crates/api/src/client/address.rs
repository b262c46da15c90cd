//! Where a server is.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use thiserror::Error;

/// Where a server listens when nobody says otherwise.
pub const DEFAULT_SERVER: &str = "http://127.0.0.1:7070";

/// The base of a server's addresses: `http://host:port`, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    base: String,
    host: String,
}

/// Why a text is no address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadAddress {
    #[error("'{0}' is not the address of a server, such as http://10.0.0.1:7070")]
    NoAddress(String),
    #[error("'{0}' wants TLS, which this client does not speak")]
    Tls(String),
}

impl FromStr for ServerAddress {
    type Err = BadAddress;

    /// Takes `http://host:port`, and `host:port` for short.
    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let text = text.trim();
        if text.starts_with("https://") {
            return Err(BadAddress::Tls(text.to_owned()));
        }
        let refused = || BadAddress::NoAddress(text.to_owned());
        let rest = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        if rest.is_empty() || rest.contains("://") || rest.contains(|c: char| c.is_whitespace() || "/?#@".contains(c)) {
            return Err(refused());
        }
        let base = format!("http://{rest}");
        let uri: ureq::http::Uri = base.parse().map_err(|_| refused())?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(refused)?;
        // A port that is no port is left out by the parser without a word.
        let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        if has_port && uri.port_u16().is_none() {
            return Err(refused());
        }
        Ok(Self { host: host.trim_matches(['[', ']']).to_owned(), base })
    }
}

impl ServerAddress {
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it is this machine's own loopback.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_short_and_may_end_with_a_slash() {
        for text in ["http://10.0.0.1:7070", "10.0.0.1:7070", " http://10.0.0.1:7070/ "] {
            assert_eq!(text.parse::<ServerAddress>().unwrap().to_string(), "http://10.0.0.1:7070");
        }
        assert_eq!("http://[::1]:7070".parse::<ServerAddress>().unwrap().host(), "::1");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "http://", "http://a b", "ftp://x", "http://h:port", "http://h:99999", "h/path", "http://u@h"]
        {
            assert!(text.parse::<ServerAddress>().is_err(), "{text}");
        }
        assert!(matches!("https://h".parse::<ServerAddress>(), Err(BadAddress::Tls(_))));
    }

    #[test]
    fn loopback_is_known_by_its_names() {
        for (text, expected) in [("localhost:1", true), ("127.0.0.5:1", true), ("[::1]:1", true), ("10.0.0.1:1", false)]
        {
            assert_eq!(text.parse::<ServerAddress>().unwrap().is_loopback(), expected, "{text}");
        }
    }
}
