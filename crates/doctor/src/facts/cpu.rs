//! CPUs and memory.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CpuFacts {
    /// That this process may use.
    pub cores: usize,
    pub numa_nodes: usize,
    pub model: Option<String>,
    /// How many cores' worth of time a container grants.
    pub quota: Option<f64>,
    pub governor: Option<String>,
    /// Processes that want to run, over the last minute.
    pub load: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryFacts {
    pub total: u64,
    pub used: u64,
    /// None where there is no /dev/shm.
    pub shared: Option<SharedMemory>,
}

/// What processes of one machine exchange batches through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedMemory {
    pub total: u64,
    pub free: u64,
    pub is_writable: bool,
}
