//! Datasets and their versions.

use fermi_domain::dataset::{ChecksumProof, LocationKind};
use fermi_domain::language::Text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::AllowedAction;

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
    /// Where every node finds it: an absolute path, or a URI that the training itself reads.
    pub path: String,
    /// In bytes, of all files together; compared on each node when a task starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// `sha256:…` of one file, or `sampled:…` as `fermi dataset inspect` prints it; compared on each node when a task
    /// starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// Such as jsonl, parquet or arrow; compared on each node when a task starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
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
    /// What the one who asks may do with it.
    #[serde(default)]
    pub allowed_actions: Vec<AllowedAction>,
}

/// One version; what is stated about it never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetVersion {
    #[schema(example = "version-001")]
    pub id: String,
    pub dataset_id: String,
    pub version: String,
    pub path: String,
    /// What `path` is; only a path is looked at when a task starts.
    #[serde(default = "path_kind")]
    pub location: LocationKind,
    /// In bytes, where it is stated.
    #[serde(default)]
    pub size: Option<u64>,
    #[serde(default)]
    pub checksum: Option<String>,
    #[serde(default)]
    pub format: Option<String>,
    /// The environments that have seen it when a task started, the newest proof first; at most 256 of them.
    #[serde(default)]
    pub visible_on: Vec<DatasetVisibility>,
    /// How many there are in all.
    #[serde(default)]
    pub visible_on_count: u64,
    /// What is known of where it is visible, in a sentence.
    #[serde(default)]
    pub visibility: Option<Text>,
    /// Unix milliseconds.
    pub created_at: u64,
}

fn path_kind() -> LocationKind {
    LocationKind::Path
}

/// An environment that has seen a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasetVisibility {
    pub environment: String,
    pub environment_name: String,
    /// Unix milliseconds.
    pub proven_at: u64,
    /// In bytes, as it was seen.
    pub size: u64,
    pub files: u64,
    /// Whether everything was counted; a huge folder is not.
    pub is_whole: bool,
    pub format: Option<String>,
    /// What became of the stated checksum.
    pub checksum: ChecksumProof,
}
