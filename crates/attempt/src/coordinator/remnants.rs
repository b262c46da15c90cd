//! Between two attempts: what of the one before may still live. The next one begins when nothing can.

use std::collections::BTreeMap;

use fermi_domain::event::{Outcome, RunEvent};
use fermi_domain::healing::GiveUp;
use fermi_domain::language::Text;
use fermi_domain::verdict::{Verdict, VerdictKind};

use super::machine::{Coordinator, State};

/// So many processes of a node are named: all helpers of its ranks may hang on one share.
const NAMED: usize = 8;

/// What may live of an attempt that is over.
#[derive(Debug, Default)]
pub(super) struct Remnants {
    /// A node that was lost without a word of its ranks' end, and until when they may go on: of several the last.
    out_of_reach: Option<(u64, String)>,
    /// Processes that SIGKILL has not ended, by their nodes.
    stuck: BTreeMap<usize, Vec<i32>>,
}

impl Coordinator {
    /// A run of a fixed size waits for the very node that it has lost, and that one comes back without its ranks.
    pub(super) fn mind_out_of_reach(&mut self, node: usize, may_run_until_ms: u64) {
        let may_have_ranks = match &self.state {
            State::Running { .. } | State::Gathering { .. } | State::Stopping { .. } | State::Killing { .. } => true,
            State::Sweeping { waiting_for } => waiting_for.contains(&node),
            State::Idle
            | State::Assembling { .. }
            | State::Surveying { .. }
            | State::BackingOff { .. }
            | State::HeldBack { .. }
            | State::Over => false,
        };
        let known = self.remnants.out_of_reach.as_ref().map_or(0, |(until, _)| *until);
        if self.policy.elastic && may_have_ranks && may_run_until_ms > known {
            self.remnants.out_of_reach = Some((may_run_until_ms, self.name_of(node)));
        }
    }

    pub(super) fn still_there(&mut self, node: usize, pids: Vec<i32>, now_ms: u64) {
        let State::Sweeping { waiting_for } = &mut self.state else { return };
        if waiting_for.remove(&node) {
            self.remnants.stuck.insert(node, pids);
            self.all_swept_when_answered(now_ms);
        }
    }

    pub(super) fn swept(&mut self, node: usize, now_ms: u64) {
        self.remnants.stuck.remove(&node);
        match &mut self.state {
            State::Sweeping { waiting_for } => {
                waiting_for.remove(&node);
                self.all_swept_when_answered(now_ms);
            }
            State::HeldBack { .. } if self.remnants.stuck.is_empty() => self.begin_again(now_ms),
            _ => {}
        }
    }

    fn all_swept_when_answered(&mut self, now_ms: u64) {
        if matches!(&self.state, State::Sweeping { waiting_for } if waiting_for.is_empty()) {
            self.all_swept(now_ms);
        }
    }

    /// When nothing of the attempt before can live: with all nodes there the next one starts at once, else they are waited for.
    pub(super) fn begin_again(&mut self, now_ms: u64) {
        let (was_held, gives_up_at) = match self.state {
            State::HeldBack { gives_up_at, .. } => (true, gives_up_at),
            _ => (false, now_ms.saturating_add(self.policy.join_timeout_ms)),
        };
        let Remnants { out_of_reach, stuck } = &self.remnants;
        let out_of_reach = out_of_reach.as_ref().filter(|(until, _)| now_ms < *until);
        let (until, text) = match out_of_reach {
            _ if !stuck.is_empty() && now_ms >= gives_up_at => return self.give_up_beside_them(),
            _ if !stuck.is_empty() => (gives_up_at, self.stuck_text(gives_up_at - now_ms)),
            Some((until, node)) => (*until, out_of_reach_text(node, until - now_ms)),
            None if self.lost.is_empty() && self.leaving.is_empty() && !self.policy.elastic => {
                return self.start(now_ms);
            }
            None => return self.assemble(now_ms),
        };
        if !was_held {
            self.tell(RunEvent::RestartHeldBack { attempt: self.attempt + 1, at_most_ms: until - now_ms, text });
        }
        self.state = State::HeldBack { until, gives_up_at };
    }

    /// Whether the attempt has ended otherwise than by success or on request.
    pub(super) fn has_gone_wrong(&self) -> bool {
        let is_lost = self.lost.keys().any(|node| !self.leaving.contains(node)) && !self.has_returned_zero();
        !self.failed.is_empty() || !self.never_came.missing.is_empty() || is_lost
    }

    /// Whether every rank of the attempt has returned 0: a node that is lost after that has taken nothing along.
    fn has_returned_zero(&self) -> bool {
        let is_back = |rank: u32| self.returned.iter().any(|returned| returned.rank == rank);
        self.nodes.iter().flat_map(|node| node.ranks.clone()).all(is_back)
    }

    fn give_up_beside_them(&mut self) {
        let reason = GiveUp::StillThere;
        self.tell(RunEvent::RestartRefused { reason, text: reason.text(self.policy.restarts) });
        if self.has_gone_wrong() {
            self.finish(Outcome::Failed, self.case().verdict());
        } else {
            // All that happened is that a node was asked to go.
            self.finish(Outcome::Stopped { signal: libc::SIGTERM }, Verdict::of(VerdictKind::StoppedByUser));
        }
    }

    fn stuck_text(&self, at_most_ms: u64) -> Text {
        let of_node = |(node, pids): (&usize, &Vec<i32>)| {
            let more = if pids.len() > NAMED { ", …" } else { "" };
            let pids: Vec<String> = pids.iter().take(NAMED).map(i32::to_string).collect();
            format!("{} ({}{more})", self.name_of(*node), pids.join(", "))
        };
        let nodes = self.remnants.stuck.iter().map(of_node).collect::<Vec<_>>().join(", ");
        let (attempt, seconds) = (self.attempt, at_most_ms.div_ceil(1_000));
        Text::new(
            format!(
                "第 {attempt} 次启动的进程无法终止：{nodes}；它们停在内核中（通常是没有响应的磁盘、共享目录或驱动）。等它们消失后才开始下一次启动，最多等 {seconds} 秒"
            ),
            format!(
                "processes of attempt {attempt} cannot be killed: {nodes}; they hang in the kernel (often on a disk, a share or a driver \
                 that does not answer). The next attempt begins when they are gone, and waits for them for {seconds} s at most"
            ),
        )
    }

    fn name_of(&self, node: usize) -> String {
        self.nodes.get(node).map(|node| node.name.clone()).unwrap_or_default()
    }
}

fn out_of_reach_text(node: &str, at_most_ms: u64) -> Text {
    let seconds = at_most_ms.div_ceil(1_000);
    Text::new(
        format!("节点 {node} 断开时没有说明其 rank 已结束；等 {seconds} 秒，到它们必已结束时再开始下一次启动"),
        format!(
            "{node} is out of reach and has not said that its ranks have ended: the next attempt begins in {seconds} s, when they \
             must have"
        ),
    )
}
