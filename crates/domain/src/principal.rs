//! On whose behalf something is done.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::EnvironmentId;

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

/// What a user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Everything.
    Administrator,
}

/// Why a text names no principal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` names nobody: write system, agent:ENVIRONMENT or user:ROLE:NAME")]
pub struct PrincipalError(String);

impl Role {
    pub const ALL: [Self; 1] = [Self::Administrator];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Administrator => "administrator",
        }
    }
}

impl Principal {
    /// Whoever is on the server's own machine, where no token is asked for.
    pub fn local() -> Self {
        Self::User { role: Role::Administrator, name: "local".to_owned() }
    }

    /// Whoever holds the server's token.
    pub fn token_holder() -> Self {
        Self::User { role: Role::Administrator, name: "token".to_owned() }
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
                let role = Role::ALL.into_iter().find(|known| known.as_str() == role).ok_or_else(refused)?;
                Ok(Self::User { role, name: name.to_owned() })
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
        for text in ["system", "agent:env-001", "user:administrator:local", "user:administrator:a:b"] {
            assert_eq!(text.parse::<Principal>().unwrap().to_string(), text);
        }
        assert_eq!(Principal::local().to_string(), "user:administrator:local");
    }

    #[test]
    fn what_names_nobody_is_refused() {
        for text in ["", "root", "agent:", "agent", "user:local", "user:king:local", "user:administrator:", "System"] {
            assert!(text.parse::<Principal>().is_err(), "{text}");
        }
    }
}
