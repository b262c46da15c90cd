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

/// Who carries a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A browser, as a cookie.
    Session,
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
            Self::Personal => "personal",
        }
    }
}

impl FromStr for TokenKind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        [Self::Session, Self::Personal].into_iter().find(|kind| kind.as_str() == text).ok_or(UnknownWord)
    }
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
