//! Where the server is: the one place that knows schemes.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::error::AgentError;

const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
const USUAL_PORT: u16 = 80;

/// A server's address, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    host: String,
    port: u16,
}

impl ServerAddress {
    /// Reads `http://host:port`; the scheme may be left out.
    pub fn parse(text: &str) -> Result<Self, AgentError> {
        let bad = || AgentError::BadServer { address: text.to_owned() };
        let rest = match text.trim().split_once("://") {
            Some(("http", rest)) => rest,
            Some(("https", _)) => return Err(AgentError::Encrypted { address: text.to_owned() }),
            Some(_) => return Err(bad()),
            None => text.trim(),
        };
        let rest = rest.trim_end_matches('/');
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') && !port.ends_with(']') => {
                (host, port.parse().ok().filter(|port| *port > 0).ok_or_else(bad)?)
            }
            _ => (rest, USUAL_PORT),
        };
        let is_strange = |c: char| c == '/' || c == '@' || c == '?' || c == '#' || c.is_whitespace() || c.is_control();
        if host.is_empty() || host.contains(is_strange) {
            return Err(bad());
        }
        Ok(Self { host: host.to_owned(), port })
    }

    /// The URL of a path of its HTTP interface.
    pub fn http(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.host, self.port)
    }

    /// The URL of a WebSocket.
    pub fn websocket(&self, path: &str) -> String {
        format!("ws://{}:{}{path}", self.host, self.port)
    }

    /// A plain connection to it.
    pub fn connect(&self) -> io::Result<TcpStream> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for candidate in (host, self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&candidate, CONNECT_PATIENCE) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_and_without_scheme() {
        for text in ["http://gn6:7070", "gn6:7070", "http://gn6:7070/"] {
            let address = ServerAddress::parse(text).unwrap();
            assert_eq!(address.http("/x"), "http://gn6:7070/x");
            assert_eq!(address.websocket("/x"), "ws://gn6:7070/x");
        }
        assert_eq!(ServerAddress::parse("http://[::1]:7070").unwrap().http("/"), "http://[::1]:7070/");
        assert_eq!(ServerAddress::parse("http://gn6").unwrap().http("/"), "http://gn6:80/");
    }

    #[test]
    fn what_is_no_address_is_refused_with_a_hint() {
        for text in
            ["", "http://", "ftp://x", "http://a b:1", "http://x:0", "http://x:99999", "http://u@x:1", "http://x/y"]
        {
            let error = ServerAddress::parse(text).unwrap_err();
            assert!(error.hint().en.contains("http://host:port"), "{text}");
        }
        assert!(matches!(ServerAddress::parse("https://x:1"), Err(AgentError::Encrypted { .. })));
    }
}
