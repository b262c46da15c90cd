//! Why a request came to nothing.

use std::io;

use serde::Deserialize;
use thiserror::Error;

use super::{ServerAddress, TlsRefusal};

/// A request without a good answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody answers there.
    #[error("the server {server} cannot be reached: {reason}")]
    Unreachable { server: String, reason: String },
    #[error("the server {server} did not answer in time")]
    TimedOut { server: String },
    /// It does not prove who it is, or one of the two speaks TLS and the other does not.
    #[error("{server}: {refusal}")]
    Tls { server: String, refusal: TlsRefusal },
    /// The server understood, and says no.
    #[error("{}", .0.message)]
    Refused(Box<RefusedAnswer>),
    /// Something answers, but not as a Fermi server does.
    #[error("the answer of {server} is not understood: {reason}")]
    NotUnderstood { server: String, reason: String },
}

/// The server's refusal, in the language that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedAnswer {
    /// HTTP's number.
    pub code: u16,
    pub message: String,
    pub hint: Option<String>,
    /// A stable name, such as `dataset_required`.
    pub id: Option<String>,
    /// The field that is wrong.
    pub field: Option<String>,
}

/// The envelope's `error`.
#[derive(Debug, Deserialize)]
pub(super) struct ErrorBody {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    field: Option<String>,
    #[serde(default)]
    hint: Option<String>,
}

impl RefusedAnswer {
    pub(super) fn new(code: u16, message: String, error: Option<ErrorBody>) -> Self {
        let (id, field, hint) = error.map_or((None, None, None), |error| (error.id, error.field, error.hint));
        Self { code, message, hint, id, field }
    }
}

impl ClientError {
    pub(super) fn of_transport(server: &ServerAddress, error: ureq::Error) -> Self {
        let server = server.to_string();
        match error {
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                Self::Unreachable { server, reason: "no connection in time".to_owned() }
            }
            ureq::Error::Timeout(_) => Self::TimedOut { server },
            ureq::Error::HostNotFound => Self::Unreachable { server, reason: "the host is not known".to_owned() },
            ureq::Error::ConnectionFailed => Self::Unreachable { server, reason: "no connection".to_owned() },
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => Self::TimedOut { server },
            ureq::Error::Other(error) if error.is::<TlsRefusal>() => match error.downcast::<TlsRefusal>() {
                Ok(refusal) => Self::Tls { server, refusal: *refusal },
                Err(error) => Self::NotUnderstood { server, reason: error.to_string() },
            },
            ureq::Error::Io(error) => Self::Unreachable { server, reason: plain(&error) },
            other => Self::NotUnderstood { server, reason: other.to_string() },
        }
    }

    /// An error that came without our envelope, from a proxy perhaps.
    pub(super) fn of_plain(server: &ServerAddress, code: u16, body: &[u8]) -> Self {
        // What a proxy says whose server is away: it may be there a moment later.
        if matches!(code, 502..=504) {
            return Self::Unreachable {
                server: server.to_string(),
                reason: format!("a proxy before it answers HTTP {code}"),
            };
        }
        let text = String::from_utf8_lossy(body);
        let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let first: String = first.chars().take(200).collect();
        Self::NotUnderstood { server: server.to_string(), reason: format!("HTTP {code} {first}").trim_end().to_owned() }
    }

    /// HTTP's number, when the server answered.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused(refused) => Some(refused.code),
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Tls { .. } | Self::NotUnderstood { .. } => None,
        }
    }

    /// Whether the same request may succeed a little later without anybody changing anything.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } => true,
            Self::Refused(refused) => matches!(refused.code, 429 | 502 | 503 | 504),
            Self::Tls { .. } | Self::NotUnderstood { .. } => false,
        }
    }
}

/// The system's words without its numbers.
fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => "the connection was cut".to_owned(),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "no route to it".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_whose_server_is_away_may_pass() {
        let server: ServerAddress = "http://127.0.0.1:7070".parse().unwrap();
        let told = |code| ClientError::of_plain(&server, code, b"<html>nothing here</html>");
        assert!((502..=504).all(|code| told(code).may_pass()));
        assert_eq!(
            told(502).to_string(),
            "the server http://127.0.0.1:7070 cannot be reached: a proxy before it answers HTTP 502"
        );
        assert!(!told(404).may_pass() && !told(500).may_pass());
    }
}
