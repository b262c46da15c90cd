//! The cluster at a glance.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Event, TaskRow};

/// The answer to `GET /overview`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// By status, such as `running`; every status is there.
    pub tasks: BTreeMap<String, u64>,
    pub environments: EnvironmentCounts,
    pub workers: WorkerCounts,
    pub gpus: WorkerCounts,
    /// The newest tasks that are not over.
    pub active_tasks: Vec<TaskRow>,
    /// The last events, newest first.
    pub events: Vec<Event>,
}

/// Environments by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentCounts {
    pub running: u32,
    pub busy: u32,
    pub suspect: u32,
    pub offline: u32,
    #[serde(default)]
    pub drained: u32,
    #[serde(default)]
    pub lost: u32,
    pub total: u32,
}

/// How many there are, and how many are taken. Those of offline environments are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerCounts {
    pub total: u32,
    pub busy: u32,
    pub free: u32,
}
