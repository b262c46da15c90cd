//! Preflights: several environments checked together.

use fermi_domain::finding::{Finding, FindingCounts};
use fermi_domain::preflight::{PreflightEngine, PreflightProgress, VersionDifference};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Principal;

/// The body of `POST /preflights`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct StartPreflight {
    /// Names or ids, at most 64. The first that the others can reach is where they meet.
    #[schema(example = json!(["gn6", "gn7"]))]
    pub environments: Vec<String>,
    /// A folder that all shall have, such as that of a data set. An empty file is left there for a moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "/data/wiki")]
    pub path: Option<String>,
    /// The port at which ranks will meet; the first free one from 29500 on when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_port: Option<u16>,
    /// Whether Python and its engines are asked too; they are when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<bool>,
    /// Let this engine add over all nodes by its own means, and list its devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<PreflightEngine>,
}

/// A preflight, as far as it has come. Kept in memory: the last 64, until the server ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preflight {
    #[schema(example = "preflight-1765432100000")]
    pub id: String,
    pub created_by: Principal,
    /// The task before whose ranks it happened.
    pub task_id: Option<String>,
    pub path: Option<String>,
    /// Unix milliseconds.
    pub started_at: u64,
    /// Null while it goes on.
    pub ended_at: Option<u64>,
    pub seconds: f64,
    /// Whether there was no error; null while it goes on, and where the task that waited for it was stopped.
    pub ok: Option<bool>,
    pub progress: PreflightProgress,
    pub nodes: Vec<PreflightNode>,
    pub counts: FindingCounts,
    /// `nodes` in it are places of the list above. Empty while it goes on.
    pub findings: Vec<Finding>,
    pub differences: Vec<VersionDifference>,
    /// The shortest round trips in microseconds, from row to column; null where two do not reach each other, and where there
    /// was no time to try: those are `untried`.
    pub round_trips_us: Vec<Vec<Option<u64>>>,
    /// Row and column of the round trips that were not tried.
    #[serde(default)]
    #[schema(example = json!([[0, 3]]))]
    pub untried: Vec<[usize; 2]>,
    /// Bytes per second between two; null where nothing was measured.
    pub bytes_per_second: Vec<Vec<Option<u64>>>,
    /// By the place of the node, its interface at which all others get through; null where there is none.
    #[serde(default)]
    pub interfaces: Vec<Option<String>>,
}

/// An environment that takes part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreflightNode {
    pub environment: String,
    pub name: String,
    pub zone: Option<String>,
    /// `absent`, `waits`, `asked`, `takesPart`, `done`, `failed`, `silent` or `left`.
    #[schema(example = "takesPart")]
    pub state: String,
}
