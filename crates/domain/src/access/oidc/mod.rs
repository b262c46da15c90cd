//! Log-ins with a company's account (OpenID Connect): what an ID token must say ([`id_token`]), which role somebody gets
//! ([`role_rules`]), whom it becomes here ([`arrival`]), and why nobody ([`problem`]).
//!
//! Never asks a provider and never looks at a signature: that is the server's.

pub mod arrival;
pub mod id_token;
pub mod problem;
pub mod role_rules;

pub use arrival::{Arrival, LinkedUser, arrive, name_of};
pub use id_token::{ExpectedToken, IdClaims, IdTokenFault};
pub use problem::OidcProblem;
pub use role_rules::{Grant, NoRoleRule, RoleRules};
