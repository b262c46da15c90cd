//! The disk on which a training writes.

use serde::{Deserialize, Serialize};

use super::Reason;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiskFacts {
    pub folder: String,
    /// Such as `ext4` or `nfs4`.
    pub file_system: Option<String>,
    pub total: u64,
    pub free: u64,
    /// Share of file entries that are free; None where the file system does not count them.
    pub free_entries: Option<f64>,
    /// What the kernel believes; None where no device of this machine is behind the folder.
    pub is_rotating: Option<bool>,
    pub write: WriteTest,
}

/// A small file, written and flushed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WriteTest {
    #[serde(rename_all = "camelCase")]
    Done {
        bytes: u64,
        seconds: f64,
    },
    Failed(Reason),
}

impl Default for WriteTest {
    fn default() -> Self {
        Self::Done { bytes: 0, seconds: 0.0 }
    }
}

impl WriteTest {
    /// Bytes per second.
    pub fn speed(&self) -> Option<f64> {
        match self {
            Self::Done { bytes, seconds } if *seconds > 0.0 && *bytes > 0 => Some(*bytes as f64 / seconds),
            _ => None,
        }
    }
}
