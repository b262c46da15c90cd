//! What a launch rests on: names, ports, variables, and whether ranks can speak to each other at all.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::Reason;

/// This machine's own name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NameFacts {
    pub host: String,
    /// Empty where it does not resolve.
    pub addresses: Vec<IpAddr>,
}

/// The master's port on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortFacts {
    pub port: u16,
    /// Whether a person has chosen it.
    pub is_named: bool,
    pub is_free: bool,
    /// Who has it, as far as we may look.
    pub holder: Option<String>,
    /// Why it cannot be taken, where nobody has it.
    #[serde(default)]
    pub refusal: Option<Reason>,
}

/// The master that MASTER_ADDR names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MasterFacts {
    pub address: String,
    pub port: u16,
    pub reach: MasterReach,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MasterReach {
    /// The name is one of this machine.
    Here,
    Listens,
    /// The machine answers, but nothing listens at the port yet.
    Refuses,
    Silent(Reason),
    Unresolved,
}

/// Two ranks on the loopback that add numbers together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LoopbackFacts {
    #[serde(rename_all = "camelCase")]
    Added {
        bytes: u64,
        micros: u64,
        is_right: bool,
    },
    Failed(Reason),
}

/// The variables of a launch that are set here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LaunchVariables(pub BTreeMap<String, String>);

impl LaunchVariables {
    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}
