//! The name of a stream, and the path that it becomes.

use std::{
    io,
    path::{Path, PathBuf},
};

use fermi_domain::ids::TaskId;
use serde::{Deserialize, Serialize};

/// What a stream holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamKind {
    Stdout,
    Stderr,
    /// What the rank wrote to its progress file.
    Progress,
    /// What all ranks of a node were started with, one JSON object; kept with the node's first rank.
    Start,
    /// The stacks of all ranks of a node that hung; kept with the node's first rank.
    Hang,
}

impl StreamKind {
    pub const ALL: [Self; 5] = [Self::Stdout, Self::Stderr, Self::Progress, Self::Start, Self::Hang];

    /// Whether it is what the rank itself prints.
    pub fn is_output(self) -> bool {
        matches!(self, Self::Stdout | Self::Stderr)
    }

    /// As it is written in file names and addresses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Progress => "progress",
            Self::Start => "start",
            Self::Hang => "hang",
        }
    }
}

/// Names one stream of one rank in one attempt.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamName {
    pub task: TaskId,
    pub attempt: u32,
    pub rank: u32,
    pub kind: StreamKind,
}

impl StreamName {
    /// The folder of the rank's files.
    pub(super) fn folder(&self, root: &Path) -> io::Result<PathBuf> {
        let task = task_folder(root, &self.task)?;
        Ok(task.join(format!("attempt-{}", self.attempt)).join(format!("rank-{}", self.rank)))
    }

    pub(super) fn segment(&self, root: &Path, segment: u64) -> io::Result<PathBuf> {
        Ok(self.folder(root)?.join(format!("{}.{segment}", self.kind.as_str())))
    }
}

/// A task's folder. An id that would lead elsewhere is refused.
pub(super) fn task_folder(root: &Path, task: &TaskId) -> io::Result<PathBuf> {
    if is_plain(task.as_str()) {
        return Ok(root.join(task.as_str()));
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{task}` cannot be the name of a folder")))
}

pub(super) fn is_plain(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !name.is_empty() && name.len() <= 200 && name.bytes().all(is_letter)
}
