//! Network interfaces, InfiniBand, and what filters packets.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkFacts {
    pub interfaces: Vec<Interface>,
    pub infiniband: Vec<InfinibandPort>,
    /// Whether the module is loaded through which InfiniBand reaches the memory of GPUs.
    pub has_peer_memory: bool,
}

/// All but the loopback.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    pub name: String,
    pub is_up: bool,
    /// Whether a device is behind it, its own or that of a port of it; tunnels and bridges between containers have none.
    pub is_physical: bool,
    #[serde(default)]
    pub is_bridge: bool,
    /// Megabits per second, where the driver says it.
    pub speed: Option<u64>,
    pub mtu: u32,
    pub addresses: Vec<IpAddr>,
    pub received: u64,
    /// Packets that came damaged.
    pub damaged: u64,
}

impl Interface {
    /// A bridge without a network card, such as `docker0`: what it joins is on this machine.
    pub fn is_inner(&self) -> bool {
        self.is_bridge && !self.is_physical
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InfinibandPort {
    /// Such as `mlx5_0/1`.
    pub name: String,
    /// Such as `ACTIVE`.
    pub state: String,
    /// Such as `200 Gb/sec (4X HDR)`.
    pub rate: String,
    /// `InfiniBand` or `Ethernet`.
    pub layer: String,
}

/// What might keep other nodes out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FirewallFacts {
    pub has_ufw: bool,
    pub has_firewalld: bool,
    /// Chains of incoming packets that drop what no rule accepts.
    pub closed_chains: Vec<String>,
    /// Rules among incoming packets that drop or reject.
    pub refusing_rules: Vec<String>,
    /// False where the rules may not be read, which takes the administrator.
    pub are_rules_readable: bool,
}
