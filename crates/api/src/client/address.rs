//! Where a server is.

use std::net::{IpAddr, Ipv6Addr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;
use std::{fmt, io};

use thiserror::Error;

/// Where a server listens when nobody says otherwise.
pub const DEFAULT_SERVER: &str = "http://127.0.0.1:7070";

const HTTP_PORT: u16 = 80;
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);

/// The base of a server's addresses: `http://host:port`, without a slash at its end. The one place that knows schemes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Host and port as they stand in a URL.
    authority: String,
    host: String,
    port: u16,
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
        let authority = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().ok().filter(|port| *port > 0).ok_or_else(refused)?)
            }
            _ => (authority, HTTP_PORT),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = match bare {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)),
        };
        if !is_host {
            return Err(refused());
        }
        Ok(Self { authority: authority.to_owned(), host: bare.unwrap_or(host).to_owned(), port })
    }
}

impl ServerAddress {
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a path of its HTTP interface.
    pub fn http(&self, path: &str) -> String {
        format!("http://{}{path}", self.authority)
    }

    /// The URL of a WebSocket.
    pub fn websocket(&self, path: &str) -> String {
        format!("ws://{}{path}", self.authority)
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
        write!(f, "http://{}", self.authority)
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
