//! Whether the server is up, and which one it is.

use fermi_domain::language::Text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The data of `GET /version`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// The release of Fermi.
    #[schema(example = "0.1.0")]
    pub version: String,
    /// Versions of the public API that it speaks.
    pub api: Vec<String>,
    /// The version of the words between agents and server.
    pub link: u32,
    /// Where a browser begins to log in with a company account (OpenID Connect), where the server was set up for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://fermi.example.com/oidc/log-in")]
    pub company_log_in: Option<String>,
}

/// The data of `GET /readyz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    pub ready: bool,
    /// What does not work as it should although requests are served, such as a disk that is nearly full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<Text>,
    /// The loops that run beside the requests.
    #[serde(default)]
    pub loops: Vec<BackgroundLoop>,
}

/// A loop that runs beside the requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundLoop {
    #[schema(example = "placement")]
    pub name: String,
    /// It runs at least this often.
    pub period_ms: u64,
    pub runs: u64,
    pub failures: u64,
    pub panics: u64,
    pub last_run: Option<LastRun>,
}

/// How a loop's last run went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// Unix milliseconds at its end.
    pub ended_at: u64,
    /// `start`, `bell`, `period` or `retry`.
    pub wake_up: String,
    pub took_micros: u64,
    /// `done`, `failed` or `panicked`.
    pub outcome: String,
    /// Why, where it did not go well.
    pub reason: Option<String>,
}
