//! Where a server is.

use std::net::{IpAddr, Ipv6Addr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;
use std::{fmt, io};

use thiserror::Error;

/// Where a server listens when nobody says otherwise.
pub const DEFAULT_SERVER: &str = "http://127.0.0.1:7070";

const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);

/// The base of a server's addresses: `http://host:port` or `https://host:port`, without a slash at its end. The one place
/// that knows schemes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Host and port as they stand in a URL.
    authority: String,
    host: String,
    port: u16,
    is_tls: bool,
}

/// Why a text is no address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is not the address of a server, such as http://10.0.0.1:7070")]
pub struct BadAddress(pub String);

impl FromStr for ServerAddress {
    type Err = BadAddress;

    /// Takes `http://host:port`, `https://host:port`, and `host:port` for the first.
    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let text = text.trim();
        let refused = || BadAddress(text.to_owned());
        let secure = text.strip_prefix("https://");
        let is_tls = secure.is_some();
        let authority = secure.or_else(|| text.strip_prefix("http://")).unwrap_or(text).trim_end_matches('/');
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().ok().filter(|port| *port > 0).ok_or_else(refused)?)
            }
            _ => (authority, if is_tls { HTTPS_PORT } else { HTTP_PORT }),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = match bare {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)),
        };
        if !is_host {
            return Err(refused());
        }
        Ok(Self { authority: authority.to_owned(), host: bare.unwrap_or(host).to_owned(), port, is_tls })
    }
}

impl ServerAddress {
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is spoken to over TLS.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// The same place, spoken to over TLS.
    #[must_use]
    pub fn over_tls(self) -> Self {
        Self { is_tls: true, ..self }
    }

    /// The same server under another host of its.
    pub fn at_host(&self, host: IpAddr) -> Self {
        let authority = std::net::SocketAddr::new(host, self.port).to_string();
        Self { authority, host: host.to_string(), ..self.clone() }
    }

    /// The URL of a path of its HTTP interface.
    pub fn http(&self, path: &str) -> String {
        format!("{self}{path}")
    }

    /// The URL of a WebSocket.
    pub fn websocket(&self, path: &str) -> String {
        format!("{}://{}{path}", if self.is_tls { "wss" } else { "ws" }, self.authority)
    }

    /// A plain connection to it: the first of its addresses that answers.
    pub fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for candidate in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&candidate, CONNECT_PATIENCE) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Whether it is this machine's own loopback.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_tls { "https" } else { "http" }, self.authority)
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
    fn both_interfaces_are_below_it() {
        for (text, http, websocket) in [
            ("gn6:7070/", "http://gn6:7070/x", "ws://gn6:7070/x"),
            ("http://[::1]:7070", "http://[::1]:7070/x", "ws://[::1]:7070/x"),
            ("http://gn6", "http://gn6/x", "ws://gn6/x"),
            ("https://gn6:7070", "https://gn6:7070/x", "wss://gn6:7070/x"),
            ("https://gn6/", "https://gn6/x", "wss://gn6/x"),
        ] {
            let address: ServerAddress = text.parse().unwrap();
            assert_eq!((address.http("/x").as_str(), address.websocket("/x").as_str()), (http, websocket));
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "http://",
            "http://a b",
            "ftp://x",
            "http://h:port",
            "http://h:99999",
            "http://h:0",
            "h/path",
            "http://u@h",
            "http://u@h:1",
            "::1",
            "[h]:1",
            "[::1",
            "h?x",
            "h#x",
            "训练",
        ] {
            assert!(text.parse::<ServerAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_scheme_has_its_port() {
        for (text, port, is_tls) in [("https://h", 443, true), ("http://h", 80, false), ("https://h:1", 1, true)] {
            let address: ServerAddress = text.parse().unwrap();
            assert_eq!((address.port(), address.is_tls()), (port, is_tls), "{text}");
        }
        let elsewhere = "https://localhost:7070".parse::<ServerAddress>().unwrap().at_host("fd00::1".parse().unwrap());
        assert_eq!(elsewhere.to_string(), "https://[fd00::1]:7070");
    }

    #[test]
    fn loopback_is_known_by_its_names() {
        for (text, expected) in [("localhost:1", true), ("127.0.0.5:1", true), ("[::1]:1", true), ("10.0.0.1:1", false)]
        {
            assert_eq!(text.parse::<ServerAddress>().unwrap().is_loopback(), expected, "{text}");
        }
    }
}
