//! Models that a training begins with.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of `POST /models`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CreateModel {
    pub name: String,
    /// Where every node finds its weights.
    pub path: Option<String>,
    pub description: Option<String>,
}

/// A neural network by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    #[schema(example = "model-001")]
    pub id: String,
    pub name: String,
    pub path: Option<String>,
    pub description: Option<String>,
    /// Unix milliseconds.
    pub created_at: u64,
}
