//! What a version is said to be, as it goes to the nodes of a task.

use serde::{Deserialize, Serialize};

use super::{
    checksum::{Checksum, ChecksumKind},
    format::DataFormat,
};

/// A folder with more files is not counted to the end.
pub const MOST_FILES: u64 = 100_000;

/// The version of a dataset that a node must see before it starts ranks. Texts that a node does not understand are not
/// checked there: a newer server may know more formats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DatasetExpectation {
    pub version_id: String,
    /// The dataset's name.
    pub dataset: String,
    /// What people call the version.
    pub version: String,
    pub path: String,
    /// In bytes, of all files together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// What to look at beside existence, size and names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookOrder {
    pub checksum: Option<ChecksumKind>,
}

impl DatasetExpectation {
    pub fn checksum(&self) -> Option<Checksum> {
        self.checksum.as_deref().and_then(Checksum::parse)
    }

    pub fn format(&self) -> Option<DataFormat> {
        self.format.as_deref().and_then(DataFormat::parse)
    }

    pub fn order(&self) -> LookOrder {
        LookOrder { checksum: self.checksum().map(|checksum| checksum.kind) }
    }
}
