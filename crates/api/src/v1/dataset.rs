//! Datasets and their versions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of `POST /datasets`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CreateDataset {
    pub name: String,
    pub description: Option<String>,
}

/// The body of `POST /datasets/{id}/versions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CreateDatasetVersion {
    #[schema(example = "v1")]
    pub version: String,
    /// Where every node finds it.
    pub path: String,
}

/// A named set of data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dataset {
    #[schema(example = "dataset-001")]
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    /// The newest first.
    pub versions: Vec<DatasetVersion>,
    /// Unix milliseconds.
    pub created_at: u64,
}

/// One version; it never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetVersion {
    #[schema(example = "version-001")]
    pub id: String,
    pub dataset_id: String,
    pub version: String,
    pub path: String,
    /// Unix milliseconds.
    pub created_at: u64,
}
