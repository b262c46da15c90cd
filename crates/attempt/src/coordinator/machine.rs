//! The machine itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fermi_domain::checkpoint::{NodeCheckpoints, ResumePlan};
use fermi_domain::exit::Exit;
use fermi_domain::failure::{Reached, Recurrence, Role};
use fermi_domain::healing::{self, Decision, FailedAttempt};
use fermi_domain::ladder::{Rung, StopReason};
use fermi_domain::verdict::{Verdict, VerdictKind};

use super::judgement::{Case, Ended, NeverCame, Returned};
use super::remnants::Remnants;
use super::vocabulary::{Failure, Loss, NodeRanks, Policy, RunEffect, RunInput};
use crate::node_message::{NodeReport, RankSeen};
use fermi_domain::event::{Outcome, RunEvent, StopCause};

/// How long a rank that looks like a victim is given before the stop, so that the cause can show itself.
const EVIDENCE_MS: u64 = 2_000;
/// How long after SIGKILL ranks are waited for; one in uninterruptible sleep may never go.
const AFTER_KILL_MS: u64 = 5_000;

#[derive(Debug, PartialEq)]
pub(super) enum State {
    Idle,
    Assembling {
        until: u64,
    },
    /// Nodes look at their checkpoints: those that have not answered, and what the others found.
    Surveying {
        until: u64,
        waiting_for: BTreeSet<usize>,
        found: BTreeMap<usize, NodeCheckpoints>,
    },
    Running {
        check_joined_at: Option<u64>,
    },
    Gathering {
        until: u64,
    },
    Stopping {
        rungs: VecDeque<Rung>,
        until: u64,
    },
    Killing {
        until: u64,
    },
    Sweeping {
        waiting_for: BTreeSet<usize>,
    },
    BackingOff {
        until: u64,
    },
    /// Something of the attempt before may still live.
    HeldBack {
        until: u64,
        gives_up_at: u64,
    },
    Over,
}

/// The coordinator of a run.
#[derive(Debug)]
pub struct Coordinator {
    pub(super) policy: Policy,
    pub(super) nodes: Vec<NodeRanks>,
    /// Nodes without a supervisor, since when and how.
    pub(super) lost: BTreeMap<usize, (u64, Loss)>,
    /// Nodes that go when the attempt has ended.
    pub(super) leaving: BTreeSet<usize>,
    pub(super) remnants: Remnants,
    pub(super) state: State,
    pub(super) attempt: u32,
    pub(super) restarts_used: u32,
    pub(super) start_up_failures_in_a_row: u32,
    pub(super) started_ms: u64,
    pub(super) made_progress: bool,
    /// Living ranks and their nodes.
    pub(super) alive: BTreeMap<u32, usize>,
    /// Nodes that were asked who never came, and have not answered.
    pub(super) unanswered: BTreeSet<usize>,
    /// Ranks that ended badly by themselves, not by our signals.
    pub(super) failed: Vec<Ended>,
    /// Ranks that returned 0 by themselves.
    pub(super) returned: Vec<Returned>,
    pub(super) never_came: NeverCame,
    pub(super) stopped_by: Option<i32>,
    /// A newer generation of the run was found: the node that found it, and which.
    pub(super) superseded_by: Option<(usize, u64)>,
    pub(super) effects: Vec<RunEffect>,
}

impl Coordinator {
    pub fn new(policy: Policy) -> Self {
        Self {
            attempt: policy.attempts_before,
            policy,
            nodes: Vec::new(),
            lost: BTreeMap::new(),
            leaving: BTreeSet::new(),
            remnants: Remnants::default(),
            state: State::Idle,
            restarts_used: 0,
            start_up_failures_in_a_row: 0,
            started_ms: 0,
            made_progress: false,
            alive: BTreeMap::new(),
            unanswered: BTreeSet::new(),
            failed: Vec::new(),
            returned: Vec::new(),
            never_came: NeverCame::default(),
            stopped_by: None,
            superseded_by: None,
            effects: Vec::new(),
        }
    }

    /// How many attempts have begun.
    pub fn attempts(&self) -> u32 {
        self.attempt
    }

