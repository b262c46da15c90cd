//! Environments.

use std::collections::BTreeMap;

use fermi_domain::environment::{EnvironmentKind, EnvironmentStatus, Gpus, Versions};
use fermi_domain::language::Text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A place where ranks can run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    #[schema(example = "env-001")]
    pub id: String,
    pub name: String,
    pub kind: EnvironmentKind,
    pub kind_text: Text,
    pub status: EnvironmentStatus,
    pub status_text: Text,
    pub zone: Option<String>,
    pub image: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// Where other nodes reach it.
    pub address: Option<String>,
    /// The memory of a GPU is in bytes.
    pub gpus: Vec<Gpus>,
    pub gpu_count: u32,
    /// The model of its GPUs, such as `A100`; several are joined by commas; null without GPUs.
    pub gpu_type: Option<String>,
    pub cpu_cores: u32,
    /// In whole GiB.
    pub memory: u64,
    /// Its resources were written down by somebody, not measured.
    pub declared: bool,
    pub versions: Versions,
    pub workers: Vec<Worker>,
    pub workers_free: u32,
    /// Since its agent was last heard; null when it never was since the server started.
    pub heartbeat_age_ms: Option<u64>,
    /// Unix milliseconds: since when its machine, or its agent, is up.
    pub up_since: Option<u64>,
    /// What its machine does now.
    pub machine: Option<MachineNow>,
    pub gpu_samples: Vec<GpuNow>,
}

/// A slot in which one rank runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    #[schema(example = "gn6-0")]
    pub id: String,
    pub index: u32,
    pub gpu: Option<u32>,
    /// The task that holds it.
    pub task_id: Option<String>,
}

/// The last sample of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineNow {
    /// Share of all CPUs, 0 to 1.
    pub cpu: f32,
    /// In bytes.
    pub memory_used: u64,
    pub memory_total: u64,
    /// Bytes in the last second, loopback left out.
    pub received: u64,
    pub sent: u64,
}

/// The last sample of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GpuNow {
    pub index: u32,
    /// 0 to 1.
    pub use_share: f32,
    /// In bytes.
    pub memory_used: u64,
    pub memory_total: u64,
    pub temperature: Option<f32>,
    pub power_watts: Option<f32>,
}

/// The answer to `GET /environments/{id}/metrics`: what the server remembers, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentMetrics {
    pub points: Vec<MachinePoint>,
}

/// One second of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachinePoint {
    /// Unix milliseconds.
    pub time: u64,
    pub machine: MachineNow,
    pub gpus: Vec<GpuNow>,
}
