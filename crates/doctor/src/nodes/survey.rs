//! What was found out about several nodes, as plain values for the checks.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use fermi_domain::language::Text;
use fermi_domain::preflight::PreflightEngine;

use super::message::Greeting;
use crate::facts::{MachineFacts, Reason};

/// Everything, by node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Survey {
    pub nnodes: usize,
    pub nodes: Vec<NodeSeen>,
    /// One row per node that measured; rows of nodes that did not are empty.
    pub pings: Vec<Vec<PingRow>>,
    pub transfers: Vec<Transfer>,
    pub sum: Option<SumSeen>,
    /// None where no engine was asked for.
    pub engine: Option<EngineSurvey>,
    /// None where none was asked about.
    pub folder: Option<FolderSurvey>,
    /// How long nodes were waited for.
    pub join_seconds: u64,
    pub master_port: u16,
}

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeSeen {
    pub node: usize,
    /// None of a node that never came.
    #[serde(skip)]
    pub greeting: Option<Greeting>,
    pub name: Option<String>,
    pub facts: Option<Box<MachineFacts>>,
    /// During which step it was lost.
    pub lost: Option<StepName>,
}

/// What was going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StepName {
    Facts,
    Ping,
    Transfer,
    AllReduce,
    Engine,
    Folder,
}

/// A folder that all nodes shall have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FolderSurvey {
    pub path: String,
    /// Why the first node could not leave a mark there.
    pub unmarked: Option<Text>,
    pub nodes: Vec<(usize, FolderSeen)>,
}

/// A folder as one node sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FolderSeen {
    #[serde(rename_all = "camelCase")]
    Found {
        /// Such as `ext4` or `nfs4`.
        file_system: Option<String>,
        entries: u64,
        bytes: u64,
        /// Whether everything in it was counted.
        is_whole: bool,
        /// Whether the first node's mark is there; None where there is none to look for.
        sees_mark: Option<bool>,
    },
    Failed(Reason),
    /// Nothing came back in this time.
    Late {
        seconds: u64,
    },
}

/// What a node found of one peer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PingRow {
    pub node: usize,
    pub paths: Vec<PathPing>,
    /// What came of a connection to the master's port there; None where it was not tried.
    pub master_port: Option<Reach>,
}

/// One address of a peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PathPing {
    /// Of the peer.
    pub interface: String,
    pub ip: IpAddr,
    pub reach: Reach,
    /// None where no answer came.
    pub pings: Option<Pings>,
}

/// What became of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reach {
    Connected,
    /// The machine answers, and nothing listens.
    Refused,
    /// Nothing came back.
    Silent,
    /// The kernel knows no way.
    NoRoute,
}

/// Questions and answers of one packet each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pings {
    pub count: u32,
    pub least_us: u64,
    pub median_us: u64,
    /// Packets that had to be sent again.
    pub repeated: u32,
    /// The peer's clock less this one's.
    pub skew_us: i64,
}

/// Bytes per second to and from a peer over one address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transfer {
    pub from: usize,
    pub to: usize,
    pub interface: String,
    pub ip: IpAddr,
    /// None where nothing arrived.
    pub there: Option<f64>,
    pub back: Option<f64>,
}

impl Transfer {
    /// The slower way.
    pub fn speed(&self) -> f64 {
        self.there.unwrap_or(0.0).min(self.back.unwrap_or(0.0))
    }
}

/// What one node says of the all-reduce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SumOutcome {
    #[serde(rename_all = "camelCase")]
    Added {
        micros: u64,
        is_right: bool,
        /// Of the bits of the result.
        digest: u64,
    },
    Failed(Reason),
}

/// The all-reduce as a whole, by node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SumSeen {
    pub bytes: u64,
    pub outcomes: Vec<(usize, Option<SumOutcome>)>,
    /// The same two at a time, where it failed with all.
    pub pairs: Vec<PairSum>,
}

