//! A change of a task in the making: what was asked, placed, started, lost, and begun again.

use super::{EventDetail, EventText, PhaseChange, TaskEnd, TaskInput};
use crate::{
    failure::Recurrence,
    healing::{self, Decision, FailedAttempt},
    ids::{Generation, NodeRank},
    language::{StoredMessage, Text},
    phase::{TaskEvent, TaskPhase},
    rank_map::RankMap,
    task::{FormerNode, NodeRun, NodeRunState, RunKey, SecretScheme, StopCause, StopIntent, Task},
    verdict::{LeaseHolder, Verdict, VerdictKind},
};

/// A change in the making.
pub(super) struct Transition<'a> {
    pub(super) task: &'a mut Task,
    pub(super) now_ms: u64,
    pub(super) notes: Vec<EventText>,
}

impl Transition<'_> {
    pub(super) fn take(&mut self, input: TaskInput) {
        match input {
            TaskInput::MustWait { reason } => self.must_wait(reason),
            TaskInput::FirstInLine => self.first_in_line(),
            TaskInput::WaitsLong { reason } => self.waits_long(&reason),
            TaskInput::Placed { rank_map } => self.placed(rank_map),
            TaskInput::Journal { node, time_ms, event } => {
                // Lines that come together have happened one after the other.
                self.now_ms = self.now_ms.max(time_ms);
                if node.0 == 0 {
                    // Phases and failures that the first node tells hold for all.
                    self.task.ledger.iter_mut().for_each(|ledger| ledger.hear(time_ms, &event));
                }
                self.read(node, *event);
            }
            // A result that the journal has told as well is known.
            TaskInput::Ended { node, event } if !self.task.phase.is_final() => self.read(node, *event),
            TaskInput::Ended { .. } => {}
            TaskInput::InterfacesFound { interfaces, text } => self.interfaces_found(interfaces, text),
            TaskInput::LaunchFailed { node, message } => self.launch_failed(node, message),
            TaskInput::NotStarted { node, why } => self.not_started(node, &why),
            TaskInput::Gone { node, lease, in_order } => self.gone(node, lease, in_order),
            TaskInput::NodeLost { node } => self.node_lost(node),
            TaskInput::MovedOn { run } => self.moved_on(&run),
            TaskInput::CoordinatorUnreachable => self.coordinator_unreachable(),
            TaskInput::StopAsked(request) => self.stop_asked(request),
            TaskInput::RestartAsked => self.restart_asked(),
            TaskInput::TimePassed => self.begin_again_when_swept(),
            TaskInput::Forgotten { node } => self.forgotten(node),
            TaskInput::ClockSet { by_ms } => self.clock_set(by_ms),
            TaskInput::StartOverdue => self.start_overdue(),
            TaskInput::StopOverdue => self.stop_overdue(),
            TaskInput::TimeLimitReached => self.time_limit_reached(),
            TaskInput::GiveWay { reason } => self.give_way(reason),
            TaskInput::GiveWayOverdue => self.give_way_overdue(),
        }
    }

    pub(super) fn note(&mut self, kind: &'static str, text: Text) {
        self.notes.push(EventText::said(kind, text));
    }

    /// Changes the phase, if the event fits; an event that comes too late changes nothing.
    pub(super) fn turn(&mut self, event: TaskEvent) -> bool {
        let Ok(next) = self.task.phase.next(event) else { return false };
        if next != self.task.phase {
            let change = PhaseChange { from: self.task.phase, to: next };
            self.task.phase = next;
            self.task.phase_since_ms = Some(self.now_ms);
            self.task.reason = None;
            let end = next.is_final().then(|| TaskEnd::of(self.task));
            self.notes.push(EventText {
                kind: kind_of(next),
                text: Text::new(format!("任务状态：{}", next.text().zh), next.in_english()),
                detail: Some(EventDetail { phase: Some(change), end, ..EventDetail::default() }),
            });
            if next.is_final() {
                self.task.ended_ms = Some(self.now_ms);
                self.task.restart_at_ms = None;
                self.task.requeue = false;
                self.task.told_end = None;
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

    fn first_in_line(&mut self) {
        self.task.first_in_line = self.task.phase == TaskPhase::Queued;
    }

    fn waits_long(&mut self, reason: &Text) {
        if self.task.phase != TaskPhase::Queued || self.task.told_long_wait {
            return;
        }
        self.task.told_long_wait = true;
        let minutes = self.now_ms.saturating_sub(self.task.phase_since_ms.unwrap_or(self.now_ms)) / 60_000;
        let waited = Text::new(format!("已等待 {minutes} 分钟"), format!("it has waited for {minutes} min"));
        self.note("task.waits_long", waited.followed_by(reason));
    }

    fn placed(&mut self, rank_map: RankMap) {
        if self.task.phase == TaskPhase::Initializing {
            self.turn(TaskEvent::Prepared);
        }
        if !self.turn(TaskEvent::WorkersLeased) {
            return;
        }
        self.task.started_ms.get_or_insert(self.now_ms);
        self.task.placed_ms = Some(self.now_ms);
        self.task.gave_way = false;
        self.forget_wait();
        self.remember_former_nodes(&rank_map);
        self.task.nodes = rank_map
            .nodes()
            .map(|node| NodeRun {
                environment: node.environment.clone(),
                name: node.node.to_owned(),
                node_rank: node.node_rank,
                incarnation: 0,
                state: NodeRunState::Waiting,
                interface: None,
            })
            .collect();
        self.task.rank_map = Some(rank_map);
        self.launch();
    }

    /// What was said of one wait does not hold for the next.
    fn forget_wait(&mut self) {
        self.task.told_long_wait = false;
        self.task.first_in_line = false;
    }

    /// Runs of earlier launches belong to the environments that they were in.
    fn remember_former_nodes(&mut self, rank_map: &RankMap) {
        let Some(before) = &self.task.rank_map else { return };
        for node in before.nodes() {
            let now = rank_map.nodes().find(|now| now.node_rank == node.node_rank);
            if now.as_ref().is_none_or(|now| now.environment != node.environment) {
                let (node_rank, environment) = (node.node_rank, node.environment.clone());
                self.task.former_nodes.push(FormerNode { node_rank, environment, until: self.task.generation });
            }
        }
        let names = |map: &RankMap, between: &str| map.nodes().map(|it| it.node).collect::<Vec<_>>().join(between);
        if before.nodes().any(|old| !rank_map.nodes().any(|now| now.node == old.node)) {
            let text = Text::new(
                format!("节点已更换：原为 {}，现为 {}", names(before, "、"), names(rank_map, "、")),
                format!("the nodes are {} now; they were {}", names(rank_map, ", "), names(before, ", ")),
            );
            self.note("nodes.replaced", text);
        }
    }

    /// A new generation: the first node is wanted, the others wait for its port.
    fn launch(&mut self) {
        self.task.generation = Generation(self.task.generation.0 + 1);
        self.task.secret_scheme = SecretScheme::HmacSha256;
        self.task.master_port = None;
        self.task.restart_at_ms = None;
        self.task.told_end = None;
        for node in &mut self.task.nodes {
            node.incarnation = 1;
            node.state = if node.node_rank.0 == 0 { NodeRunState::Wanted } else { NodeRunState::Waiting };
            node.interface = None;
        }
    }

    /// What is started from now on goes by it.
    fn interfaces_found(&mut self, interfaces: Vec<String>, text: Text) {
        let is_known = self.task.nodes.iter().map(|node| node.interface.as_ref()).eq(interfaces.iter().map(Some));
        if is_known || interfaces.len() != self.task.nodes.len() || !self.task.phase.waits_for_launch() {
            return;
        }
        for (node, interface) in self.task.nodes.iter_mut().zip(interfaces) {
            node.interface = Some(interface);
        }
        self.note("preflight.interface", text);
    }

    /// Takes up the launch that runs. What is known of the other nodes is of the launch before, so that something of them
    /// may live until their agents say otherwise.
    fn moved_on(&mut self, run: &RunKey) {
        let is_new_launch = run.generation > self.task.generation;
        if is_new_launch {
            self.task.generation = run.generation;
            self.task.restart_at_ms = None;
            self.task.told_end = None;
            for node in &mut self.task.nodes {
                (node.incarnation, node.state) = (1, NodeRunState::Alive);
            }
        }
        if run.generation == self.task.generation
            && let Some(node) = self.node(run.node_rank)
        {
            (node.incarnation, node.state) = (run.incarnation, NodeRunState::Alive);
        }
        if is_new_launch {
            self.note(
                "task.taken_up",
                Text::new(
                    format!("恢复的数据库落后于实际：该任务已在第 {} 代运行，予以接管", run.generation),
                    format!(
                        "the restored database is behind: the task runs in generation {} and is taken up",
                        run.generation
                    ),
                ),
            );
        }
    }

    pub(super) fn node(&mut self, node: NodeRank) -> Option<&mut NodeRun> {
        self.task.nodes.iter_mut().find(|known| known.node_rank == node)
    }

    fn launch_failed(&mut self, node: NodeRank, message: StoredMessage) {
        let name = self.node(node).map(|node| {
            node.state = NodeRunState::Gone;
            node.name.clone()
        });
        let name = name.unwrap_or_default();
        let StoredMessage { reason, settings } = message;
        let reason = Text::new(format!("{name}：{}", reason.zh), format!("{name}: {}", reason.en));
        self.note("launch.failed", reason.clone());
        if !self.task.phase.is_final() {
            self.fail(Verdict::of(VerdictKind::LaunchRefused { reason, settings }));
        }
        self.requeue_when_swept();
    }

    /// Another try, or another machine, may do: it counts as a launch that was lost.
    fn not_started(&mut self, node: NodeRank, why: &Text) {
        let Some(run) = self.node(node).filter(|run| run.state != NodeRunState::Gone) else { return };
        let name = run.name.clone();
        let reason = Text::new(
            format!("{name}：{}；检查该节点对进程数、打开文件数与内存的限制（ulimit -a）", why.zh),
            format!("{name}: {}; check this node's limits on processes, open files and memory (ulimit -a)", why.en),
        );
        self.note("launch.failed", reason.clone());
        if node.0 == 0 && !self.task.phase.is_final() && self.task.restart_at_ms.is_none() {
            self.launch_lost(Verdict::of(VerdictKind::refused(reason)));
        }
    }

    pub(super) fn gone(&mut self, node: NodeRank, lease: Option<LeaseHolder>, in_order: bool) {
        let Some(run) = self.node(node).filter(|run| run.state != NodeRunState::Gone) else { return };
        run.state = NodeRunState::Gone;
        let name = run.name.clone();
        if let Some(holder) = lease {
            self.note("node.leaseEnded", holder.ended(&name));
            self.name_lease(&name, holder);
        }
        if self.task.phase.is_final() {
            self.requeue_when_swept();
        } else if self.task.restart_at_ms.is_some() {
            // This launch was given up before; it is being swept.
        } else if node.0 == 0 && in_order {
            self.result_lost(&name);
        } else if node.0 == 0 {
            self.coordinator_lost(name, lease);
        } else if self.coordinator_waits() {
            self.replace_members();
        }
        self.stopped_when_swept();
        self.result_is_unknown_when_swept();
        self.requeue_when_swept();
        self.begin_again_when_swept();
    }

    /// Nothing of a task that was asked to stop is left, and no journal said that it has.
    fn stopped_when_swept(&mut self) {
        if self.task.phase == TaskPhase::Stopping && self.task.is_swept() {
            self.task.verdict = Some(self.end_on_request());
            self.turn(TaskEvent::RanksGone);
            self.requeue_when_swept();
        }
    }

    /// The supervisor that decides is gone without a word: the server decides in its place.
    fn coordinator_lost(&mut self, node: String, lease: Option<LeaseHolder>) {
        self.launch_lost(Verdict::of(VerdictKind::SupervisorLost { node, lease }));
    }

    /// The coordinator has seen no more than that a supervisor was gone; its own agent knows why.
    fn name_lease(&mut self, name: &str, holder: LeaseHolder) {
        let of_attempt = self.task.attempts.last_mut().and_then(|attempt| attempt.verdict.as_mut());
        for verdict in of_attempt.into_iter().chain(self.task.verdict.as_mut()) {
            let is_it = matches!(&verdict.kind, VerdictKind::SupervisorLost { node, lease: None } if node == name);
            if is_it {
                *verdict = Verdict::of(VerdictKind::SupervisorLost { node: name.to_owned(), lease: Some(holder) });
            }
        }
    }

    /// A machine is given up: what it had is taken for ended, the other nodes are ended, and a task that may start again
    /// waits in the queue for a machine under that name.
    fn node_lost(&mut self, node: NodeRank) {
        let Some(run) = self.node(node).filter(|run| run.state != NodeRunState::Gone) else { return };
        run.state = NodeRunState::Gone;
        let name = run.name.clone();
        self.note("node.lost", Text::new(format!("节点 {name} 已丢失"), format!("the machine of {name} is lost")));
        if self.task.phase.is_final() {
            self.requeue_when_swept();
            return;
        }
        let lacks_result = node.0 != 0 && self.task.lacks_result();
        if self.task.restart_at_ms.is_none() && !lacks_result {
            self.launch_lost(Verdict::of(VerdictKind::NodeLost { node: name }));
        }
        self.task.requeue = self.task.restart_at_ms.is_some();
        self.stopped_when_swept();
        self.result_is_unknown_when_swept();
        self.requeue_when_swept();
        self.begin_again_when_swept();
    }

    /// Nobody coordinates this launch any more: it is over, and the restart policy says whether there is another.
    fn launch_lost(&mut self, verdict: Verdict) {
        if self.task.stop.is_some() {
            let verdict = self.end_on_request();
            self.fail(verdict);
            return;
        }
        if self.task.has_returned_zero() {
            self.succeed(Verdict::of(VerdictKind::Succeeded));
            return;
        }
        let (number, lived_ms) = self
            .task
            .attempt()
            .map_or((0, 0), |attempt| (attempt.number.get(), self.now_ms.saturating_sub(attempt.started_ms)));
        // The coordinator may have been granted this very restart before it was lost itself.
        let is_counted = self.task.phase == TaskPhase::Restarting && self.task.has_no_open_attempt();
        let restarts_used = self.task.restarts_used.saturating_sub(u32::from(is_counted));
        self.attempt_failed(number, verdict.clone());
        let policy = self.task.spec.policies.restart;
        let decision = healing::decide(
            policy,
            FailedAttempt {
                recurrence: Recurrence::MayPass,
                lived_ms,
                made_progress: true,
                restarts_used,
                start_up_failures_in_a_row: 0,
            },
        );
        match decision {
            Decision::Restart { after_ms } => {
                self.task.restarts_used = restarts_used + 1;
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
        let reason = super::waits_for_first(&name);
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
        if !self.task.is_due(self.now_ms) || self.task.phase != TaskPhase::Restarting {
            return;
        }
        if self.task.has_returned_zero() {
            // The exits of other nodes came after their coordinator was given up.
            self.succeed(Verdict::of(VerdictKind::Succeeded));
            return;
        }
        self.task.resume = true;
        if std::mem::take(&mut self.task.requeue) {
            self.task.restart_at_ms = None;
            self.task.nodes.clear();
            self.turn(TaskEvent::WorkersLost);
        } else {
            self.launch();
            self.turn(TaskEvent::WorkersLeased);
        }
    }

    /// Not all ranks have come up in time: it is over, and says for whom it waited.
    fn start_overdue(&mut self) {
        if self.task.phase == TaskPhase::Starting {
            let missing = self.task.missing_ranks();
            self.fail(Verdict::of(VerdictKind::StartTimedOut { missing, joined: Vec::new() }));
        }
    }

    fn stop_asked(&mut self, request: StopIntent) {
        if self.task.phase.is_final() {
            return;
        }
        let force = request.force || self.task.stop.is_some_and(|stop| stop.force);
        self.task.stop = Some(StopIntent { force, ..request });
        self.turn(TaskEvent::StopRequested);
        // A restart was waiting and nothing runs.
        self.stopped_when_swept();
        if self.task.phase == TaskPhase::Stopped {
            let verdict = self.end_on_request();
            self.task.verdict.get_or_insert(verdict);
        }
        self.requeue_when_swept();
    }

    /// Why a task ends that somebody asked to.
    pub(super) fn end_on_request(&self) -> Verdict {
        let limit = self.task.spec.policies.time_limit;
        match (self.task.stop.map(|stop| stop.cause), limit) {
            (Some(StopCause::TimeLimit), Some(limit)) => Verdict::of(VerdictKind::TimeLimitReached { limit }),
            _ => Verdict::of(VerdictKind::StoppedByUser),
        }
    }

    fn time_limit_reached(&mut self) {
        let Some(limit) = self.task.spec.policies.time_limit.filter(|_| self.task.may_reach_limit()) else {
            return;
        };
        let headline = Verdict::of(VerdictKind::TimeLimitReached { limit }).headline();
        self.note("task.time_limit", headline);
        self.stop_asked(StopIntent { force: false, then_restart: false, cause: StopCause::TimeLimit });
    }

    /// Its ranks get the signals of its ladder, in which they save; then it waits for workers again.
    fn give_way(&mut self, reason: Text) {
        if self.task.phase.is_final() || self.task.stop.is_some() {
            return;
        }
        self.note("task.gives_way", reason);
        self.stop_asked(StopIntent { force: false, then_restart: true, cause: StopCause::GivesWay });
    }

    /// A stop that its user asked for meanwhile stays as it is.
    fn give_way_overdue(&mut self) {
        if let Some(stop) = self.task.stop.as_mut().filter(|stop| stop.cause == StopCause::GivesWay) {
            stop.force = true;
        }
    }

    /// What does not end by itself is ended by its agents.
    fn stop_overdue(&mut self) {
        let Some(stop) = self.task.stop.filter(|stop| !stop.force) else { return };
        self.task.stop = Some(StopIntent { force: true, ..stop });
        let names: Vec<&str> = self.task.open_nodes().map(|node| node.name.as_str()).collect();
        let names = names.join(", ");
        self.note(
            "task.stop_forced",
            Text::new(
                format!("{names} 上的进程没有按时结束，予以强制结束"),
                format!("the processes on {names} have not ended in time and are killed"),
            ),
        );
    }

    fn restart_asked(&mut self) {
        if self.task.phase.is_final() && self.task.is_swept() {
            self.begin_anew();
        } else if self.task.phase.is_final() {
            self.task.stop = Some(StopIntent::to_restart(true));
        } else {
            self.stop_asked(StopIntent::to_restart(false));
        }
    }

    fn requeue_when_swept(&mut self) {
        if self.task.waits_again() && self.task.phase.is_final() && self.task.is_swept() {
            self.begin_anew();
        }
    }

    /// The same task from the queue on, with fresh restarts; attempts go on counting.
    fn begin_anew(&mut self) {
        self.task.gave_way = self.task.stop.is_some_and(|stop| stop.cause == StopCause::GivesWay);
        self.task.stop = None;
        self.task.verdict = None;
        self.task.ended_ms = None;
        self.task.restarts_used = 0;
        self.forget_wait();
        self.task.nodes.clear();
        self.task.resume = !self.task.attempts.is_empty();
        self.turn(TaskEvent::RestartAsked);
    }
}

pub(super) fn kind_of(phase: TaskPhase) -> &'static str {
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
