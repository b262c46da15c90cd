//! What nodes say to each other.

use std::net::IpAddr;

use fermi_domain::language::Text;
use fermi_domain::preflight::PreflightEngine;
use serde::{Deserialize, Serialize};

use super::survey::{EngineOutcome, FolderSeen, PingRow, SumOutcome, Transfer};
use crate::facts::MachineFacts;

/// The first words of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Greeting {
    pub node_rank: usize,
    pub nnodes: usize,
    pub name: String,
    /// Where its responder listens.
    pub port: u16,
    /// Whether something of ours answers at the master's port too.
    pub has_master_port: bool,
    pub addresses: Vec<Address>,
    /// What was not said before, and what proves that it was asked to come; empty where nodes were started by hand.
    #[serde(default)]
    pub fresh: String,
    #[serde(default)]
    pub proof: String,
    /// Whether it knows [`NodeOrder::Engine`].
    #[serde(default)]
    pub knows_engines: bool,
    /// Whether it gives up an [`NodeOrder::AllReduce`] in the time that is given.
    #[serde(default)]
    pub knows_pairs: bool,
}

/// An address at which a node may be found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    pub interface: String,
    pub ip: IpAddr,
}

/// A node as the others are told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Peer {
    pub node: usize,
    pub port: u16,
    pub has_master_port: bool,
    pub addresses: Vec<Address>,
}

/// What the first node asks of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeOrder {
    /// The first word to a node that has proved itself, proving the same of the first.
    Known {
        proof: String,
    },
    Facts,
    #[serde(rename_all = "camelCase")]
    Ping {
        peers: Vec<Peer>,
        master_port: u16,
    },
    /// To and from one peer, over each of these addresses.
    Transfer {
        peer: Peer,
    },
    #[serde(rename_all = "camelCase")]
    AllReduce {
        id: String,
        port: u16,
        rank: usize,
        world_size: usize,
        master_addr: String,
        /// How long it may take; none has the usual time.
        #[serde(default)]
        patience_ms: Option<u64>,
    },
    /// The engine adds over all nodes by its own means; rank 0 lets the others in at the port.
    #[serde(rename_all = "camelCase")]
    Engine {
        engine: PreflightEngine,
        backend: String,
        rank: usize,
        world_size: usize,
        master_addr: String,
        port: u16,
        patience_ms: u64,
    },
    /// What this folder is there, and whether this file lies in it.
    Folder {
        path: String,
        mark: Option<String>,
    },
    /// It is over. What was found that concerns this node, and how many errors there are in all.
    Done {
        errors: usize,
        said: Vec<Text>,
    },
    Refused {
        reason: Text,
    },
}

/// What a node answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeAnswer {
    /// None where the look at the machine has not come to an end.
    Facts(Option<Box<MachineFacts>>),
    Pings(Vec<PingRow>),
    Transfers(Vec<Transfer>),
    Sum(SumOutcome),
    Engine(EngineOutcome),
    Folder(FolderSeen),
}
