//! The course of a task on the server: what happens to it, what that makes of it, and what its nodes shall do.
//!
//! [`Task::apply`] takes one happening and changes the task; [`Task::wishes`] says what is wanted of each node as things
//! stand. Both are plain: whoever carries wishes out may repeat them as often as he likes.

use super::{AttemptRecord, NodeRun, NodeRunState, RankRecord, StopWish, Task};
use crate::{
    event::{Outcome, RunEvent},
    failure::Recurrence,
    healing::{self, Decision, FailedAttempt},
    ids::{AttemptNumber, Generation, NodeRank, Rank},
    language::Text,
    phase::{AttemptEvent, AttemptPhase, TaskEvent, TaskPhase},
    rank_map::RankMap,
    verdict::{Verdict, VerdictKind},
};

/// A node on which so many supervisors in a row were lost is given up.
const MOST_INCARNATIONS: u32 = 32;

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// It is ready to be placed.
    Prepared,
    /// It waits for workers that others hold, or for an environment that is not there.
    MustWait {
        reason: Text,
    },
    /// Its workers are leased.
    Placed {
        rank_map: RankMap,
    },
    /// A line of a node's journal.
    Journal {
        node: NodeRank,
        event: Box<RunEvent>,
    },
    /// An agent could not start its part.
    LaunchFailed {
        node: NodeRank,
        reason: Text,
    },
    /// No process of a node's run is left.
    Gone {
        node: NodeRank,
    },
    /// The first node's environment has been out of reach for so long that nobody waits for it.
    CoordinatorUnreachable,
    /// Somebody asks for its end.
    StopAsked(StopWish),
    /// Somebody asks for another launch of a task that is over.
    RestartAsked,
    TimePassed,
}

/// What a task's log says about a happening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// A stable name, such as `task.running`.
    pub kind: &'static str,
    pub text: Text,
}

/// What is wanted of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Nothing to do.
    Rest,
    Launch,
    /// End the run on all nodes by its ladder.
    Stop,
    /// End what is on this node, now.
    Kill,
}

impl Task {
    /// Takes in what happened. Answers with what is to be told.
    pub fn apply(&mut self, happening: Happening, now_ms: u64) -> Vec<Note> {
        let mut story = Story { task: self, now_ms, notes: Vec::new() };
        story.take(happening);
        story.notes
    }

    /// What is wanted of each node now, in the order of node ranks.
    pub fn wishes(&self) -> Vec<Wish> {
        let dying = self.phase.is_final() || self.restart_at_ms.is_some() && self.first_node_is_gone();
        self.nodes.iter().map(|node| self.wish(node, dying)).collect()
    }

    fn wish(&self, node: &NodeRun, dying: bool) -> Wish {
        let is_first = node.node_rank.0 == 0;
        match node.state {
            NodeRunState::Waiting | NodeRunState::Gone => Wish::Rest,
            // A run whose coordinator is gone, or that should never have begun, has nothing to say goodbye to.
            _ if dying => Wish::Kill,
            state => match (self.stop, state) {
                (Some(StopWish { force: true, .. }), _) => Wish::Kill,
                (Some(_), NodeRunState::Wanted) => Wish::Kill,
                (Some(_), _) if is_first => Wish::Stop,
                (None, NodeRunState::Wanted) => Wish::Launch,
                _ => Wish::Rest,
            },
        }
    }

    fn first_node_is_gone(&self) -> bool {
        self.nodes.first().is_some_and(|node| node.state == NodeRunState::Gone)
    }

    /// Whether no process of this generation can be left anywhere.
    pub fn is_swept(&self) -> bool {
        self.nodes.iter().all(|node| matches!(node.state, NodeRunState::Waiting | NodeRunState::Gone))
    }

    /// When something is due even if nothing happens.
    pub fn wake_at(&self) -> Option<u64> {
        self.restart_at_ms
    }
}

/// A change in the making.
struct Story<'a> {
    task: &'a mut Task,
    now_ms: u64,
    notes: Vec<Note>,
}

