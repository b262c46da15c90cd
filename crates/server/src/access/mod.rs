//! Who is known here: [`accounts`] finds the holder of a token in memory, [`bounded_tokens`] keeps new ones, [`secret_word`] draws and digests what is shown,
//! [`password`] does the slow work of log-ins, [`cookie`] is how a browser carries its session, [`ownership`] whose things
//! are, [`vault`] seals secrets and opens them for a launch, [`oidc`] asks the company's service who somebody is, and [`permit`] is the one place that asks the table of [`fermi_domain::access`].

pub mod accounts;
pub mod bounded_tokens;
mod change;
pub mod cookie;
pub mod oidc;
pub mod ownership;
pub mod password;
pub mod permit;
pub mod secret_word;
pub mod vault;

pub use accounts::{Accounts, Holder};
pub use permit::permit;
pub use vault::Vault;
