//! What ranks wrote.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One of the two streams of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Stream {
    Stdout,
    Stderr,
    /// The stacks of all ranks of a node that hung; kept with the node's first rank, and shown only where it is asked for.
    Hang,
}

impl Stream {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Hang => "hang",
        }
    }
}

/// The answer to `GET /training-tasks/{id}/logs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Logs {
    /// The attempt that was read; 0 when there has been none.
    pub attempt: u32,
    /// By rank, stdout before stderr.
    pub chunks: Vec<LogChunk>,
}

/// A piece of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogChunk {
    pub attempt: u32,
    pub rank: u32,
    pub stream: Stream,
    /// The first byte's place in the stream.
    pub offset: u64,
    /// The place after the last byte; read on from here.
    pub next_offset: u64,
    /// How long the stream is now.
    pub length: u64,
    /// Bytes that are no UTF-8 appear as U+FFFD; `Accept: text/plain` gives them unchanged.
    pub text: String,
    /// Ranges that were taken and not kept, for want of budget or disk. In the text a line stands for each.
    #[serde(default)]
    pub gaps: Vec<LogGap>,
}

/// A range of a stream that the server has not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogGap {
    pub offset: u64,
    pub length: u64,
}

/// A piece of a stream as it arrives while somebody follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogPiece {
    pub attempt: u32,
    pub rank: u32,
    pub stream: Stream,
    pub offset: u64,
    pub next_offset: u64,
    /// The bytes; where the server has not kept the range, a line that says so.
    pub text: String,
    /// The range was not kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_gap: bool,
}

/// The answer to `GET /training-tasks/{id}/logs/search`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogSearch {
    pub attempt: u32,
    pub items: Vec<LogMatch>,
    pub next_page_token: Option<String>,
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogMatch {
    pub rank: u32,
    pub stream: Stream,
    /// Where the line begins.
    pub offset: u64,
    /// The line; a very long one is cut.
    pub text: String,
}
