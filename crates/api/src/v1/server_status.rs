//! How the server fares: what it keeps, what it has room for, what runs beside the requests.

use fermi_domain::access::Fingerprint;
use fermi_domain::language::Text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::BackgroundLoop;

/// The answer to `GET /server/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerStatus {
    #[schema(example = "0.1.0")]
    pub version: String,
    pub cluster: String,
    /// The SHA-256 of the server's own authority, by which machines that join know it. Not there where the server is not
    /// encrypted, where others vouch for its certificate, and for who asks through a proxy, which shows another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", value_type = Option<String>)]
    pub fingerprint: Option<Fingerprint>,
    pub data_dir: String,
    pub disk: DiskStatus,
    pub kept: Vec<KeptKind>,
    /// Bytes of logs that were taken and not kept since the server started.
    pub log_bytes_dropped: u64,
    /// Unix milliseconds: the time by which ages are judged. It follows the server's clock, but not in leaps.
    pub believed_time: Option<u64>,
    pub loops: Vec<BackgroundLoop>,
    /// How often an older state of the database was put back.
    #[serde(default)]
    pub epoch: u64,
    /// Runs that this database has never launched; see `GET /server/strays`.
    #[serde(default)]
    pub strays: u64,
    /// What in the database cannot be read by this release and is left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<Text>,
}

/// A run that the database has never launched: an older state of it was put back while the run went on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stray {
    #[schema(example = "task-12-g1-n0-i1")]
    pub run: String,
    pub environment_id: String,
    pub environment: String,
    /// Something of it may live, as far as its agent has said.
    pub alive: bool,
    /// Its end was asked for.
    pub ending: bool,
    /// Unix milliseconds.
    pub found_at: u64,
}

/// The disk of the data folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiskStatus {
    pub free_bytes: u64,
    pub size_bytes: u64,
    /// What is kept free for the database.
    pub reserve_bytes: u64,
    pub log_budget_bytes: u64,
    pub log_budget_per_task_bytes: u64,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complaint: Option<Text>,
}

/// How much there is of a kind, and how long it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptKind {
    /// `logs`, `snapshots`, `leftovers`, `events`, `answers`, `samples` or `database`; on machines `sources` or `outputs`.
    pub kind: String,
    pub name: Text,
    pub count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// What is kept, and why.
    pub rule: Text,
    /// Since the server started.
    pub removed: u64,
    pub removed_bytes: u64,
}
