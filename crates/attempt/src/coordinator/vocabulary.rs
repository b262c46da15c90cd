//! What the coordinator is told, what it takes in and what it wants done.

use std::path::PathBuf;

use fermi_domain::checkpoint::ResumePlan;
use fermi_domain::failure::{Diagnosis, Traceback};
use fermi_domain::healing::RestartPolicy;
use fermi_domain::ladder::StopLadder;
use serde::{Deserialize, Serialize};

use crate::node_message::NodeReport;
use fermi_domain::event::RunEvent;

/// What the run was told to do.
#[derive(Clone, Debug)]
pub struct Policy {
    pub restarts: RestartPolicy,
    pub ladder: StopLadder,
    pub start_timeout_ms: Option<u64>,
    /// How long nodes are waited for, at the start and after one was lost.
    pub join_timeout_ms: u64,
    /// Whether other nodes may be there after a restart: those lost are not waited for, new ones are taken in.
    pub elastic: bool,
    /// Continue from the newest checkpoint already in the first attempt of this launch.
    pub resume: bool,
    /// Attempts that earlier launches made.
    pub attempts_before: u32,
}

/// A node of the run with its ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRanks {
    pub name: String,
    pub ranks: std::ops::Range<u32>,
    /// Whether it answers a survey of its checkpoints; a release that does not counts as one with a folder of its own.
    pub tells_checkpoints: bool,
}

/// How a node was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its link closed: its supervisor died, unless something between the machines has closed it.
    SupervisorDied,
    /// Its supervisor died when its lease from the coordinator must have ended.
    LeaseEnded,
    /// Nothing was heard of it for longer than the run allows.
    Silent,
    /// What came over its link was not sent so; its own supervisor ends what runs there when it sees the link closed.
    LinkForged,
}

/// A rank that ended badly, with what is known of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub diagnosis: Option<Diagnosis>,
    pub evidence: Vec<String>,
    pub traceback: Option<Traceback>,
    /// Where its log lies on its node; a node of an older release does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
}

/// What the coordinator takes in.
#[derive(Clone, Debug)]
pub enum RunInput {
    /// The first node, the coordinator's own, is ready.
    Begin,
    /// All nodes are there and ready: their names and ranks, in the order of node ranks.
    Assembled {
        nodes: Vec<NodeRanks>,
    },
    NodeLost {
        node: usize,
        loss: Loss,
        /// Until when its ranks may go on; the past where it is known that they have ended.
        may_run_until_ms: u64,
    },
    /// A node of an elastic run that has enough others wants to go, with this signal to its ranks.
    NodeLeaves {
        node: usize,
        signal: i32,
    },
    Reported {
        node: usize,
        report: NodeReport,
    },
    /// The user of this node asks for the end of the run.
    StopAsked {
        signal: i32,
    },
    KillAsked,
    /// Nothing but time has passed.
    TimePassed,
}

/// What the coordinator wants done, on all nodes that are there.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEffect {
    /// Wait for the nodes that are not there yet.
    Assemble,
    /// Ask every node what it has in its checkpoint folder, and whether that is the first node's.
    SurveyCheckpoints {
        attempt: u32,
    },
    StartRanks {
        attempt: u32,
        plan: ResumePlan,
    },
    SignalRanks {
        signal: i32,
    },
    KillRanks,
    CheckJoined,
    /// End every process that is left and read all output to its end.
    Sweep,
    Tell(RunEvent),
    /// The run is over. Nothing follows.
    Finish,
}
