//! What happens in a run, as it is written to the journal, sent to the launcher and printed by `--json`.
//!
//! These shapes are public: fields are added, never renamed or removed within a version.

use std::path::PathBuf;

use crate::device_fault::DeviceFaultClass;
use crate::exit::Exit;
use crate::hang::{Frame, HangKind, StackGroup};
use crate::healing::GiveUp;
use crate::healing::keeper::KeeperPause;
use crate::healing::spent::Kept;
use crate::healing::warm::ColdReason;
use crate::language::{Setting, Text};
use crate::ledger::Account;
use crate::pulse::{ParkedDevice, Phase};
use crate::start_up::RanksWait;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

pub const VERSION: u32 = 1;

/// One event with its place in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Version of the event format.
    pub v: u32,
    /// Counts from 1 in each run.
    pub seq: u64,
    /// Unix milliseconds.
    pub time_ms: u64,
    #[serde(flatten)]
    pub event: RunEvent,
}

/// The story of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all_fields = "camelCase")]
pub enum RunEvent {
    #[serde(rename = "run.started")]
    RunStarted {
        run_id: String,
        world_size: u32,
        folder: Option<PathBuf>,
        warden_pid: i32,
        supervisor_pid: i32,
        /// Rank 0's port, on the node that coordinates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        master_port: Option<u16>,
    },
    /// Nodes are still missing; said now and then.
    #[serde(rename = "nodes.waiting")]
    Waiting { text: Text },
    #[serde(rename = "node.joined")]
    NodeJoined { name: String, address: String, missing: u32 },
    /// This node has been taken in by the coordinator.
    #[serde(rename = "node.linked")]
    NodeLinked { address: String },
    #[serde(rename = "node.refused")]
    NodeRefused { name: String, address: String, text: Text },
    /// Nothing was heard of a node for a while; it is not given up yet.
    #[serde(rename = "node.suspect")]
    NodeSuspect { name: String, silent_ms: u64 },
    #[serde(rename = "node.back")]
    NodeBack { name: String },
    #[serde(rename = "node.lost")]
    NodeLost { name: String, text: Text },
    /// The user of a node of an elastic run has stopped it there; the others go on without it.
    #[serde(rename = "node.leaves")]
    NodeLeaves { name: String, signal: i32 },
    /// What the nodes found in their checkpoint folders, and what follows for the attempt that begins.
    #[serde(rename = "checkpoints.found")]
    CheckpointsFound {
        attempt: u32,
        /// How many nodes were asked.
        nodes: u32,
        /// Whether all have one folder.
        shared: bool,
        /// What FERMI_RESUME says.
        resume: bool,
        /// What FERMI_RESUME_STEP says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<u64>,
        text: Text,
        /// What would make it better, for front ends to spell.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        settings: Vec<Setting>,
    },
    /// A newer generation or attempt of the same run writes these checkpoints; the ranks here were ended.
    #[serde(rename = "checkpoints.superseded")]
    CheckpointsSuperseded { attempt: u32, generation: u64, text: Text },
    /// Another run that has not ended writes into the same folder.
    #[serde(rename = "checkpoints.foreign")]
    CheckpointsForeign { attempt: u32, owner: String, text: Text },
    #[serde(rename = "attempt.started")]
    AttemptStarted { attempt: u32, master_addr: String, master_port: u16, resume: bool },
    #[serde(rename = "rank.started")]
    RankStarted { attempt: u32, rank: u32, local_rank: u32, pid: i32 },
    #[serde(rename = "rank.exited")]
    RankExited { attempt: u32, rank: u32, local_rank: u32, pid: i32, exit: Exit },
    /// An interpreter stands ready to become this rank at the next restart (`--warm on`).
    #[serde(rename = "rank.parked")]
    RankParked {
        attempt: u32,
        rank: u32,
        local_rank: u32,
        pid: i32,
        /// How many modules it has imported, and how many of the rank's it leaves to the script.
        modules: u64,
        left_out: u64,
        /// How long that took.
        took_ms: u64,
        /// What became of the rank's GPU under `--warm cuda`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<ParkedDevice>,
    },
    /// These ranks began from their parked interpreters.
    #[serde(rename = "ranks.released")]
    RanksReleased { attempt: u32, ranks: Vec<u32> },
    /// These ranks began from scratch although the run has `--warm on`.
    #[serde(rename = "ranks.cold")]
    RanksCold { attempt: u32, ranks: Vec<u32>, reason: ColdReason, text: Text },
    /// Something went wrong in the hook of a rank, which went on without it.
    #[serde(rename = "hook.trouble")]
    HookTrouble { attempt: u32, rank: u32, error: String },
    /// A GPU of this node has reported an error.
    #[serde(rename = "device.fault")]
    DeviceFault {
        attempt: u32,
        /// Its number in the machine.
        gpu: u32,
        xid: u64,
        class: DeviceFaultClass,
        /// The ranks that use it, as far as that is known.
        ranks: Vec<u32>,
        text: Box<Text>,
        hint: Box<Text>,
    },
    /// The ranks of this node have all come to this phase. Told in the first step and not again.
    #[serde(rename = "ranks.phase")]
    RanksPhase {
        attempt: u32,
        phase: Phase,
        /// Unix milliseconds.
        since_ms: u64,
    },
    /// A rank of this node has reported a step. Told once in an attempt.
    #[serde(rename = "steps.reported")]
    StepsReported { attempt: u32 },
    /// Ranks that have joined wait for others, while the attempt starts.
    #[serde(rename = "ranks.waiting")]
    RanksWaiting {
        attempt: u32,
        /// For how long somebody waits.
        waited_ms: u64,
        #[serde(flatten)]
        wait: RanksWait,
        text: Box<Text>,
    },
    /// Nobody waits for others any more, after it was told that somebody did.
    #[serde(rename = "ranks.met")]
    RanksMet { attempt: u32, waited_ms: u64 },
    /// What the ranks of this node have counted, told when the attempt has ended.
    #[serde(rename = "attempt.measured")]
    AttemptMeasured {
        attempt: u32,
        /// Optimizer steps, and how many of them the last checkpoint has.
        steps: u64,
        saved_steps: u64,
        /// How long they stood still while checkpoints were written.
        saving_ms: u64,
        /// How long the others waited in collectives for the slowest of them.
        #[serde(default, skip_serializing_if = "is_zero")]
        slow_ms: u64,
    },
    /// A keeper stands still, and cannot do what it is there for: the warden, or, as it goes on, the supervisor itself.
    #[serde(rename = "keeper.stopped")]
    KeeperStopped { pid: i32, pause: KeeperPause, text: Text },
    /// Nothing has moved for longer than usual, and these ranks seem to be why.
    #[serde(rename = "hang.suspected")]
    HangSuspected { attempt: u32, since_ms: u64, ranks: Vec<u32> },
    #[serde(rename = "hang.verdict")]
    HangVerdict {
        attempt: u32,
        /// Unix milliseconds of the last progress.
        since_ms: u64,
        kind: HangKind,
        ranks: Vec<u32>,
        /// Where the first of them stands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Box<Frame>>,
        /// What all ranks do, those that do the same together.
        stacks: Vec<StackGroup>,
        /// The file with the stacks of all threads.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<PathBuf>,
        text: Box<Text>,
        hint: Box<Text>,
    },
    /// What the ranks of this node do, because somebody has asked.
    #[serde(rename = "stacks.taken")]
    StacksTaken {
        attempt: u32,
        /// Those that do the same together.
        stacks: Vec<StackGroup>,
        /// Ranks that gave no stack: without the hook, stopped, or not at Python's hand.
        silent: Vec<u32>,
    },
    /// Things move again.
    #[serde(rename = "hang.passed")]
    HangPassed { attempt: u32, since_ms: u64, lasted_ms: u64 },
    /// Where the time of the run has gone, as this node has seen it; right before its end.
    #[serde(rename = "run.ledger")]
    RunLedger {
        #[serde(flatten)]
        account: Account,
    },
    #[serde(rename = "attempt.stopping")]
    Stopping { attempt: u32, signal: i32, grace_ms: u64, reason: StopCause },
    #[serde(rename = "attempt.killing")]
    Killing { attempt: u32 },
    #[serde(rename = "attempt.swept")]
    Swept {
        attempt: u32,
        killed: usize,
        survivors: Vec<i32>,
        /// The command lines of some that ranks had left although all of them ended well.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
        /// Spent processes whose memory the kernel still frees beside the next attempt.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        freeing: Vec<i32>,
        /// Why such were waited for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kept: Option<Kept>,
    },
    #[serde(rename = "output.lost")]
    OutputLost { attempt: u32, bytes: u64 },
    /// The disk did not take so many lines of the journal before this one.
    #[serde(rename = "journal.lost")]
    JournalLost { lines: u64 },
    /// The reader of the standard streams did not take these lines; the logs in the folder have them.
    #[serde(rename = "terminal.dropped")]
    TerminalDropped {
        attempt: u32,
        lines: u64,
        bytes: u64,
        folder: Option<PathBuf>,
        /// Why they could not be written, such as a full disk; none where the reader was too slow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    #[serde(rename = "attempt.failed")]
    AttemptFailed { attempt: u32, verdict: Box<Verdict> },
    #[serde(rename = "restart.scheduled")]
    RestartScheduled { attempt: u32, after_ms: u64, restarts_used: u32, max_restarts: u32 },
    /// Something of the attempt before may still live: the next one waits until it cannot.
    #[serde(rename = "restart.heldBack")]
    RestartHeldBack { attempt: u32, at_most_ms: u64, text: Text },
    #[serde(rename = "restart.refused")]
    RestartRefused { reason: GiveUp, text: Text },
    #[serde(rename = "run.ended")]
    RunEnded { outcome: Outcome, attempts: u32, verdict: Box<Verdict> },
    /// The run could not begin; nothing was started.
    #[serde(rename = "run.refused")]
    Refused {
        message: Text,
        /// As a terminal shows it.
        hint: Text,
        /// What the hint names, for readers elsewhere; older supervisors do not say.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        settings: Vec<Setting>,
    },
}

impl RunEvent {
    /// Whether the result of the run would not be known without it: such lines come first where the disk has little room.
    pub fn is_result(&self) -> bool {
        matches!(
            self,
            Self::RankExited { .. }
                | Self::AttemptStarted { .. }
                | Self::AttemptFailed { .. }
                | Self::RunEnded { .. }
                | Self::Refused { .. }
        )
    }
}

/// Why ranks are being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopCause {
    Asked,
    Failure,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    Succeeded,
    Failed,
    /// A user or a program asked, with this signal.
    Stopped {
        signal: i32,
    },
}

fn is_zero(ms: &u64) -> bool {
    *ms == 0
}
