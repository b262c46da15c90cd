//! What a node sees at the path of a version.

use serde::{Deserialize, Serialize};

use super::{checksum::Checksum, format::DataFormat};
use crate::{language::Text, units::Bytes};

/// What is there, as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub kind: SeenKind,
    pub bytes: u64,
    pub files: u64,
    /// Whether everything was counted; a huge folder is not.
    pub is_whole: bool,
    /// Those of the files, by their names or first bytes; the one with the most bytes first.
    pub formats: Vec<DataFormat>,
    pub misnamed: Option<Misnamed>,
    /// Of the kind that was asked for, where it was made.
    pub checksum: Option<Checksum>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenKind {
    File,
    Folder,
}

/// A file whose first bytes are not those of the format that its name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misnamed {
    pub file: String,
    pub said: DataFormat,
    pub found: Option<DataFormat>,
}

/// What a node has proven of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DatasetSighting {
    pub bytes: u64,
    pub files: u64,
    /// Whether everything was counted; a huge folder is not.
    pub is_whole: bool,
    #[serde(default)]
    pub format: Option<String>,
    #[serde(default)]
    pub checksum: ChecksumProof,
}

/// What became of a stated checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ChecksumProof {
    /// None is stated.
    #[default]
    None,
    Matches,
    /// There is too much to read before a start.
    NotChecked,
}

impl DatasetSighting {
    /// Such as `12 files, 3.4 GB`.
    pub fn amount(&self) -> Text {
        amount(self.files, self.bytes, self.is_whole)
    }
}

pub(super) fn amount(files: u64, bytes: u64, is_whole: bool) -> Text {
    let size = Bytes(bytes).rounded();
    let (zh, en) = if is_whole { ("", "") } else { ("至少 ", "at least ") };
    let s = if files == 1 { "" } else { "s" };
    Text::new(format!("{zh}{files} 个文件，{size}"), format!("{en}{files} file{s}, {size}"))
}
