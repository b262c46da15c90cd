//! Why a node gets no ranks: what is wrong, and what to set otherwise.

use fermi_domain::language::{Explained, Hint, Setting, Text};
use serde::{Deserialize, Serialize};

use crate::greeting::{LINK_VERSION, NodeCount};
use crate::strangers_words::legible;

/// Why a node gets no ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum JoinRefusal {
    OtherVersion {
        ours: String,
        theirs: String,
    },
    OtherRun {
        ours: String,
        theirs: String,
    },
    WrongSecret,
    /// It is of a release that sends the secret in clear and cannot prove that it knows it.
    ProvesNothing {
        ours: String,
        theirs: String,
    },
    #[serde(rename = "seatTaken")]
    NodeRankTaken {
        node_rank: u32,
        by: String,
    },
    #[serde(rename = "noSuchSeat")]
    NoSuchNodeRank {
        node_rank: u32,
        nodes: u32,
    },
    Full {
        nodes: u32,
    },
    OtherNodeCount {
        ours: NodeCount,
        theirs: NodeCount,
    },
    /// Another time after which a node that is silent is lost.
    OtherPatience {
        ours_ms: u64,
        theirs_ms: u64,
    },
    NoRanks,
    TooManyRanks {
        ranks: u32,
        most: u32,
    },
}

impl JoinRefusal {
    /// What the user of the refused node would set differently.
    pub fn settings(&self) -> Vec<Setting> {
        match self {
            Self::OtherRun { .. } => vec![Setting::RendezvousId, Setting::MasterPort],
            Self::WrongSecret => vec![Setting::RendezvousSecret],
            Self::NodeRankTaken { .. } | Self::NoSuchNodeRank { .. } => vec![Setting::NodeRank],
            Self::Full { .. } | Self::OtherNodeCount { .. } => vec![Setting::Nodes],
            Self::OtherPatience { .. } => vec![Setting::NodeLostAfter],
            Self::OtherVersion { .. } | Self::ProvesNothing { .. } => Vec::new(),
            Self::NoRanks | Self::TooManyRanks { .. } => Vec::new(),
        }
    }

    /// The same with words of the other side that people may be told.
    pub fn legible(self) -> Self {
        match self {
            Self::OtherVersion { ours, theirs } => {
                Self::OtherVersion { ours: legible(&ours), theirs: legible(&theirs) }
            }
            Self::OtherRun { ours, theirs } => Self::OtherRun { ours: legible(&ours), theirs: legible(&theirs) },
            Self::ProvesNothing { ours, theirs } => {
                Self::ProvesNothing { ours: legible(&ours), theirs: legible(&theirs) }
            }
            Self::NodeRankTaken { node_rank, by } => Self::NodeRankTaken { node_rank, by: legible(&by) },
            Self::WrongSecret | Self::NoSuchNodeRank { .. } | Self::Full { .. } => self,
            Self::OtherNodeCount { .. } | Self::OtherPatience { .. } => self,
            Self::NoRanks | Self::TooManyRanks { .. } => self,
        }
    }

    /// The same as a node that speaks this version can read it.
    pub fn as_known_to(self, version: u32) -> Self {
        match self {
            Self::ProvesNothing { ours, theirs } if version < LINK_VERSION => Self::OtherVersion { ours, theirs },
            known => known,
        }
    }
}

impl Explained for JoinRefusal {
    fn id(&self) -> &'static str {
        "node_refused"
    }

    fn text(&self) -> Text {
        match self {
            Self::OtherVersion { ours, theirs } => Text::new(
                format!(
                    "版本相差太大：主节点是 fermi {ours}，只接受连接协议相同或低一个版本的节点，本节点是 fermi {theirs}；请在所有节点安装同一版本"
                ),
                format!(
                    "versions differ too much: the first node runs fermi {ours}, which takes in nodes of its own link version and the one before, this one runs fermi {theirs}; install the same on all nodes"
                ),
            ),
            Self::OtherRun { ours, theirs } => Text::new(
                format!("该地址属于另一个任务：那里在等待 “{ours}”，而本节点要加入 “{theirs}”"),
                format!("another run waits at this address: it is '{ours}', this node wants '{theirs}'"),
            ),
            Self::WrongSecret => Text::new(
                "集合口令与主节点不一致：两边设置的不同，或者只有一边设置了",
                "the rendezvous secret is not that of the first node: the two differ, or only one of them has one",
            ),
            Self::ProvesNothing { ours, theirs } => Text::new(
                format!(
                    "该节点的 fermi {theirs} 会明文发送集合口令，无法证明自己知道口令；请把它更新到主节点的版本（fermi {ours}）"
                ),
                format!(
                    "that node's fermi {theirs} sends the rendezvous secret in clear and cannot prove that it knows it; update fermi there to that of the first node ({ours})"
                ),
            ),
            Self::NodeRankTaken { node_rank, by } => Text::new(
                format!("节点编号 {node_rank} 已由 {by} 使用；每个节点要用不同的编号"),
                format!("node rank {node_rank} is taken by {by}; each node needs its own"),
            ),
            Self::NoSuchNodeRank { node_rank, nodes } => Text::new(
                format!("节点编号 {node_rank} 超出范围：共 {nodes} 个节点，从 0 开始"),
                format!("node rank {node_rank} does not exist: there are {nodes} nodes, counted from 0"),
            ),
            Self::Full { nodes } => Text::new(
                format!("{nodes} 个节点已经到齐；节点数应在各处一致，也许已有同一任务在运行"),
                format!(
                    "all {nodes} nodes are there already; their number must be the same everywhere, or a second run uses this address"
                ),
            ),
            Self::OtherNodeCount { ours, theirs } => Text::new(
                format!("节点数不一致：主节点为 {ours}，要加入的节点为 {theirs}；各节点必须相同"),
                format!(
                    "the number of nodes differs: it is {ours} on the first node and {theirs} on the one that joins, and must be the same everywhere"
                ),
            ),
            Self::OtherPatience { ours_ms, theirs_ms } => {
                let (ours, theirs) = (seconds(*ours_ms), seconds(*theirs_ms));
                Text::new(
                    format!(
                        "节点失联时限不一致：主节点为 {ours} 秒，要加入的节点为 {theirs} 秒；节点数可变的运行中各节点必须相同"
                    ),
                    format!(
                        "the time after which a silent node is lost differs: it is {ours} s on the first node and {theirs} s on the one that joins, and must be the same everywhere in a run with a range of nodes"
                    ),
                )
            }
            Self::NoRanks => Text::new("该节点没有 rank", "that node has no ranks"),
            Self::TooManyRanks { ranks, most } => Text::new(
                format!("该节点要带来 {ranks} 个 rank，每个节点至多 {most} 个"),
                format!("that node would bring {ranks} ranks; a node has {most} at most"),
            ),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Hint::check(&self.settings())
    }
}

/// As people write it: `15`, or `0.5`.
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}
