//! What the coordinator is told, what it hears and what it wants.

use fermi_domain::exit::Exit;
use fermi_domain::failure::{Diagnosis, Traceback};
use fermi_domain::healing::RestartPolicy;
use fermi_domain::ladder::StopLadder;
use serde::{Deserialize, Serialize};

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
pub struct Seat {
    pub name: String,
    pub ranks: std::ops::Range<u32>,
}

/// How a node was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its supervisor died, and with it all that ran there.
    SupervisorDied,
    /// Nothing was heard of it for longer than the run allows.
    Silent,
}

/// A rank that ended badly, with what is known of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub diagnosis: Option<Diagnosis>,
    pub evidence: Vec<String>,
    pub traceback: Option<Traceback>,
}

/// What the machine hears.
#[derive(Clone, Debug)]
pub enum Happening {
    /// The first node, the coordinator's own, is ready.
    Begin,
    /// All nodes have a seat and are ready: their names and ranks, in the order of node ranks.
    Assembled {
        seats: Vec<Seat>,
    },
    NodeLost {
        node: usize,
        loss: Loss,
    },
    RankEnded {
        rank: u32,
        exit: Exit,
        failure: Box<Failure>,
        /// Whether the attempt has reported a step by now.
        made_progress: bool,
    },
    /// Answer to [`Action::CheckJoined`]: the ranks of that node of which nothing was heard.
    NotJoined {
        node: usize,
        missing: Vec<u32>,
    },
    StopAsked {
        signal: i32,
    },
    KillAsked,
    /// Answer to [`Action::Sweep`]: nothing of the attempt is left on that node.
    Swept {
        node: usize,
    },
    /// Nothing but time has passed.
    TimePassed,
}

/// What the machine wants done.
///
/// What is said to ranks is meant for all nodes that are there.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Wait for the nodes that are not there yet.
    Assemble,
    StartRanks {
        attempt: u32,
        resume: bool,
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
