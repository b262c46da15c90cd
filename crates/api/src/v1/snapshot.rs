//! A folder of code that was sent once and is known by its digest.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The header that says what a body must be, such as `sha256:9f86…`.
pub const DIGEST_HEADER: &str = "x-fermi-digest";

/// The answer to `POST /snapshots`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    #[schema(example = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub digest: String,
    /// In bytes, packed.
    pub size: u64,
}
