//! What the journals of a task's nodes tell, and what that makes of it.

use super::transition::Transition;
use super::{EventDetail, EventText};
use crate::{
    event::{Outcome, RunEvent},
    hang::HangNote,
    ids::{AttemptNumber, NodeRank, Rank},
    language::Text,
    phase::{AttemptEvent, AttemptPhase, TaskEvent, TaskPhase},
    start_up::{RanksWait, SHOWN_AFTER_MS, WaitNote, met_text},
    task::{AttemptRecord, NodeRunState, RankRecord, StopCause, ToldEnd},
    verdict::{Verdict, VerdictKind},
};

/// A node on which so many supervisors in a row were lost is given up.
pub(super) const MOST_INCARNATIONS: u32 = 32;

impl Transition<'_> {
    pub(super) fn read(&mut self, node: NodeRank, event: RunEvent) {
        let is_first = node.0 == 0;
        match event {
            RunEvent::RunStarted { master_port, .. } => self.run_started(node, master_port),
            RunEvent::RankStarted { attempt, rank, pid, .. } => self.rank_started(attempt, Rank(rank), pid),
            RunEvent::RankExited { attempt, rank, exit, .. } => {
                let now_ms = self.now_ms;
                if let Some(record) = self.rank(attempt, Rank(rank)) {
                    record.ended_ms = Some(now_ms);
                    record.exit = Some(exit);
                }
            }
            // A follower's own end is never a success: this is the coordinator's word, which its own journal has not brought.
            RunEvent::RunEnded { outcome: Outcome::Succeeded, verdict, .. } if !is_first => self.succeed(*verdict),
            RunEvent::RunEnded { outcome, verdict, attempts } if !is_first && attempts > 0 => {
                self.end_told(ToldEnd { outcome, verdict: *verdict });
            }
            RunEvent::OutputLost { attempt, bytes } => self.output_lost(node, attempt, bytes),
            // What the coordinator tells stands in the journals of all nodes; its own is the one that counts.
            _ if !is_first => {}
            RunEvent::AttemptStarted { attempt, resume, master_port, .. } => {
                self.attempt_started(attempt, resume, master_port);
            }
            RunEvent::Stopping { attempt, .. } | RunEvent::Killing { attempt } => {
                self.turn_attempt(attempt, AttemptEvent::StopBegan);
            }
            RunEvent::AttemptFailed { attempt, verdict } => self.attempt_failed(attempt, *verdict),
            RunEvent::RestartScheduled { restarts_used, max_restarts, after_ms, .. } => {
                self.restart_scheduled(restarts_used, max_restarts, after_ms);
            }
            RunEvent::RestartHeldBack { text, .. } => {
                self.note("restart.heldBack", text.clone());
                if self.task.phase == TaskPhase::Restarting {
                    self.task.reason = Some(text);
                }
            }
            // The sentence is made anew: a journal of an older release names a flag of the command line.
            RunEvent::RestartRefused { reason, .. } => {
                let policy = self.task.spec.policies.restart;
                self.note("restart.refused", reason.text(policy));
            }
            RunEvent::NodeSuspect { name, .. } => self.note(
                "node.suspect",
                Text::new(format!("节点 {name} 暂时没有消息"), format!("nothing has been heard of {name} for a while")),
            ),
            RunEvent::NodeBack { name } => {
                self.note("node.back", Text::new(format!("节点 {name} 已恢复"), format!("{name} is back")));
            }
            RunEvent::NodeLost { name, text } => self.note(
                "node.lost",
                Text::new(format!("失去节点 {name}：{}", text.zh), format!("{name} is lost: {}", text.en)),
            ),
            RunEvent::NodeLeaves { name, .. } => self.note(
                "node.leaves",
                Text::new(
                    format!("节点 {name} 退出运行，其余节点继续"),
                    format!("{name} leaves the run, the others go on"),
                ),
            ),
            RunEvent::NodeRefused { name, text, .. } => self.note(
                "node.refused",
                Text::new(format!("拒绝 {name}：{}", text.zh), format!("{name} was refused: {}", text.en)),
            ),
            RunEvent::RunEnded { outcome, verdict, .. } => self.run_ended(outcome, *verdict),
            RunEvent::Refused { message, settings, .. } => {
                self.fail(Verdict::of(VerdictKind::LaunchRefused { reason: message, settings }));
            }
            RunEvent::CheckpointsFound { text, .. } => self.note("checkpoints.found", text),
            RunEvent::CheckpointsSuperseded { text, .. } => self.note("checkpoints.superseded", text),
            RunEvent::CheckpointsForeign { text, .. } => self.note("checkpoints.foreign", text),
            RunEvent::KeeperStopped { text, .. } => self.note("keeper.stopped", text),
            RunEvent::HangVerdict { attempt, since_ms, kind, ranks, place, stacks, text, hint, .. } => {
                let nodes = self.nodes_of(&ranks);
                let place = place.map(|place| *place);
                let (text, hint) = (*text, *hint);
                self.hangs(HangNote { attempt, since_ms, kind, ranks, nodes, place, stacks, text, hint });
            }
            RunEvent::HangPassed { lasted_ms, .. } => self.hang_passed(lasted_ms),
            RunEvent::DeviceFault { text, .. } => self.note("device.fault", *text),
            RunEvent::RanksWaiting { attempt, waited_ms, wait, .. } => self.ranks_wait(attempt, waited_ms, wait),
            RunEvent::RanksMet { attempt, waited_ms } => self.ranks_met(attempt, waited_ms),
            RunEvent::RunLedger { account } => self.note("run.ledger", account.text()),
            RunEvent::Waiting { .. }
            | RunEvent::RanksPhase { .. }
            | RunEvent::StepsReported { .. }
            | RunEvent::AttemptMeasured { .. }
            | RunEvent::HangSuspected { .. }
            | RunEvent::StacksTaken { .. }
            | RunEvent::NodeJoined { .. }
            | RunEvent::NodeLinked { .. }
            | RunEvent::Swept { .. }
            | RunEvent::JournalLost { .. }
            | RunEvent::TerminalDropped { .. }
            | RunEvent::RankParked { .. }
            | RunEvent::RanksReleased { .. }
            | RunEvent::RanksCold { .. }
            | RunEvent::HookTrouble { .. } => {}
        }
    }

    /// The names of the nodes on which these ranks are, each once.
    fn nodes_of(&self, ranks: &[u32]) -> Vec<String> {
        let slots = self.task.rank_map.as_ref().map(|map| map.slots()).unwrap_or_default();
        let mut names: Vec<String> =
            ranks.iter().filter_map(|rank| slots.get(*rank as usize)).map(|slot| slot.node.clone()).collect();
        names.dedup();
        names
    }

    fn hangs(&mut self, hang: HangNote) {
        let hang = hang.bounded();
        let named = hang.nodes.join(", ");
        let text = match self.task.nodes.len() {
            0 | 1 => hang.text.clone(),
            _ => Text::new(format!("{}（{named}）", hang.text.zh), format!("{} ({named})", hang.text.en)),
        };
        let detail = EventDetail { hang: Some(hang.clone()), ..EventDetail::default() };
        self.notes.push(EventText { kind: "hang.verdict", text, detail: Some(detail) });
        // What is told of an attempt that is over says nothing of the next.
        if self.task.phase == TaskPhase::Running {
            self.task.hang = Some(Box::new(hang));
        }
    }

    fn hang_passed(&mut self, lasted_ms: u64) {
        self.task.hang = None;
        let seconds = lasted_ms as f64 / 1e3;
        self.note(
            "hang.passed",
            Text::new(
                format!("停顿 {seconds:.1} 秒后训练继续"),
                format!("things move again after {seconds:.1} s without progress"),
            ),
        );
    }

    /// Stands with the task while it lasts; what takes long is told.
    fn ranks_wait(&mut self, attempt: u32, waited_ms: u64, wait: RanksWait) {
        let is_current =
            self.task.attempt().is_some_and(|known| known.number.get() == attempt && !known.phase.is_final());
        if !is_current || !matches!(self.task.phase, TaskPhase::Starting | TaskPhase::Running) {
            return;
        }
        let note = WaitNote::of(attempt, self.now_ms.saturating_sub(waited_ms), wait);
        if waited_ms >= SHOWN_AFTER_MS {
            self.note("ranks.waiting", note.text.clone());
        }
        self.task.waits = Some(Box::new(note));
    }

    fn ranks_met(&mut self, attempt: u32, waited_ms: u64) {
        if self.task.waits.take_if(|note| note.attempt == attempt).is_some() && waited_ms >= SHOWN_AFTER_MS {
            self.note("ranks.met", met_text(waited_ms));
        }
    }

    fn run_started(&mut self, node: NodeRank, port: Option<u16>) {
        if let Some(node) = self.node(node).filter(|node| node.state == NodeRunState::Wanted) {
            node.state = NodeRunState::Alive;
        }
        if let (0, Some(port)) = (node.0, port) {
            self.task.master_port = Some(port);
            for other in self.task.nodes.iter_mut().filter(|other| other.state == NodeRunState::Waiting) {
                other.state = NodeRunState::Wanted;
            }
        }
    }

    fn output_lost(&mut self, node: NodeRank, attempt: u32, bytes: u64) {
        let name = self.node(node).map(|node| node.name.clone()).unwrap_or_default();
        self.note(
            "output.lost",
            Text::new(
                format!("第 {attempt} 次启动：{name} 的磁盘没有写入 {bytes} 字节的输出"),
                format!("attempt {attempt}: {name} has lost {bytes} bytes of output, which its disk did not take"),
            ),
        );
    }

    fn attempt(&mut self, number: u32) -> Option<&mut AttemptRecord> {
        self.task.attempts.iter_mut().rev().find(|attempt| attempt.number.get() == number)
    }

    /// Ranks of another node may be heard of before the coordinator says that the attempt began, and even before it says
    /// that there was one before: attempts stand in the order of their numbers, whoever tells first.
    fn attempt_or_new(&mut self, number: u32) -> Option<&mut AttemptRecord> {
        if self.attempt(number).is_none() {
            let number = AttemptNumber::new(number)?;
            let generation = self.task.generation;
            let started_ms = self.now_ms;
            let at = self.task.attempts.partition_point(|known| known.number.get() < number.get());
            let record = AttemptRecord {
                number,
                generation,
                phase: AttemptPhase::Launching,
                started_ms,
                ended_ms: None,
                resumed: false,
                ranks: Vec::new(),
                verdict: None,
            };
            self.task.attempts.insert(at, record);
        }
        self.attempt(number)
    }

    fn rank(&mut self, attempt: u32, rank: Rank) -> Option<&mut RankRecord> {
        self.attempt(attempt)?.ranks.iter_mut().find(|record| record.rank == rank)
    }

    fn attempt_started(&mut self, number: u32, resume: bool, port: u16) {
        let Some(attempt) = self.attempt_or_new(number) else { return };
        if attempt.phase.is_final() {
            return;
        }
        attempt.resumed = resume;
        let resumed = if resume {
            ("，若有检查点则从中继续", ", from the newest checkpoint if there is one")
        } else {
            ("", "")
        };
        let at = self.task.rank_map.as_ref().and_then(|map| map.slots().first()).map(|slot| slot.node.clone());
        let at = at.unwrap_or_default();
        let world = self.task.world_size();
        self.note(
            "attempt.started",
            Text::new(
                format!("第 {number} 次启动：{world} 个 rank，主节点 {at}:{port}{}", resumed.0),
                format!("attempt {number}: {world} ranks, master {at}:{port}{}", resumed.1),
            ),
        );
        // One that is heard of after its launch was given up starts nothing.
        if self.task.phase == TaskPhase::Restarting && self.task.restart_at_ms.is_none() {
            self.turn(TaskEvent::WorkersLeased);
        }
    }

    fn rank_started(&mut self, number: u32, rank: Rank, pid: i32) {
        let (now_ms, world) = (self.now_ms, self.task.world_size() as usize);
        let worker = self
            .task
            .rank_map
            .as_ref()
            .and_then(|map| map.slots().get(rank.0 as usize))
            .map(|slot| slot.worker.clone());
        let begins_anew = self.task.restart_at_ms.is_some();
        let Some(attempt) = self.attempt_or_new(number) else { return };
        if begins_anew {
            // Heard of only after its coordinator was lost: it happened, and it is over.
            attempt.phase = AttemptPhase::Failed;
        }
        let at = attempt.ranks.partition_point(|record| record.rank < rank);
        if attempt.ranks.get(at).is_some_and(|record| record.rank == rank) {
            return;
        }
        attempt.ranks.insert(at, RankRecord { rank, worker, pid, started_ms: now_ms, ended_ms: None, exit: None });
        // News of an attempt that has failed meanwhile starts nothing.
        if attempt.ranks.len() == world && !attempt.phase.is_final() {
            self.turn_attempt(number, AttemptEvent::RanksUp);
            if self.task.phase == TaskPhase::Restarting {
                self.turn(TaskEvent::WorkersLeased);
            }
            self.turn(TaskEvent::RanksUp);
        }
    }

    fn turn_attempt(&mut self, number: u32, event: AttemptEvent) {
        let now_ms = self.now_ms;
        if let Some(attempt) = self.attempt(number)
            && let Ok(next) = attempt.phase.next(event)
        {
            attempt.phase = next;
            if next.is_final() {
                attempt.ended_ms.get_or_insert(now_ms);
            }
        }
    }

    pub(super) fn attempt_failed(&mut self, number: u32, verdict: Verdict) {
        // An attempt fails once: what is learned later of why changes its verdict.
        let is_told = self.attempt(number).is_some_and(|attempt| attempt.verdict.is_some());
        if !is_told {
            let headline = verdict.headline();
            self.note(
                "attempt.failed",
                Text::new(
                    format!("第 {number} 次启动失败：{}", headline.zh),
                    format!("attempt {number} failed: {}", headline.en),
                ),
            );
        }
        self.turn_attempt(number, AttemptEvent::EndedBadly);
        if let Some(attempt) = self.attempt(number) {
            attempt.verdict = Some(verdict);
        }
    }

    fn restart_scheduled(&mut self, used: u32, most: u32, after_ms: u64) {
        if self.task.restart_at_ms.is_some() {
            // Its launch has been given up meanwhile.
            return;
        }
        // The coordinator counts its own restarts; those of generations before are added by its budget.
        let before = self.task.spec.policies.restart.max_restarts.saturating_sub(most);
        self.task.restarts_used = before + used;
        let (used, most) = (before + used, before + most);
        self.turn(TaskEvent::RestartGranted);
        let text = Text::new(
            format!("将重新启动全部 rank（{used}/{most}），等待 {:.1} 秒", after_ms as f64 / 1e3),
            format!("all ranks are started again ({used} of {most}) in {:.1} s", after_ms as f64 / 1e3),
        );
        self.task.reason = Some(text.clone());
        self.note("restart.scheduled", text);
        self.replace_members();
    }

    /// Whether the coordinator lives and has no attempt that runs: it waits for nodes.
    pub(super) fn coordinator_waits(&self) -> bool {
        let is_idle = self.task.has_no_open_attempt();
        let is_on_its_way = matches!(self.task.phase, TaskPhase::Starting | TaskPhase::Restarting);
        is_on_its_way && is_idle && self.task.stop.is_none() && !self.task.first_node_is_gone()
    }

    /// Nodes whose supervisor is gone while the coordinator waits for them get a new one; one whose supervisors keep dying
    /// ends the task.
    pub(super) fn replace_members(&mut self) {
        let hopeless = self.task.nodes.iter().find(|node| node.incarnation >= MOST_INCARNATIONS);
        if let Some(node) = hopeless.filter(|node| node.state == NodeRunState::Gone) {
            self.fail(Verdict::of(VerdictKind::supervisor_lost(&node.name)));
            return;
        }
        for node in self.task.nodes.iter_mut().filter(|node| node.node_rank.0 > 0 && node.state == NodeRunState::Gone) {
            node.incarnation += 1;
            node.state = NodeRunState::Wanted;
        }
    }

    pub(super) fn run_ended(&mut self, outcome: Outcome, verdict: Verdict) {
        let number = self.task.newest_attempt();
        match outcome {
            Outcome::Succeeded => self.succeed(verdict),
            Outcome::Failed => self.fail(verdict),
            Outcome::Stopped { .. } => {
                self.turn_attempt(number, AttemptEvent::EndedOnRequest);
                if self.task.phase != TaskPhase::Stopping {
                    self.turn(TaskEvent::StopRequested);
                }
                let is_limited = self.task.stop.is_some_and(|stop| stop.cause == StopCause::TimeLimit);
                self.task.verdict = Some(if is_limited { self.end_on_request() } else { verdict });
                self.turn(TaskEvent::RanksGone);
            }
        }
    }

    /// Every rank returned 0.
    pub(super) fn succeed(&mut self, verdict: Verdict) {
        let number = self.task.newest_attempt();
        self.turn_attempt(number, AttemptEvent::EndedWell);
        if self.turn(TaskEvent::Finished) {
            self.task.verdict = Some(verdict);
        }
    }

    /// It is over, badly; or on request, if somebody had asked.
    pub(super) fn fail(&mut self, verdict: Verdict) {
        // Ranks that were asked to stop may return 0 without having finished.
        if self.task.stop.is_none() && self.task.has_returned_zero() {
            // A node was given up before its ranks' exits came through; its own journal has them.
            self.succeed(Verdict::of(VerdictKind::Succeeded));
            return;
        }
        if let Some(number) = self.task.attempt().map(|attempt| attempt.number.get()) {
            let is_failure = verdict.class.is_some();
            let event = if is_failure { AttemptEvent::EndedBadly } else { AttemptEvent::EndedOnRequest };
            self.turn_attempt(number, event);
            if let Some(attempt) = self.attempt(number) {
                attempt.verdict.get_or_insert_with(|| verdict.clone());
            }
        }
        let headline = verdict.headline();
        self.task.verdict = Some(verdict);
        if self.task.phase == TaskPhase::Stopping {
            self.turn(TaskEvent::RanksGone);
        } else if self.turn(TaskEvent::GaveUp) {
            self.task.reason = Some(headline);
        }
    }
}
