//! GPUs and their driver.

use fermi_hardware::gpu_health::GpuHealth;
use serde::{Deserialize, Serialize};

/// What the driver says, or why it says nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DriverFacts {
    Answers(GpuFacts),
    #[serde(rename_all = "camelCase")]
    Silent {
        /// NVIDIA's GPUs on the PCI bus.
        on_bus: usize,
        /// Whether this machine, or this container, has their device files.
        has_devices: bool,
        reason: String,
    },
}

/// What a driver that answers says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuFacts {
    pub driver: Option<String>,
    /// The newest CUDA that the driver can run.
    pub cuda: Option<String>,
    pub gpus: Vec<GpuHealth>,
}
