//! Log-ins with a company's account: OpenID Connect, the authorization code flow with PKCE.
//!
//! [`flow`] is a log-in that a browser has begun, [`company_session`] how it ends, [`turns`] who may ask when, [`provider`] asks the company's service, [`keys`] and [`signature`] find out
//! whether it has signed a token, [`client`] puts them together. What a token must say and who is let in are rules of
//! [`fermi_domain::access::oidc`]; the addresses that browsers open are in `http/oidc.rs`.

mod client;
mod company_session;
mod fetch;
mod flow;
mod keys;
mod provider;
mod settings;
mod signature;
mod turns;

pub use client::{Asserted, OidcClient};
pub use company_session::CompanySession;
pub use flow::BegunLogIn;
pub use settings::{CALLBACK_PATH, LOG_IN_PATH, OidcSettings, is_private};
