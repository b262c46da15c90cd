//! Whether the server is up, and which one it is.

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
}

/// The data of `GET /readyz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    pub ready: bool,
}
