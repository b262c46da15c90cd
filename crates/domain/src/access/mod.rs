//! Who may do what: the one table ([`permission`]), what a user may be called and a password must be ([`account`]), what
//! is shown instead of one ([`token`]), what comes with one for machines ([`join`]), what a task may be given in secret
//! ([`secret`]), how long is waited after a log-in that failed ([`throttle`]), how a server is known ([`fingerprint`]), whom a
//! proxy speaks for ([`proxies`]), under whose system account ranks run ([`run_as`]) and within which limits ([`account_limits`]), and who comes with a company's account
//! ([`oidc`]).
//!
//! Never keeps a password, a token, a secret or a request: those are the server's.

pub mod account;
pub mod account_limits;
pub mod fingerprint;
pub mod join;
pub mod oidc;
pub mod permission;
pub mod proxies;
pub mod run_as;
pub mod secret;
pub mod throttle;
pub mod token;

pub use account::{AccountRefusal, check_name, check_password};
pub use account_limits::{AccountLimit, LimitedAccount, limits_of};
pub use fingerprint::Fingerprint;
pub use join::{FixedPlace, JoinTerms};
pub use permission::{Deed, Denied, may_ever, permit};
pub use proxies::{AddressRange, Forwarded, Peer, TrustedProxies, network_of};
pub use run_as::{AccountMap, RankAccount, RunAs, RunAsRefusal};
pub use secret::{SecretHolder, SecretProblem, SecretRefusal, check_secret_name, check_secret_value};
pub use throttle::Throttle;
pub use token::{TokenKind, TokenScope};
