//! On whose behalf something is done.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::EnvironmentId;
use crate::language::Text;

/// Who asks for something, or does it. Written as one word: `system`, `agent:env-001`, `user:administrator:local`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Principal {
    /// The server itself: a background loop acts on what is stored.
    System,
    /// The agent of an environment.
    Agent { environment: EnvironmentId },
    /// A person, or a program that holds that person's token.
    User { role: Role, name: String },
}

/// What a user may do; each may do what those before it may ([`crate::access`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Looks.
    Viewer,
    /// Trains, and acts on what is their own.
    Member,
    /// Acts on what is anyone's, and on environments.
    Operator,
    /// Everything.
    Administrator,
}

/// The name of who reaches a server that asks for no token.
pub const LOCAL: &str = "local";
/// The name of who holds the server's own token.
pub const TOKEN: &str = "token";

/// Who holds a token of this name that an administrator has made and that is no user's. No user has a colon in the name.
pub fn token_owner(name: &str) -> String {
    format!("{TOKEN}:{name}")
}

/// Why a text names no principal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` names nobody: write system, agent:ENVIRONMENT or user:ROLE:NAME")]
pub struct PrincipalError(String);

impl Role {
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Member, Self::Operator, Self::Administrator];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Member => "member",
            Self::Operator => "operator",
            Self::Administrator => "administrator",
        }
    }

    /// As people read it.
    pub fn text(self) -> Text {
        match self {
            Self::Viewer => Text::new("访客", "viewer"),
            Self::Member => Text::new("成员", "member"),
            Self::Operator => Text::new("运维", "operator"),
            Self::Administrator => Text::new("管理员", "administrator"),
        }
    }
}

/// Why a text names no role.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no role: write viewer, member, operator or administrator")]
pub struct RoleError(String);

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| RoleError(text.to_owned()))
    }
}

impl Principal {
    /// Everyone who reaches a server that asks for no token.
    pub fn local() -> Self {
        Self::User { role: Role::Administrator, name: LOCAL.to_owned() }
    }

    /// Who holds the server's own token, or one that was made with it for a smaller role.
    pub fn token_holder(role: Role) -> Self {
        Self::User { role, name: TOKEN.to_owned() }
    }

    /// The name of a user; agents and the server itself have none.
    pub fn user(&self) -> Option<&str> {
        match self {
            Self::User { name, .. } => Some(name),
            Self::System | Self::Agent { .. } => None,
        }
    }

    pub fn agent_of(environment: EnvironmentId) -> Self {
        Self::Agent { environment }
    }

    /// An agent speaks for its own environment, and nobody else does.
    pub fn is_agent_of(&self, environment: &EnvironmentId) -> bool {
        matches!(self, Self::Agent { environment: own } if own == environment)
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("system"),
            Self::Agent { environment } => write!(f, "agent:{environment}"),
            Self::User { role, name } => write!(f, "user:{}:{name}", role.as_str()),
        }
    }
}

impl FromStr for Principal {
    type Err = PrincipalError;

    fn from_str(text: &str) -> Result<Self, PrincipalError> {
        let refused = || PrincipalError(text.to_owned());
        if text == "system" {
            return Ok(Self::System);
        }
        let (kind, rest) = text.split_once(':').ok_or_else(refused)?;
        match kind {
            "agent" if !rest.is_empty() => Ok(Self::agent_of(rest.into())),
            "user" => {
                let (role, name) = rest.split_once(':').filter(|(_, name)| !name.is_empty()).ok_or_else(refused)?;
                Ok(Self::User { role: role.parse().map_err(|_| refused())?, name: name.to_owned() })
            }
            _ => Err(refused()),
        }
    }
}

impl TryFrom<String> for Principal {
    type Error = PrincipalError;

    fn try_from(text: String) -> Result<Self, PrincipalError> {
        text.parse()
    }
}

impl From<Principal> for String {
    fn from(principal: Principal) -> Self {
        principal.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_read_back_as_written() {
        for text in ["system", "agent:env-001", "user:administrator:local", "user:viewer:ann", "user:administrator:a:b"]
        {
            assert_eq!(text.parse::<Principal>().unwrap().to_string(), text);
        }
        assert_eq!(Principal::local().to_string(), "user:administrator:local");
    }

    #[test]
    fn roles_are_in_order_and_read_back() {
        assert!(Role::ALL.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(Role::ALL.into_iter().all(|role| role.as_str().parse() == Ok(role)));
        assert!("Viewer".parse::<Role>().is_err());
    }

    #[test]
    fn what_names_nobody_is_refused() {
        for text in ["", "root", "agent:", "agent", "user:local", "user:king:local", "user:administrator:", "System"] {
            assert!(text.parse::<Principal>().is_err(), "{text}");
        }
    }
}
