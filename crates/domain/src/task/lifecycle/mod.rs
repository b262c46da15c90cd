//! The lifecycle of a task on the server: what happens to it, what that makes of it, and what its nodes shall do.
//!
//! [`Task::apply`] takes one [`TaskInput`] and changes the task; [`Task::desired_states`] says what is wanted of each node
//! as things stand. Both are plain: the node reconciler may carry desired states out as often as it likes. The change
//! itself is a [`transition::Transition`]; what the journals of its nodes tell is in [`journal`].

mod end;
mod journal;
mod lost_result;
mod put_back;
#[cfg(test)]
mod tests;
mod transition;
mod waiting;

pub use end::TaskEnd;
pub use waiting::{SilentMachine, waits_for_machine};

use serde::{Deserialize, Serialize};

use self::transition::Transition;
use super::{NodeRun, NodeRunState, RunKey, StopIntent, Task};
use crate::{
    event::RunEvent,
    exit::Exit,
    hang::HangNote,
    healing::LONGEST_BACK_OFF_MS,
    ids::{EnvironmentId, NodeRank},
    language::{StoredMessage, Text},
    phase::TaskPhase,
    rank_map::RankMap,
    verdict::LeaseHolder,
};

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskInput {
    /// It waits for workers that others hold, or for an environment that is not there.
    MustWait {
        reason: Text,
    },
    /// It has come to be the first in line: workers are kept for it.
    FirstInLine,
    /// It has waited for longer than operators find usual.
    WaitsLong {
        /// What it waits for.
        reason: Text,
    },
    /// Its workers are leased.
    Placed {
        rank_map: RankMap,
    },
    /// A line of a node's journal.
    Journal {
        node: NodeRank,
        /// When it happened, as far as that can be believed.
        time_ms: u64,
        event: Box<RunEvent>,
    },
    /// How a node's run ended, by the record beside its journal, which may lack that line.
    Ended {
        node: NodeRank,
        event: Box<RunEvent>,
    },
    /// The nodes of this launch have found over which interface they reach each other.
    InterfacesFound {
        /// Each node's own, in the order of nodes.
        interfaces: Vec<String>,
        text: Text,
    },
    /// An agent could not start its part.
    LaunchFailed {
        node: NodeRank,
        message: StoredMessage,
    },
    /// The keepers of a node's run could not start: nothing of it has begun there.
    NotStarted {
        node: NodeRank,
        why: Text,
    },
    /// No process of a node's run is left.
    Gone {
        node: NodeRank,
        /// Whose lease ended it, where one did.
        lease: Option<LeaseHolder>,
        /// Whether it was brought to its end, and had a result.
        in_order: bool,
    },
    /// Nothing is left of a node's run, whose end may have been told to a state of the database that was lost.
    Forgotten {
        node: NodeRank,
    },
    /// The wall clock of the server was set: ahead by so much, or back where it is negative.
    ClockSet {
        by_ms: i64,
    },
    /// The machine of a node will not come back, or comes back with nothing running: an operator said so, or its lease ran
    /// out.
    NodeLost {
        node: NodeRank,
    },
    /// A later launch than the known one runs: an older state of the database was put back.
    MovedOn {
        run: RunKey,
    },
    /// The first node's environment has been out of reach for so long that the other nodes do not wait for it.
    CoordinatorUnreachable,
    /// A user asks for its end.
    StopAsked(StopIntent),
    /// A user asks for another launch of a task that is over.
    RestartAsked,
    TimePassed,
    /// It should have come up by now.
    StartOverdue,
    /// It should have ended by now: a supervisor of it hangs.
    StopOverdue,
    /// It has had its workers for as long as it may.
    TimeLimitReached,
    /// It gives its workers to a task of higher priority.
    GiveWay {
        reason: Text,
    },
    /// It should have given way by now.
    GiveWayOverdue,
}

impl TaskInput {
    /// No process of a node's run is left, and it is not known how it ended.
    pub fn gone(node: NodeRank) -> Self {
        Self::Gone { node, lease: None, in_order: false }
    }
}

/// What a task's log says about a [`TaskInput`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventText {
    /// A stable name, such as `task.running`.
    pub kind: &'static str,
    pub text: Text,
    pub detail: Option<EventDetail>,
}

/// What an event says to programs, beyond its sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventDetail {
    /// The task's phase has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseChange>,
    /// Who hangs, and where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hang: Option<HangNote>,
    /// The task is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<TaskEnd>,
}

/// From one phase to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PhaseChange {
    pub from: TaskPhase,
    pub to: TaskPhase,
}

impl EventText {
    /// A sentence alone.
    pub fn said(kind: &'static str, text: Text) -> Self {
        Self { kind, text, detail: None }
    }
}

/// What is wanted of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DesiredState {
    /// Nothing to do.
    Rest,
    Launch,
    /// End the run on all nodes by its ladder.
    Stop,
    /// End what is on this node, now.
    Kill,
}

/// Which of a task's leases can be given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Release<'a> {
    Nothing,
    All,
    /// Those on environments where nothing of the task can be left; on the others something may still run.
    Environments(Vec<&'a EnvironmentId>),
}

/// What is said of a task whose first node is out of reach.
fn waits_for_first(name: &str) -> Text {
    Text::new(
        format!("主节点 {name} 失去联系，等待其恢复；如机器已关闭，运行 fermi env lost {name}"),
        format!("the first node {name} is out of reach; waiting for it. If the machine is off: fermi env lost {name}"),
    )
}

