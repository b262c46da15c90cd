//! What is shown instead of a password.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How long a browser stays logged in.
pub const SESSION_MS: u64 = 7 * DAY_MS;
/// How long a token is good for when its maker does not say.
pub const USUAL_TOKEN_MS: u64 = 90 * DAY_MS;
/// A token that shall live longer has none of the use of an end.
pub const LONGEST_TOKEN_MS: u64 = 3_660 * DAY_MS;
const DAY_MS: u64 = 86_400_000;
/// Of one user, at a time: all are in the server's memory, and are read again with each that comes. The oldest session gives way.
pub const MOST_SESSIONS: u32 = 100;
/// Tokens of one user, at a time, sessions aside.
pub const MOST_TOKENS: u32 = 1_000;

/// Who carries a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A browser, as a cookie.
    Session,
    /// The command line of someone who has typed the password.
    LogIn,
    /// A person or a program.
    Personal,
}

/// What a token is good for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TokenScope {
    /// The public API, as far as the role goes.
    #[default]
    Api,
    /// What agents ask for, and nothing else: the token of a machine.
    Agent,
}

/// Why a text names no kind or scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownWord;

impl TokenKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::LogIn => "logIn",
            Self::Personal => "personal",
        }
    }
}

impl FromStr for TokenKind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        [Self::Session, Self::LogIn, Self::Personal].into_iter().find(|kind| kind.as_str() == text).ok_or(UnknownWord)
    }
}

/// What a new token is tied to: the token that it was made with, without which it is worth nothing, and which it does not
/// outlive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tie<D> {
    pub made_with: Option<D>,
    pub ends_at_the_latest: Option<u64>,
}

/// What is made with something else than a password is tied to what was shown: otherwise a token of an hour makes one of ten
/// years. Who has typed the password may make what outlives the session. A machine's token is not tied to the server's own, since
/// the server's may be changed while machines train.
pub fn tie<D: Copy>(maker: Maker<D>, scope: TokenScope) -> Tie<D> {
    let free = Tie { made_with: None, ends_at_the_latest: None };
    match maker {
        Maker::Password => free,
        Maker::Server(_) if scope == TokenScope::Agent => free,
        Maker::Server(digest) => Tie { made_with: Some(digest), ends_at_the_latest: None },
        Maker::Token { digest, expires_ms } => Tie { made_with: Some(digest), ends_at_the_latest: expires_ms },
    }
}

/// With what someone who makes a token has proved who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker<D> {
    /// A password, typed now or for this session.
    Password,
    /// The server's own token.
    Server(D),
    Token {
        digest: D,
        expires_ms: Option<u64>,
    },
}

impl TokenScope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Agent => "agent",
        }
    }
}

impl FromStr for TokenScope {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        [Self::Api, Self::Agent].into_iter().find(|scope| scope.as_str() == text).ok_or(UnknownWord)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_does_not_outlive_what_it_was_made_with() {
        let of = |maker, scope| {
            let Tie { made_with, ends_at_the_latest } = tie(maker, scope);
            (made_with, ends_at_the_latest)
        };
        assert_eq!(of(Maker::Password, TokenScope::Api), (None, None));
        assert_eq!(of(Maker::Server(9), TokenScope::Api), (Some(9), None));
        assert_eq!(of(Maker::Server(9), TokenScope::Agent), (None, None));
        let token = Maker::Token { digest: 7, expires_ms: Some(50) };
        assert_eq!(of(token, TokenScope::Api), (Some(7), Some(50)));
        assert_eq!(of(token, TokenScope::Agent), (Some(7), Some(50)));
    }

    #[test]
    fn kinds_are_read_back() {
        for kind in [TokenKind::Session, TokenKind::LogIn, TokenKind::Personal] {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
    }
}