/// Two nodes that have tried to add without the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PairSum {
    pub nodes: (usize, usize),
    pub is_right: bool,
}

impl SumOutcome {
    pub fn is_right(&self) -> bool {
        matches!(self, Self::Added { is_right: true, .. })
    }
}

impl SumSeen {
    pub fn is_right(&self) -> bool {
        self.outcomes.iter().all(|(_, outcome)| outcome.as_ref().is_some_and(SumOutcome::is_right))
    }
}

/// The engine's own all-reduce, by node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineSurvey {
    pub engine: PreflightEngine,
    /// `nccl` or `gloo`.
    pub backend: String,
    /// None of nodes that did not answer. Empty where it was not tried.
    pub outcomes: Vec<(usize, Option<EngineOutcome>)>,
    /// Nodes whose release does not know this step.
    pub outdated: Vec<usize>,
    /// The same two at a time, where it failed with all.
    pub pairs: Vec<PairSum>,
}

/// What one node says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EngineOutcome {
    #[serde(rename_all = "camelCase")]
    Added { devices: Vec<String>, micros: u64, is_right: bool },
    Failed {
        devices: Vec<String>,
        #[serde(flatten)]
        reason: Reason,
    },
    /// Its time was up at this stage.
    Late { devices: Vec<String>, stage: EngineStage, seconds: u64 },
}

/// How far an engine had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EngineStage {
    Import,
    Meet,
    Add,
}

impl EngineOutcome {
    pub fn is_right(&self) -> bool {
        matches!(self, Self::Added { is_right: true, .. })
    }

    pub fn failed(devices: Vec<String>, reason: Reason) -> Self {
        Self::Failed { devices, reason }
    }

    /// One that ends by itself says why; the network lets it wait.
    pub fn may_be_the_network(&self) -> bool {
        const MISSING: &str = "ModuleNotFoundError";
        match self {
            Self::Failed { reason, .. } => !reason.text().en.contains(MISSING),
            Self::Added { .. } | Self::Late { stage: EngineStage::Meet | EngineStage::Add, .. } => true,
            Self::Late { stage: EngineStage::Import, .. } => false,
        }
    }

    /// The devices that the engine sees there, as far as it came to say so.
    pub fn devices(&self) -> &[String] {
        match self {
            Self::Added { devices, .. } | Self::Failed { devices, .. } | Self::Late { devices, .. } => devices,
        }
    }
}

impl Survey {
    pub fn name(&self, node: usize) -> String {
        self.nodes.get(node).and_then(|it| it.name.clone()).unwrap_or_else(|| node.to_string())
    }

    /// Those that came and are still there.
    pub fn present(&self) -> Vec<usize> {
        self.nodes.iter().filter(|it| it.greeting.is_some() && it.lost.is_none()).map(|it| it.node).collect()
    }

    pub fn row(&self, from: usize, to: usize) -> Option<&PingRow> {
        self.pings.get(from)?.iter().find(|row| row.node == to)
    }

    /// From and to, where both were there and there was no time to try.
    pub fn untried(&self) -> Vec<(usize, usize)> {
        let present = self.present();
        let pairs = present.iter().flat_map(|from| present.iter().map(move |to| (*from, *to)));
        pairs.filter(|(from, to)| from != to && self.row(*from, *to).is_none()).collect()
    }

    /// The best that one node found of another.
    pub fn best(&self, from: usize, to: usize) -> Option<&Pings> {
        let paths = self.row(from, to)?.paths.iter().filter_map(|path| path.pings.as_ref());
        paths.min_by_key(|pings| pings.least_us)
    }

    /// The fastest transfer between two nodes, whoever asked for it.
    pub fn speed(&self, a: usize, b: usize) -> Option<f64> {
        let between = self.transfers.iter().filter(|it| (it.from, it.to) == (a, b) || (it.from, it.to) == (b, a));
        between.map(Transfer::speed).max_by(f64::total_cmp)
    }
}