    /// When the coordinator needs [`RunInput::TimePassed`] at the latest.
    pub fn wake_at(&self) -> Option<u64> {
        match &self.state {
            State::Running { check_joined_at } => *check_joined_at,
            State::Assembling { until }
            | State::Surveying { until, .. }
            | State::Gathering { until }
            | State::Stopping { until, .. }
            | State::Killing { until }
            | State::BackingOff { until }
            | State::HeldBack { until, .. } => Some(*until),
            State::Idle | State::Sweeping { .. } | State::Over => None,
        }
    }

    /// Takes in what happened at this time and says what to do.
    pub fn on(&mut self, input: RunInput, now_ms: u64) -> Vec<RunEffect> {
        match input {
            RunInput::Begin => self.assemble(now_ms),
            RunInput::Assembled { nodes } => self.assembled(nodes, now_ms),
            RunInput::NodeLost { node, loss, may_run_until_ms } => self.node_lost(node, loss, may_run_until_ms, now_ms),
            RunInput::NodeLeaves { node, signal } => self.node_leaves(node, signal, now_ms),
            RunInput::Reported { node, report } => self.reported(node, report, now_ms),
            RunInput::StopAsked { signal } => self.stop_asked(signal, now_ms),
            RunInput::KillAsked => self.kill_asked(now_ms),
            RunInput::TimePassed => self.time_passed(now_ms),
        }
        std::mem::take(&mut self.effects)
    }

    fn reported(&mut self, node: usize, report: NodeReport, now_ms: u64) {
        match report {
            NodeReport::RankEnded { rank, exit, failure, made_progress, reached, .. } => {
                self.made_progress |= made_progress;
                self.rank_ended(rank, exit, *failure, *reached.unwrap_or_default(), now_ms);
            }
            NodeReport::RankHung { rank, failure, made_progress } => {
                self.made_progress |= made_progress;
                self.rank_hung(rank, *failure, now_ms);
            }
            NodeReport::NotJoined { missing, ranks } => self.not_joined(node, &missing, &ranks, now_ms),
            NodeReport::Swept => self.swept(node, now_ms),
            NodeReport::StillThere { pids } => self.still_there(node, pids, now_ms),
            NodeReport::Surveyed { found, .. } => self.surveyed(node, found, now_ms),
            NodeReport::Superseded { generation } => self.superseded(node, generation, now_ms),
            // A node that can be spared comes as an input of its own.
            NodeReport::StopAsked { signal } | NodeReport::LeaveAsked { signal } => self.stop_asked(signal, now_ms),
            NodeReport::KillAsked => self.kill_asked(now_ms),
            NodeReport::RankStarted { .. }
            | NodeReport::Begun { .. }
            | NodeReport::HangTold { .. }
            | NodeReport::Measured(_)
            | NodeReport::Alive
            | NodeReport::LinkForged
            | NodeReport::NothingLeft
            | NodeReport::Ping { .. } => {}
        }
    }

    pub(super) fn assemble(&mut self, now_ms: u64) {
        self.state = State::Assembling { until: now_ms.saturating_add(self.policy.join_timeout_ms) };
        self.effects.push(RunEffect::Assemble);
    }

    fn assembled(&mut self, nodes: Vec<NodeRanks>, now_ms: u64) {
        if matches!(self.state, State::Assembling { .. }) {
            self.nodes = nodes;
            self.lost.clear();
            self.leaving.clear();
            self.start(now_ms);
        }
    }

    fn node_lost(&mut self, node: usize, loss: Loss, may_run_until_ms: u64, now_ms: u64) {
        if node >= self.nodes.len() || self.lost.contains_key(&node) {
            return;
        }
        self.mind_out_of_reach(node, may_run_until_ms);
        self.lost.insert(node, (now_ms, loss));
        self.alive.retain(|_, home| *home != node);
        self.unanswered.remove(&node);
        match &mut self.state {
            State::Running { .. } | State::Gathering { .. } => self.stop(StopReason::Failure, now_ms),
            State::Stopping { .. } | State::Killing { .. } => self.sweep_when_all_ended(),
            State::Sweeping { waiting_for } => {
                waiting_for.remove(&node);
                if waiting_for.is_empty() {
                    self.all_swept(now_ms);
                }
            }
            // No rank was started, so nothing is lost but the node: it is waited for as before.
            State::Surveying { .. } => self.assemble(now_ms),
            State::Idle
            | State::Assembling { .. }
            | State::BackingOff { .. }
            | State::HeldBack { .. }
            | State::Over => {}
        }
    }