impl Task {
    /// Takes in what happened. Answers with what is to be told.
    pub fn apply(&mut self, input: TaskInput, now_ms: u64) -> Vec<EventText> {
        let before = self.phase;
        let mut transition = Transition { task: self, now_ms, notes: Vec::new() };
        transition.take(input);
        let Transition { now_ms, notes, .. } = transition;
        if self.phase != before {
            let phase = self.phase;
            self.ledger.iter_mut().for_each(|ledger| ledger.task_came_to(phase, now_ms));
            if phase != TaskPhase::Running {
                self.hang = None;
            }
            // A task runs as soon as its ranks are started: they meet after it.
            if !matches!(phase, TaskPhase::Starting | TaskPhase::Running) {
                self.waits = None;
            }
        }
        notes
    }

    /// What is wanted of each node now, in the order of node ranks.
    pub fn desired_states(&self) -> Vec<DesiredState> {
        let is_uncoordinated = self.first_node_is_gone() || self.requeue;
        let dying = self.phase.is_final() || self.restart_at_ms.is_some() && is_uncoordinated;
        self.nodes.iter().map(|node| self.desired_state(node, dying)).collect()
    }

    fn desired_state(&self, node: &NodeRun, dying: bool) -> DesiredState {
        let is_first = node.node_rank.0 == 0;
        match node.state {
            NodeRunState::Waiting | NodeRunState::Gone => DesiredState::Rest,
            // A run whose coordinator is gone, or that should never have begun, has nothing to say goodbye to.
            _ if dying => DesiredState::Kill,
            state => match (self.stop, state) {
                (Some(StopIntent { force: true, .. }), _) => DesiredState::Kill,
                (Some(_), NodeRunState::Wanted) => DesiredState::Kill,
                (Some(_), _) if is_first => DesiredState::Stop,
                // Nobody is there to coordinate it any more.
                (None, NodeRunState::Wanted) if self.first_node_is_gone() => DesiredState::Kill,
                (None, NodeRunState::Wanted) => DesiredState::Launch,
                _ => DesiredState::Rest,
            },
        }
    }

    /// Whether the first node has ended the run in order, and nobody has said with which result. Of nodes that are killed or lost
    /// the end of the launch is concluded at once.
    pub(super) fn lacks_result(&self) -> bool {
        self.first_node_is_gone() && !self.phase.is_final() && self.restart_at_ms.is_none()
    }

    /// Whether nothing more is heard of the one that coordinates.
    pub fn first_node_is_gone(&self) -> bool {
        self.nodes.first().is_some_and(|node| node.state == NodeRunState::Gone)
    }

    /// The nodes that count on a machine that is lost.
    pub fn lost_nodes(&self, is_lost: impl Fn(&EnvironmentId) -> bool) -> Vec<NodeRank> {
        let counts = |node: &&NodeRun| matches!(node.state, NodeRunState::Wanted | NodeRunState::Alive);
        let lost = self.nodes.iter().filter(counts).filter(|node| is_lost(&node.environment));
        lost.map(|node| node.node_rank).collect()
    }

    /// Whether the attempts of this launch are over.
    pub(super) fn has_no_open_attempt(&self) -> bool {
        self.attempt().is_none_or(|attempt| attempt.generation != self.generation || attempt.phase.is_final())
    }

    /// Whether every rank of the last attempt of this launch is known to have returned 0.
    pub(super) fn has_returned_zero(&self) -> bool {
        self.attempt().is_some_and(|attempt| {
            attempt.generation == self.generation
                && !attempt.ranks.is_empty()
                && attempt.ranks.len() == self.world_size() as usize
                && attempt.ranks.iter().all(|rank| rank.exit.as_ref().is_some_and(Exit::is_success))
        })
    }

    /// Whether no process of this generation can be left anywhere.
    pub fn is_swept(&self) -> bool {
        self.nodes.iter().all(|node| matches!(node.state, NodeRunState::Waiting | NodeRunState::Gone))
    }

    /// Whether the other nodes' runs have ended while nothing is heard of the first node's environment: nobody coordinates
    /// the task then, and nobody else is left to say so.
    pub fn is_abandoned(&self, is_offline: impl Fn(&EnvironmentId) -> bool) -> bool {
        let Some((first, others)) = self.nodes.split_first() else { return false };
        let is_up = matches!(self.phase, TaskPhase::Starting | TaskPhase::Running | TaskPhase::Stopping);
        let is_said = self.reason.as_ref() == Some(&waits_for_first(&first.name));
        is_up
            && !is_said
            && !others.is_empty()
            && others.iter().all(|node| node.state == NodeRunState::Gone)
            && first.state == NodeRunState::Alive
            && is_offline(&first.environment)
    }

    /// The leases that nothing of this task needs any more: those of a task that is over, or back in the queue.
    pub fn releasable(&self) -> Release<'_> {
        let needs_none = self.phase.is_final() || matches!(self.phase, TaskPhase::Initializing | TaskPhase::Queued);
        if !needs_none {
            return Release::Nothing;
        }
        if self.is_swept() {
            return Release::All;
        }
        let is_swept = |node: &&NodeRun| matches!(node.state, NodeRunState::Waiting | NodeRunState::Gone);
        Release::Environments(self.nodes.iter().filter(is_swept).map(|node| &node.environment).collect())
    }

    /// Whether it starts again now, though nothing else happens: its time has come and nothing of it is left anywhere.
    pub fn is_due(&self, now_ms: u64) -> bool {
        // A clock that was set back must not make anyone wait for longer than the policy ever does.
        let is_time = |at: u64| now_ms >= at || at - now_ms > LONGEST_BACK_OFF_MS;
        self.restart_at_ms.is_some_and(is_time) && self.is_swept()
    }
}
