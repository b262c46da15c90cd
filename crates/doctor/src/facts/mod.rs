//! What can be known of a machine, as values that travel between nodes.
//!
//! Fields are added, never renamed: nodes of two releases may compare each other.

mod cpu;
mod disk;
mod gpu;
mod launch;
mod network;
mod python;
mod reason;
mod system;

pub use cpu::{CpuFacts, MemoryFacts, SharedMemory};
pub use disk::{DiskFacts, WriteTest};
pub use gpu::{DriverFacts, GpuFacts};
pub use launch::{LaunchVariables, LoopbackFacts, MasterFacts, MasterReach, NameFacts, PortFacts};
pub use network::{FirewallFacts, InfinibandPort, Interface, NetworkFacts};
pub use python::{EngineAnswer, JaxFacts, PythonFacts, TorchFacts};
pub use reason::Reason;
pub use system::{ClockFacts, LimitFacts};

use serde::{Deserialize, Serialize};

/// What a step has brought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Seen<T> {
    Known(T),
    /// Nothing came back in this time.
    Late {
        seconds: u64,
    },
}

impl<T> Seen<T> {
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(facts) => Some(facts),
            Self::Late { .. } => None,
        }
    }
}

/// Everything that is known of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineFacts {
    pub host: String,
    pub fermi: String,
    pub kernel: String,
    pub gpus: Seen<DriverFacts>,
    pub cpu: Seen<CpuFacts>,
    pub memory: Seen<MemoryFacts>,
    pub limits: Seen<LimitFacts>,
    pub disk: Seen<DiskFacts>,
    pub clock: Seen<ClockFacts>,
    pub network: Seen<NetworkFacts>,
    pub firewall: Seen<FirewallFacts>,
    pub name: Seen<NameFacts>,
    pub port: Seen<PortFacts>,
    /// The master that the environment names; None where it names none.
    pub master: Seen<Option<MasterFacts>>,
    pub loopback: Seen<LoopbackFacts>,
    pub launch: LaunchVariables,
    /// None where there is no Python.
    pub python: Seen<Option<PythonFacts>>,
}
