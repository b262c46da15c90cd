//! Sessions, users, tokens and secrets.

use std::collections::BTreeMap;

use fermi_domain::access::{Deed, TokenScope, may_ever};
use fermi_domain::language::{Explained, Text};
use fermi_domain::principal::{Principal, Role};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::AllowedAction;

/// The body of `POST /session`: a user with a password, or a token.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LogIn {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ann")]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Instead of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// For a program: the answer holds a token of this name, and no cookie is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_name: Option<String>,
}

/// Secrets are not for logs.
impl std::fmt::Debug for LogIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogIn").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Who is logged in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// `token` for who holds the server's own token, `local` where none is asked for.
    #[schema(example = "ann")]
    pub user: String,
    #[schema(value_type = String, example = "member")]
    pub role: Role,
    /// Whether this server asks for no token.
    pub is_open: bool,
    /// Unix milliseconds; none where it does not end.
    pub expires_at: Option<u64>,
    /// Shown this once, where the log-in asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// What this session may not do at all, so that nobody is offered it. What has an owner says for itself, in
    /// `allowedActions`.
    #[serde(default)]
    pub denied: Vec<DeniedDeed>,
}

/// Something that is not for this session, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeniedDeed {
    pub deed: Deed,
    pub reason: Text,
}

impl DeniedDeed {
    /// Everything that the principal may not do, whoever owns it.
    pub fn all(principal: &Principal) -> Vec<Self> {
        let denied = |deed| Some(Self { deed, reason: may_ever(principal, deed).err()?.text() });
        Deed::ALL.into_iter().filter_map(denied).collect()
    }
}

/// The session here has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedOut {
    /// Where a browser ends the session at the company's service too; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://id.example.com/logout?client_id=fermi")]
    pub continue_at: Option<String>,
}

/// A person who may log in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct User {
    #[schema(example = "ann")]
    pub name: String,
    #[schema(value_type = String, example = "member")]
    pub role: Role,
    /// Unix milliseconds.
    pub created_at: u64,
    /// Whether the user comes with a company account (OpenID Connect).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_company_account: bool,
}

/// The body of `POST /users/{name}/link`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinkUser {
    /// As the company's log-in service names the account: `sub` of its ID tokens.
    #[schema(example = "248289761001")]
    pub subject: String,
}

/// The body of `POST /users`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateUser {
    #[schema(example = "ann")]
    pub name: String,
    /// `viewer`, `member`, `operator` or `administrator`.
    #[schema(value_type = String, example = "member")]
    pub role: Role,
    /// At least 8 bytes.
    pub password: String,
}

impl std::fmt::Debug for CreateUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreateUser").field("name", &self.name).field("role", &self.role).finish_non_exhaustive()
    }
}

/// The body of `PATCH /users/{name}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeUser {
    #[schema(value_type = String, example = "operator")]
    pub role: Role,
}

/// The body of `POST /users/{name}/password`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SetPassword {
    /// At least 8 bytes.
    pub password: String,
    /// The one until now; needed for one's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
}

impl std::fmt::Debug for SetPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetPassword").finish_non_exhaustive()
    }
}

/// The body of `POST /tokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CreateToken {
    /// What it is for.
    #[schema(example = "nightly build")]
    pub name: String,
    /// The most that its holder may do; one's own role when not given, and never more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "viewer")]
    pub role: Option<Role>,
    /// `api`, or `agent` for a machine: such a token is taken from agents and opens nothing else.
    #[schema(value_type = String, example = "api")]
    pub scope: TokenScope,
    /// For how many seconds; 90 days when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<u64>,
    /// With the scope `agent`: how many machines may come with it; as many as there are when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uses: Option<u32>,
    /// With the scope `agent`: the zone of machines that come with it, whatever they say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "zone-a")]
    pub zone: Option<String>,
    /// With the scope `agent`: labels of machines that come with it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// A token, but for the word itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    #[schema(example = "token-3")]
    pub id: String,
    pub name: String,
    /// Whose it is; `token` for who holds the server's own token.
    pub user: String,
    #[schema(value_type = String, example = "member")]
    pub role: Role,
    #[schema(value_type = String, example = "api")]
    pub scope: TokenScope,
    /// A browser's.
    pub is_session: bool,
    /// Unix milliseconds.
    pub created_at: u64,
    pub expires_at: Option<u64>,
    /// How many machines may still come with it; none: as many as there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses_left: Option<u32>,
    /// The zone of machines that come with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Labels of machines that come with it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// The answer to `POST /tokens`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MadeToken {
    #[serde(flatten)]
    pub made: Token,
    /// What is to be shown; shown here and never again.
    pub token: String,
}

/// The body of `POST /secrets`.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SetSecret {
    #[schema(example = "HF_TOKEN")]
    pub name: String,
    /// Up to 32 KiB; no answer holds it.
    pub value: String,
    /// For the tasks of everyone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

impl std::fmt::Debug for SetSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetSecret").field("name", &self.name).field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// A secret, but for its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Secret {
    #[schema(example = "HF_TOKEN")]
    pub name: String,
    /// Whose it is; none of what is shared.
    #[schema(example = "ann")]
    pub owner: Option<String>,
    pub shared: bool,
    /// Unix milliseconds.
    pub updated_at: u64,
    /// What the one who asks may do with it.
    #[serde(default)]
    pub allowed_actions: Vec<AllowedAction>,
}
