//! What the nodes of a group find when they are asked to look for their master.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What one node has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// The master's name, looked up on this node.
    pub name: NameFound,
    /// The master under the address that it came from; none where no address was given.
    #[serde(default)]
    pub address: Option<Reach>,
    /// The master's port, on the master's node alone.
    #[serde(default)]
    pub port: Option<PortFound>,
}

/// Whether a name means something on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NameFound {
    /// It has addresses, and this is what a connection to the master's port showed.
    Resolved(Reach),
    Unresolved,
}

/// What became of a connection to the master's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reach {
    /// The machine answers, be it that nothing listens there yet.
    Answers,
    /// Nothing came back: a firewall, or no such machine.
    Silent,
}

/// Whether the master's port can be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PortFound {
    Free,
    /// Somebody has it; what is known of him.
    Taken(String),
}

/// What the nodes have found, by their names; none of those that did not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probes(pub BTreeMap<String, Option<Probe>>);

impl Probes {
    /// The nodes of which something holds.
    pub fn nodes(&self, holds: impl Fn(&Probe) -> bool) -> Vec<&str> {
        let found = self.0.iter().filter_map(|(node, probe)| Some((node, probe.as_ref()?)));
        found.filter(|(_, probe)| holds(probe)).map(|(node, _)| node.as_str()).collect()
    }

    /// The nodes that did not answer.
    pub fn silent(&self) -> Vec<&str> {
        self.0.iter().filter(|(_, probe)| probe.is_none()).map(|(node, _)| node.as_str()).collect()
    }

    /// Whether every node reaches the master by its name, so that the name can be what ranks are told.
    pub fn has_proven_name(&self) -> bool {
        let reaches =
            |probe: &Option<Probe>| probe.as_ref().is_some_and(|it| it.name == NameFound::Resolved(Reach::Answers));
        !self.0.is_empty() && self.0.values().all(reaches)
    }
}