    /// All ranks stop as on request, since those that stay cannot go on without the ones that go; then the nodes come
    /// together anew, without this one.
    fn node_leaves(&mut self, node: usize, signal: i32, now_ms: u64) {
        if node >= self.nodes.len() || self.stopped_by.is_some() || !self.leaving.insert(node) {
            return;
        }
        match self.state {
            State::Running { .. } | State::Gathering { .. } => self.stop(StopReason::Asked { signal }, now_ms),
            State::Surveying { .. } | State::Assembling { .. } => self.assemble(now_ms),
            // It goes when the attempt has ended, or when the next one is about to begin.
            State::Idle
            | State::Stopping { .. }
            | State::Killing { .. }
            | State::Sweeping { .. }
            | State::BackingOff { .. }
            | State::HeldBack { .. }
            | State::Over => {}
        }
    }

    /// Nodes that are there.
    pub(super) fn present(&self) -> BTreeSet<usize> {
        (0..self.nodes.len()).filter(|node| !self.lost.contains_key(node)).collect()
    }

    pub(super) fn start_ranks(&mut self, plan: ResumePlan, now_ms: u64) {
        self.attempt += 1;
        self.started_ms = now_ms;
        self.made_progress = false;
        self.failed.clear();
        self.returned.clear();
        self.never_came = NeverCame::default();
        self.unanswered.clear();
        self.alive = self
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(node, node_ranks)| node_ranks.ranks.clone().map(move |rank| (rank, node)))
            .collect();
        let check_joined_at = self.policy.start_timeout_ms.map(|timeout| now_ms.saturating_add(timeout));
        self.state = State::Running { check_joined_at };
        self.effects.push(RunEffect::StartRanks { attempt: self.attempt, plan });
    }

    fn rank_ended(&mut self, rank: u32, exit: Exit, failure: Failure, reached: Reached, now_ms: u64) {
        if self.alive.remove(&rank).is_none() {
            return;
        }
        let is_running = matches!(self.state, State::Running { .. } | State::Gathering { .. });
        if exit.is_success() && is_running {
            self.returned.push(Returned { rank, at_ms: now_ms, reached, log: failure.log });
        } else if !exit.is_success() && !self.is_our_doing(&exit) {
            self.failed.push(Ended { rank, exit, at_ms: now_ms, failure, reached });
        }
        match self.state {
            State::Running { .. } if !self.failed.is_empty() => self.first_trouble(now_ms),
            State::Gathering { .. } if self.cause_is_known() => self.stop(StopReason::Failure, now_ms),
            State::Running { .. } | State::Gathering { .. } | State::Stopping { .. } | State::Killing { .. } => {
                self.sweep_when_all_ended();
            }
            State::Idle
            | State::Assembling { .. }
            | State::Surveying { .. }
            | State::Sweeping { .. }
            | State::BackingOff { .. }
            | State::HeldBack { .. }
            | State::Over => {}
        }
    }

    /// A rank that hangs has failed, though it runs: the attempt ends for it, and it ends by our signal. One that has returned,
    /// and for which others wait, has ended early.
    fn rank_hung(&mut self, rank: u32, failure: Failure, now_ms: u64) {
        if matches!(self.state, State::Running { .. }) && !self.alive.is_empty() {
            let exit = match self.alive.contains_key(&rank) {
                true => Exit::Signal { signal: libc::SIGKILL, core_dumped: false },
                false => Exit::Code { code: 0 },
            };
            let reached = Reached::default();
            self.failed.push(Ended { rank, exit, at_ms: now_ms, failure, reached });
            self.stop(StopReason::Failure, now_ms);
        }
    }

    /// Whether a rank ended because we told it to.
    fn is_our_doing(&self, exit: &Exit) -> bool {
        match (&self.state, exit) {
            (State::Killing { .. } | State::Sweeping { .. }, _) => true,
            // Who was asked to stop may answer with any code or signal.
            (State::Stopping { .. }, Exit::Signal { .. }) => true,
            (State::Stopping { .. }, _) => self.stopped_by.is_some() || !self.leaving.is_empty(),
            _ => false,
        }
    }

    fn first_trouble(&mut self, now_ms: u64) {
        if self.cause_is_known() || self.alive.is_empty() {
            self.stop(StopReason::Failure, now_ms);
        } else {
            self.state = State::Gathering { until: now_ms + EVIDENCE_MS };
        }
    }

    fn cause_is_known(&self) -> bool {
        self.alive.is_empty() || self.failed.iter().any(|ended| ended.role() != Some(Role::Victim))
    }

    fn stop(&mut self, reason: StopReason, now_ms: u64) {
        if self.alive.is_empty() {
            self.sweep();
            return;
        }
        let mut rungs: VecDeque<Rung> = self.policy.ladder.rungs(reason).into();
        match rungs.pop_front() {
            Some(rung) => {
                let cause = match reason {
                    StopReason::Asked { .. } => StopCause::Asked,
                    StopReason::Failure => StopCause::Failure,
                };
                self.step(rung, rungs, cause, now_ms);
            }
            None => self.kill(now_ms),
        }
    }

    fn step(&mut self, rung: Rung, rest: VecDeque<Rung>, reason: StopCause, now_ms: u64) {
        let Rung { signal, grace_ms } = rung;
        self.effects.push(RunEffect::Tell(RunEvent::Stopping { attempt: self.attempt, signal, grace_ms, reason }));
        self.effects.push(RunEffect::SignalRanks { signal });
        self.state = State::Stopping { rungs: rest, until: now_ms.saturating_add(grace_ms) };
    }

    pub(super) fn kill(&mut self, now_ms: u64) {
        self.effects.push(RunEffect::Tell(RunEvent::Killing { attempt: self.attempt }));
        self.effects.push(RunEffect::KillRanks);
        self.state = State::Killing { until: now_ms + AFTER_KILL_MS };
    }

    pub(super) fn sweep(&mut self) {
        // A run whose only node is lost would have no node to answer; its coordinator is gone with it.
        self.state = State::Sweeping { waiting_for: self.present() };
        self.effects.push(RunEffect::Sweep);
    }

    fn sweep_when_all_ended(&mut self) {
        if self.alive.is_empty() {
            self.sweep();
        }
    }

    fn not_joined(&mut self, node: usize, missing: &[u32], ranks: &[RankSeen], now_ms: u64) {
        let awaited = self.unanswered.remove(&node);
        if !awaited || !matches!(self.state, State::Running { .. }) {
            return;
        }
        let phase_of = |rank: u32| ranks.iter().find(|seen| seen.rank == rank).and_then(|seen| seen.phase);
        let missing = missing.iter().filter(|rank| self.alive.contains_key(rank));
        self.never_came.missing.extend(missing.map(|rank| (*rank, phase_of(*rank))));
        if self.unanswered.is_empty() && !self.never_came.missing.is_empty() {
            let is_missing = |rank: &u32| self.never_came.missing.iter().any(|(missing, _)| missing == rank);
            self.never_came.joined = self.alive.keys().copied().filter(|rank| !is_missing(rank)).collect();
            self.stop(StopReason::Failure, now_ms);
        }
    }

    fn stop_asked(&mut self, signal: i32, now_ms: u64) {
        if self.stopped_by.is_some() {
            return;
        }
        match self.state {
            State::Running { .. } | State::Gathering { .. } => {
                self.stopped_by = Some(signal);
                self.stop(StopReason::Asked { signal }, now_ms);
            }
            // The failed attempt is being ended already; asking means that there shall be no other.
            State::Stopping { .. } | State::Killing { .. } | State::Sweeping { .. } => self.stopped_by = Some(signal),
            State::Idle
            | State::Assembling { .. }
            | State::Surveying { .. }
            | State::BackingOff { .. }
            | State::HeldBack { .. } => {
                self.stopped_by = Some(signal);
                self.conclude_stopped();
            }
            State::Over => {}
        }
    }

    fn kill_asked(&mut self, now_ms: u64) {
        match self.state {
            State::Running { .. } | State::Gathering { .. } | State::Stopping { .. } => {
                self.stopped_by.get_or_insert(libc::SIGKILL);
                self.kill(now_ms);
            }
            State::Idle
            | State::Assembling { .. }
            | State::Surveying { .. }
            | State::BackingOff { .. }
            | State::HeldBack { .. } => self.stop_asked(libc::SIGKILL, now_ms),
            State::Killing { .. } | State::Sweeping { .. } | State::Over => {}
        }
    }

    fn time_passed(&mut self, now_ms: u64) {
        if self.wake_at().is_none_or(|at| now_ms < at) {
            return;
        }
        match &mut self.state {
            State::Assembling { .. } => self.finish(Outcome::Failed, self.case().not_assembled()),
            State::Surveying { .. } => self.start_by_survey(now_ms),
            State::Running { check_joined_at } => {
                *check_joined_at = None;
                self.unanswered = self.present();
                self.effects.push(RunEffect::CheckJoined);
            }
            State::Gathering { .. } => self.stop(StopReason::Failure, now_ms),
            State::Stopping { rungs, .. } => {
                let is_asked = self.stopped_by.is_some() || !self.leaving.is_empty();
                let reason = if is_asked { StopCause::Asked } else { StopCause::Failure };
                match rungs.pop_front() {
                    Some(rung) => {
                        let rest = std::mem::take(rungs);
                        self.step(rung, rest, reason, now_ms);
                    }
                    None => self.kill(now_ms),
                }
            }
            State::Killing { .. } => self.sweep(),
            State::BackingOff { .. } | State::HeldBack { .. } => self.begin_again(now_ms),
            State::Idle | State::Sweeping { .. } | State::Over => {}
        }
    }

    pub(super) fn all_swept(&mut self, now_ms: u64) {
        if self.superseded_by.is_some() {
            self.conclude_superseded();
        } else if self.stopped_by.is_some() {
            self.conclude_stopped();
        } else if self.has_gone_wrong() {
            self.attempt_failed(now_ms);
        } else if !self.leaving.is_empty() {
            // Nothing has failed, so it costs no restart.
            self.begin_again(now_ms);
        } else {
            self.finish(Outcome::Succeeded, Verdict::of(VerdictKind::Succeeded));
        }
    }

    pub(super) fn conclude_stopped(&mut self) {
        let signal = self.stopped_by.unwrap_or(libc::SIGTERM);
        self.finish(Outcome::Stopped { signal }, Verdict::of(VerdictKind::StoppedByUser));
    }

    fn attempt_failed(&mut self, now_ms: u64) {
        let verdict = self.case().verdict();
        let attempt = self.attempt;
        self.tell(RunEvent::AttemptFailed { attempt, verdict: Box::new(verdict.clone()) });
        let mut failed = FailedAttempt {
            recurrence: verdict.diagnosis.as_ref().map_or(Recurrence::MayPass, |diagnosis| diagnosis.recurrence),
            lived_ms: now_ms.saturating_sub(self.started_ms),
            made_progress: self.made_progress,
            restarts_used: self.restarts_used,
            start_up_failures_in_a_row: 0,
        };
        self.start_up_failures_in_a_row = if failed.in_start_up() { self.start_up_failures_in_a_row + 1 } else { 0 };
        failed.start_up_failures_in_a_row = self.start_up_failures_in_a_row;
        match healing::decide(self.policy.restarts, failed) {
            Decision::Restart { after_ms } => self.restart(after_ms, now_ms),
            Decision::GiveUp(reason) => {
                self.tell(RunEvent::RestartRefused { reason, text: reason.text(self.policy.restarts) });
                self.finish(Outcome::Failed, verdict);
            }
        }
    }

    fn restart(&mut self, after_ms: u64, now_ms: u64) {
        self.restarts_used += 1;
        self.tell(RunEvent::RestartScheduled {
            attempt: self.attempt + 1,
            after_ms,
            restarts_used: self.restarts_used,
            max_restarts: self.policy.restarts.max_restarts,
        });
        if after_ms == 0 {
            self.begin_again(now_ms);
        } else {
            self.state = State::BackingOff { until: now_ms + after_ms };
        }
    }

    pub(super) fn finish(&mut self, outcome: Outcome, verdict: Verdict) {
        self.state = State::Over;
        self.tell(RunEvent::RunEnded { outcome, attempts: self.attempt, verdict: Box::new(verdict) });
        self.effects.push(RunEffect::Finish);
    }

    pub(super) fn tell(&mut self, event: RunEvent) {
        self.effects.push(RunEffect::Tell(event));
    }

    pub(super) fn case(&self) -> Case<'_> {
        let Self { nodes, failed, returned, never_came, lost, .. } = self;
        Case { nodes, failed, returned, never_came, lost }
    }
}
