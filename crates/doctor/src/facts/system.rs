//! Limits of processes, and the clock.

use serde::{Deserialize, Serialize};

/// None means without limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LimitFacts {
    pub open_files: Option<u64>,
    pub open_files_hard: Option<u64>,
    pub processes: Option<u64>,
    pub locked_memory: Option<u64>,
    /// Of the cgroup, which containers and services have.
    pub cgroup_processes: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClockFacts {
    /// Whether the kernel believes that something keeps the clock right; None where it may not be asked.
    pub is_synchronized: Option<bool>,
    /// The kernel's bound of the error, in microseconds.
    pub error_us: Option<u64>,
}
