//! On whose behalf.

use fermi_domain::principal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Who asked for something, or did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Principal {
    pub kind: PrincipalKind,
    /// A user's name, or the id of an agent's environment; empty for the server itself.
    #[schema(example = "local")]
    pub name: String,
    /// What a user may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "administrator")]
    pub role: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum PrincipalKind {
    /// The server itself.
    System,
    /// The agent of an environment.
    Agent,
    User,
}

impl From<&principal::Principal> for Principal {
    fn from(principal: &principal::Principal) -> Self {
        let (kind, name, role) = match principal {
            principal::Principal::System => (PrincipalKind::System, String::new(), None),
            principal::Principal::Agent { environment } => (PrincipalKind::Agent, environment.to_string(), None),
            principal::Principal::User { role, name } => {
                (PrincipalKind::User, name.clone(), Some(role.as_str().to_owned()))
            }
        };
        Self { kind, name, role }
    }
}