impl Story<'_> {
    fn take(&mut self, happening: Happening) {
        match happening {
            Happening::Prepared => {
                self.turn(TaskEvent::Prepared);
            }
            Happening::MustWait { reason } => self.must_wait(reason),
            Happening::Placed { rank_map } => self.placed(rank_map),
            Happening::Journal { node, event } => self.read(node, *event),
            Happening::LaunchFailed { node, reason } => self.launch_failed(node, reason),
            Happening::Gone { node } => self.gone(node),
            Happening::CoordinatorUnreachable => self.coordinator_unreachable(),
            Happening::StopAsked(wish) => self.stop_asked(wish),
            Happening::RestartAsked => self.restart_asked(),
            Happening::TimePassed => self.begin_again_when_swept(),
        }
    }

    fn note(&mut self, kind: &'static str, text: Text) {
        self.notes.push(Note { kind, text });
    }

    /// Changes the phase, if the event fits; an event that comes too late changes nothing.
    fn turn(&mut self, event: TaskEvent) -> bool {
        let Ok(next) = self.task.phase.next(event) else { return false };
        if next != self.task.phase {
            self.task.phase = next;
            self.task.reason = None;
            let text = next.text();
            self.note(kind_of(next), Text::new(format!("任务状态：{}", text.zh), format!("the task is {}", text.en)));
            if next.is_final() {
                self.task.ended_ms = Some(self.now_ms);
                self.task.restart_at_ms = None;
            }
        }
        true
    }

    fn must_wait(&mut self, reason: Text) {
        if self.task.phase == TaskPhase::Initializing {
            self.turn(TaskEvent::Prepared);
        }
        if self.task.phase == TaskPhase::Queued && self.task.reason.as_ref() != Some(&reason) {
            self.note("task.waiting", reason.clone());
            self.task.reason = Some(reason);
        }
    }

    fn placed(&mut self, rank_map: RankMap) {
        if self.task.phase == TaskPhase::Initializing {
            self.turn(TaskEvent::Prepared);
        }
        if !self.turn(TaskEvent::WorkersLeased) {
            return;
        }
        self.task.started_ms.get_or_insert(self.now_ms);
        self.task.nodes = rank_map
            .nodes()
            .map(|node| NodeRun {
                environment: node.environment.clone(),
                name: node.node.to_owned(),
                node_rank: node.node_rank,
                incarnation: 0,
                state: NodeRunState::Waiting,
            })
            .collect();
        self.task.rank_map = Some(rank_map);
        self.launch();
    }

    /// A new generation: the first node is wanted, the others wait for its port.
    fn launch(&mut self) {
        self.task.generation = Generation(self.task.generation.0 + 1);
        self.task.master_port = None;
        self.task.restart_at_ms = None;
        for node in &mut self.task.nodes {
            node.incarnation = 1;
            node.state = if node.node_rank.0 == 0 { NodeRunState::Wanted } else { NodeRunState::Waiting };
        }
    }

    fn node(&mut self, node: NodeRank) -> Option<&mut NodeRun> {
        self.task.nodes.iter_mut().find(|known| known.node_rank == node)
    }

    fn read(&mut self, node: NodeRank, event: RunEvent) {
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
            RunEvent::RestartRefused { text, .. } => self.note("restart.refused", text),
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
            RunEvent::NodeRefused { name, text, .. } => self.note(
                "node.refused",
                Text::new(format!("拒绝 {name}：{}", text.zh), format!("{name} was refused: {}", text.en)),
            ),
            RunEvent::RunEnded { outcome, verdict, .. } => self.run_ended(outcome, *verdict),
            RunEvent::Refused { message, .. } => {
                self.fail(Verdict::of(VerdictKind::LaunchRefused { reason: message }));
            }
            RunEvent::Waiting { .. }
            | RunEvent::NodeJoined { .. }
            | RunEvent::NodeLinked { .. }
            | RunEvent::Swept { .. }
            | RunEvent::OutputLost { .. } => {}
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

    fn attempt(&mut self, number: u32) -> Option<&mut AttemptRecord> {
        self.task.attempts.iter_mut().rev().find(|attempt| attempt.number.get() == number)
    }

    /// Ranks of another node may be heard of before the coordinator says that the attempt began.
    fn attempt_or_new(&mut self, number: u32) -> Option<&mut AttemptRecord> {
        if self.attempt(number).is_none() {
            let number = AttemptNumber::new(number)?;
            let generation = self.task.generation;
            let started_ms = self.now_ms;
            self.task.attempts.push(AttemptRecord {
                number,
                generation,
                phase: AttemptPhase::Launching,
                started_ms,
                ended_ms: None,
                resumed: false,
                ranks: Vec::new(),
                verdict: None,
            });
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
        let resumed = if resume { ("，从检查点继续", ", from the newest checkpoint") } else { ("", "") };
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
        if self.task.phase == TaskPhase::Restarting {
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

    fn attempt_failed(&mut self, number: u32, verdict: Verdict) {
        let headline = verdict.headline();
        self.note(
            "attempt.failed",
            Text::new(
                format!("第 {number} 次启动失败：{}", headline.zh),
                format!("attempt {number} failed: {}", headline.en),
            ),
        );
        self.turn_attempt(number, AttemptEvent::EndedBadly);
        if let Some(attempt) = self.attempt(number) {
            attempt.verdict = Some(verdict);
        }
    }

    fn restart_scheduled(&mut self, used: u32, most: u32, after_ms: u64) {
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
    fn coordinator_waits(&self) -> bool {
        let generation = self.task.generation;
        let current = self.task.attempt().filter(|attempt| attempt.generation == generation);
        let is_idle = current.is_none_or(|attempt| attempt.phase.is_final());
        let is_on_its_way = matches!(self.task.phase, TaskPhase::Starting | TaskPhase::Restarting);
        is_on_its_way && is_idle && self.task.stop.is_none() && !self.task.first_node_is_gone()
    }

    /// Nodes whose supervisor is gone while the coordinator waits for them get a new one; one whose supervisors keep dying
    /// ends the task.
    fn replace_members(&mut self) {
        let hopeless = self.task.nodes.iter().find(|node| node.incarnation >= MOST_INCARNATIONS);
        if let Some(node) = hopeless.filter(|node| node.state == NodeRunState::Gone) {
            self.fail(Verdict::of(VerdictKind::SupervisorLost { node: node.name.clone() }));
            return;
        }
        for node in self.task.nodes.iter_mut().filter(|node| node.node_rank.0 > 0 && node.state == NodeRunState::Gone) {
            node.incarnation += 1;
            node.state = NodeRunState::Wanted;
        }
    }

    fn run_ended(&mut self, outcome: Outcome, verdict: Verdict) {
        let number = self.task.attempt().map_or(0, |attempt| attempt.number.get());
        match outcome {
            Outcome::Succeeded => {
                self.turn_attempt(number, AttemptEvent::EndedWell);
                self.task.verdict = Some(verdict);
                self.turn(TaskEvent::Finished);
            }
            Outcome::Failed => self.fail(verdict),
            Outcome::Stopped { .. } => {
                self.turn_attempt(number, AttemptEvent::EndedOnRequest);
                if self.task.phase != TaskPhase::Stopping {
                    self.turn(TaskEvent::StopRequested);
                }
                self.task.verdict = Some(verdict);
                self.turn(TaskEvent::RanksGone);
            }
        }
    }

    /// It is over, badly; or on request, if somebody had asked.
    fn fail(&mut self, verdict: Verdict) {
        if let Some(number) = self.task.attempt().map(|attempt| attempt.number.get()) {
            self.turn_attempt(number, AttemptEvent::EndedBadly);
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

    fn launch_failed(&mut self, node: NodeRank, reason: Text) {
        let name = self.node(node).map(|node| {
            node.state = NodeRunState::Gone;
            node.name.clone()
        });
        let name = name.unwrap_or_default();
        let reason = Text::new(format!("{name}：{}", reason.zh), format!("{name}: {}", reason.en));
        self.note("launch.failed", reason.clone());
        if !self.task.phase.is_final() {
            self.fail(Verdict::of(VerdictKind::LaunchRefused { reason }));
        }
        self.requeue_when_swept();
    }

    fn gone(&mut self, node: NodeRank) {
        let Some(run) = self.node(node).filter(|run| run.state != NodeRunState::Gone) else { return };
        run.state = NodeRunState::Gone;
        let name = run.name.clone();
        if self.task.phase.is_final() {
            self.requeue_when_swept();
        } else if node.0 == 0 {
            self.coordinator_lost(&name);
        } else if self.coordinator_waits() {
            self.replace_members();
        }
        self.begin_again_when_swept();
    }

    /// The supervisor that decides is gone without a word: the server decides in its place.
    fn coordinator_lost(&mut self, name: &str) {
        let verdict = Verdict::of(VerdictKind::SupervisorLost { node: name.to_owned() });
        if self.task.stop.is_some() {
            self.fail(Verdict::of(VerdictKind::StoppedByUser));
            return;
        }
        let (number, lived_ms) = self
            .task
            .attempt()
            .map_or((0, 0), |attempt| (attempt.number.get(), self.now_ms.saturating_sub(attempt.started_ms)));
        self.attempt_failed(number, verdict.clone());
        let policy = self.task.spec.policies.restart;
        let decision = healing::decide(
            policy,
            FailedAttempt {
                recurrence: Recurrence::MayPass,
                lived_ms,
                made_progress: true,
                restarts_used: self.task.restarts_used,
                start_up_failures_in_a_row: 0,
            },
        );
        match decision {
            Decision::Restart { after_ms } => {
                self.task.restarts_used += 1;
                if self.task.phase != TaskPhase::Restarting {
                    self.turn(TaskEvent::RestartGranted);
                }
                self.task.restart_at_ms = Some(self.now_ms + after_ms);
                let (used, most) = (self.task.restarts_used, policy.max_restarts);
                self.note(
                    "restart.scheduled",
                    Text::new(
                        format!("将在所有节点清理完毕后重新启动（{used}/{most}）"),
                        format!("all ranks are started again once every node is swept ({used} of {most})"),
                    ),
                );
            }
            Decision::GiveUp(reason) => {
                self.note("restart.refused", reason.text(policy));
                self.fail(verdict);
            }
        }
    }

    /// Members have ended themselves; whether the first node's ranks still run cannot be known.
    fn coordinator_unreachable(&mut self) {
        let Some(name) = self.task.nodes.first().map(|node| node.name.clone()) else { return };
        let reason = Text::new(
            format!("主节点 {name} 失去联系，等待其恢复"),
            format!("the first node {name} is out of reach; waiting for it"),
        );
        if self.task.phase.is_final() || self.task.reason.as_ref() == Some(&reason) {
            return;
        }
        if self.task.restarts_used >= self.task.spec.policies.restart.max_restarts {
            self.fail(Verdict::of(VerdictKind::NodeLost { node: name }));
        } else {
            self.note("task.waiting", reason.clone());
            self.task.reason = Some(reason);
        }
    }

    /// The next generation begins only when nothing of this one is left anywhere.
    fn begin_again_when_swept(&mut self) {
        let is_due = self.task.restart_at_ms.is_some_and(|at| self.now_ms >= at);
        if is_due && self.task.is_swept() && self.task.phase == TaskPhase::Restarting {
            self.task.resume = true;
            self.launch();
            self.turn(TaskEvent::WorkersLeased);
        }
    }

    fn stop_asked(&mut self, wish: StopWish) {
        if self.task.phase.is_final() {
            return;
        }
        let force = wish.force || self.task.stop.is_some_and(|stop| stop.force);
        self.task.stop = Some(StopWish { force, ..wish });
        self.turn(TaskEvent::StopRequested);
        if self.task.phase == TaskPhase::Stopping && self.task.is_swept() {
            // A restart was waiting and nothing runs.
            self.task.verdict = Some(Verdict::of(VerdictKind::StoppedByUser));
            self.turn(TaskEvent::RanksGone);
        }
        if self.task.phase == TaskPhase::Stopped {
            self.task.verdict.get_or_insert_with(|| Verdict::of(VerdictKind::StoppedByUser));
        }
        self.requeue_when_swept();
    }

    fn restart_asked(&mut self) {
        if self.task.phase.is_final() && self.task.is_swept() {
            self.begin_anew();
        } else if self.task.phase.is_final() {
            self.task.stop = Some(StopWish { force: true, then_restart: true });
        } else {
            self.stop_asked(StopWish { force: false, then_restart: true });
        }
    }

    fn requeue_when_swept(&mut self) {
        let wants = self.task.stop.is_some_and(|stop| stop.then_restart);
        if wants && self.task.phase.is_final() && self.task.is_swept() {
            self.begin_anew();
        }
    }

    /// The same task from the queue on, with fresh restarts; attempts go on counting.
    fn begin_anew(&mut self) {
        self.task.stop = None;
        self.task.verdict = None;
        self.task.ended_ms = None;
        self.task.restarts_used = 0;
        self.task.nodes.clear();
        self.task.resume = !self.task.attempts.is_empty();
        self.turn(TaskEvent::RestartAsked);
    }
}

fn kind_of(phase: TaskPhase) -> &'static str {
    match phase {
        TaskPhase::Initializing => "task.initializing",
        TaskPhase::Queued => "task.queued",
        TaskPhase::Starting => "task.starting",
        TaskPhase::Running => "task.running",
        TaskPhase::Restarting => "task.restarting",
        TaskPhase::Stopping => "task.stopping",
        TaskPhase::Succeeded => "task.succeeded",
        TaskPhase::Failed => "task.failed",
        TaskPhase::Stopped => "task.stopped",
    }
}

#[cfg(test)]
mod tests;
