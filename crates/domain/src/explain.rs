//! Why a task is where it is: what it waits for, what its nodes are asked to do, and what to do about it.
//!
//! [`explain`] finds the reasons as values; each says itself in both languages.

use std::collections::HashMap;

use crate::{
    environment::{Environment, EnvironmentStatus},
    fleet::LastHeard,
    hang::HangNote,
    ids::{EnvironmentId, TaskId, WorkerId},
    language::{Hint, Text},
    phase::TaskPhase,
    placement::WaitReason,
    start_up::{RanksWait, WaitNote},
    task::{DesiredState, NodeRun, NodeRunState, SilentMachine, StopCause, Task},
    verdict::Verdict,
};

/// All that there is to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation<'a> {
    pub summary: Summary<'a>,
    pub obstacles: Vec<Obstacle>,
    pub advice: Option<Advice>,
    /// One per node, in the order of node ranks.
    pub nodes: Vec<NodeTurn<'a>>,
}

/// Where a task stands, in one sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Summary<'a> {
    /// It is over, and its verdict says why.
    Judged(&'a Verdict),
    /// One of its machines is out of reach.
    OutOfReach(SilentMachine),
    /// What was noted when it came here.
    Noted(&'a Text),
    Preparing,
    WaitsForWorkers,
    ComingUp {
        ready: usize,
        nodes: usize,
    },
    /// A rank has reported a step.
    Training {
        ranks: u32,
    },
    /// Nothing moves any more.
    Hangs(&'a HangNote),
    /// Some of its ranks have joined and wait for others.
    RanksWait(&'a WaitNote),
    /// Every rank has been started, and none has reported a step yet.
    Unheard {
        ranks: u32,
    },
    StartsAgain,
    Ending,
    /// A task of higher priority gets its workers.
    GivesWay,
    /// It is over, and nothing says why.
    Over(TaskPhase),
}

/// Something that keeps a task from going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// An environment that the task names does not answer.
    Absent {
        environment: EnvironmentId,
        name: String,
        status: EnvironmentStatus,
        /// Of one that is silent.
        last_heard: Option<LastHeard>,
    },
    /// Another task holds a worker that the task needs.
    Held { environment: EnvironmentId, name: String, worker: WorkerId, holder: TaskId },
}

/// What to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// What the verdict advises.
    OfVerdict(Hint),
    /// What the verdict on a hang advises.
    OfHang(Text),
    /// What to look at of the ranks that others wait for.
    OfWait(Hint),
    WaitOrStop {
        holder: TaskId,
    },
    StartAgent {
        environment: String,
    },
    /// Of a machine that is out of reach while a task has workers on it.
    DeclareLost {
        environment: String,
    },
    /// Of an environment that an operator has taken out of service.
    Resume {
        environment: String,
    },
    /// Whether the ranks have found each other stands in what they write.
    LookAtLogs,
}

/// What a node is asked to do, as its run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTurn<'a> {
    pub node: &'a NodeRun,
    pub desired: DesiredState,
    /// Its machine is out of reach.
    pub is_silent: bool,
}

/// Whether a rank has reported a step in its progress file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepsHeard {
    None,
    Some,
}

/// What is known beside the task.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// As they are now.
    pub environments: &'a [Environment],
    /// When each was last heard.
    pub last_heard: &'a HashMap<EnvironmentId, LastHeard>,
    /// Who has which worker.
    pub leases: &'a HashMap<WorkerId, TaskId>,
    pub progress: StepsHeard,
    /// Why the queue lets it wait.
    pub waiting: Option<&'a WaitReason>,
}

impl Known<'_> {
    /// When an environment was last heard that is out of reach.
    fn silent(&self, id: &EnvironmentId) -> Option<LastHeard> {
        let is_silent = |known: &Environment| known.id == *id && known.status == EnvironmentStatus::Offline;
        self.last_heard.get(id).copied().filter(|_| self.environments.iter().any(is_silent))
    }
}

/// Finds the reasons.
pub fn explain<'a>(task: &'a Task, known: &Known<'_>) -> Explanation<'a> {
    let obstacles = obstacles(task, known);
    let summary = summary(task, known);
    Explanation {
        advice: advice(task, &obstacles, &summary, known),
        summary,
        obstacles,
        nodes: task
            .nodes
            .iter()
            .zip(task.desired_states())
            .map(|(node, desired)| NodeTurn { node, desired, is_silent: known.silent(&node.environment).is_some() })
            .collect(),
    }
}

fn summary<'a>(task: &'a Task, known: &Known<'_>) -> Summary<'a> {
    if let Some(verdict) = task.verdict.as_ref().filter(|_| task.phase.is_final()) {
        return Summary::Judged(verdict);
    }
    if let Some(machine) = task.silent_machine(|id| known.silent(id)).filter(|_| !task.phase.is_final()) {
        return Summary::OutOfReach(machine);
    }
    if let Some(reason) = &task.reason {
        return Summary::Noted(reason);
    }
    if let Some(hang) = task.hang.as_ref().filter(|_| task.phase == TaskPhase::Running) {
        return Summary::Hangs(hang);
    }
    let starts = matches!(task.phase, TaskPhase::Starting | TaskPhase::Running);
    if let Some(waits) = task.waits.as_ref().filter(|_| starts) {
        return Summary::RanksWait(waits);
    }
    match task.phase {
        TaskPhase::Initializing => Summary::Preparing,
        TaskPhase::Queued => Summary::WaitsForWorkers,
        TaskPhase::Starting => {
            let ready = task.nodes.iter().filter(|node| node.state == NodeRunState::Alive).count();
            Summary::ComingUp { ready, nodes: task.nodes.len() }
        }
        TaskPhase::Running => match known.progress {
            StepsHeard::Some => Summary::Training { ranks: task.world_size() },
            StepsHeard::None => Summary::Unheard { ranks: task.world_size() },
        },
        TaskPhase::Restarting => Summary::StartsAgain,
        TaskPhase::Stopping if task.stop.is_some_and(|stop| stop.cause == StopCause::GivesWay) => Summary::GivesWay,
        TaskPhase::Stopping => Summary::Ending,
        TaskPhase::Succeeded | TaskPhase::Failed | TaskPhase::Stopped => Summary::Over(task.phase),
    }
}

/// Only a task in the queue waits for workers; one that has them waits for no other task.
fn obstacles(task: &Task, known: &Known<'_>) -> Vec<Obstacle> {
    let is_queued = matches!(task.phase, TaskPhase::Initializing | TaskPhase::Queued);
    let mut found = Vec::new();
    // What a launch was given may be others than were asked for.
    let is_given =
        |id: &EnvironmentId| is_queued || task.nodes.is_empty() || task.nodes.iter().any(|it| it.environment == *id);
    for environment in task.spec.chosen(known.environments).into_iter().filter(|it| is_given(&it.id)) {
        let (id, name) = (&environment.id, &environment.name);
        // What runs on a drained machine goes on.
        let is_absent = match environment.status {
            EnvironmentStatus::Drained => is_queued,
            status => !status.is_reachable() && !task.phase.is_final(),
        };
        if is_absent {
            found.push(Obstacle::Absent {
                environment: id.clone(),
                name: name.clone(),
                status: environment.status,
                last_heard: known.silent(id),
            });
        }
        if !is_queued {
            continue;
        }
        let wanted = task.spec.distributed.workers.get(id);
        for worker in environment.workers() {
            let holder = known.leases.get(&worker.id).filter(|holder| **holder != task.id);
            let is_wanted = wanted.is_none_or(|wanted| wanted.contains(&worker.id.index()));
            if let Some(holder) = holder.filter(|_| is_wanted) {
                found.push(Obstacle::Held {
                    environment: id.clone(),
                    name: name.clone(),
                    worker: worker.id,
                    holder: holder.clone(),
                });
            }
        }
    }
    found
}

fn advice(task: &Task, obstacles: &[Obstacle], summary: &Summary<'_>, known: &Known<'_>) -> Option<Advice> {
    if let Some(advice) = task.verdict.as_ref().and_then(|verdict| verdict.advice()) {
        return Some(Advice::OfVerdict(advice));
    }
    if let Summary::OutOfReach(machine) = summary {
        return Some(Advice::DeclareLost { environment: machine.name.clone() });
    }
    if let Some(environment) = known.waiting.and_then(WaitReason::silent_machine) {
        return Some(Advice::DeclareLost { environment: environment.to_owned() });
    }
    // Without its machine a task does not start, whoever ends.
    let is_absent = |it: &&Obstacle| matches!(it, Obstacle::Absent { .. });
    match (obstacles.iter().find(is_absent).or(obstacles.first()), summary) {
        (_, Summary::Hangs(hang)) => Some(Advice::OfHang(hang.hint.clone())),
        (Some(Obstacle::Absent { name, status: EnvironmentStatus::Drained, .. }), _) => {
            Some(Advice::Resume { environment: name.clone() })
        }
        (None, Summary::RanksWait(waits)) => Some(Advice::OfWait(RanksWait::hint(&waits.awaited))),
        (Some(Obstacle::Absent { name, .. }), _) => Some(Advice::StartAgent { environment: name.clone() }),
        (Some(Obstacle::Held { holder, .. }), _) => Some(Advice::WaitOrStop { holder: holder.clone() }),
        (_, Summary::Unheard { .. }) => Some(Advice::LookAtLogs),
        _ => None,
    }
}

impl Summary<'_> {
    pub fn text(&self) -> Text {
        match self {
            Self::Judged(verdict) => verdict.headline(),
            Self::OutOfReach(machine) => machine.text(),
            Self::Noted(text) => (*text).clone(),
            Self::Hangs(hang) => hang.text.clone(),
            Self::RanksWait(waits) => {
                Text::new(format!("正在启动：{}", waits.text.zh), format!("is coming up: {}", waits.text.en))
            }
            Self::Preparing => Text::new("任务刚刚创建，正在准备", "the task was just created and is being prepared"),
            Self::WaitsForWorkers => Text::new("等待分配 Worker", "waits for its workers"),
            Self::ComingUp { ready, nodes } => Text::new(
                format!("正在启动：{nodes} 个节点中已有 {ready} 个就绪"),
                format!("is coming up: {ready} of {nodes} nodes are ready"),
            ),
            Self::Training { ranks } => {
                Text::new(format!("全部 {ranks} 个 rank 正在训练"), format!("all {ranks} ranks are training"))
            }
            Self::Unheard { ranks } => Text::new(
                format!("全部 {ranks} 个 rank 已启动，还没有报告任何一步：可能在加载，也可能有 rank 没有加入"),
                format!(
                    "all {ranks} ranks are started, and none has reported a step: they may be loading, or one has not joined"
                ),
            ),
            Self::StartsAgain => {
                Text::new("上一次启动失败，正在重新启动", "the last attempt failed; it is started again")
            }
            Self::Ending => {
                Text::new("有人请求停止，正在等待进程结束", "somebody asked for its end; processes are ending")
            }
            Self::GivesWay => Text::new(
                "正在让位给优先级更高的任务，之后会重新排队",
                "gives its workers to a task of higher priority; it waits again afterwards",
            ),
            Self::Over(phase) => Text::new(format!("任务{}", phase.text().zh), phase.in_english()),
        }
    }
}

impl Obstacle {
    pub fn text(&self) -> Text {
        match self {
            Self::Absent { name, last_heard: Some(last_heard), .. } => {
                let text = last_heard.text(name);
                Text::new(format!("开发环境 {}", text.zh), text.en)
            }
            Self::Absent { name, status, .. } => {
                let status = status.text();
                Text::new(
                    format!("开发环境 {name}：{}", status.zh),
                    format!("the environment {name} is {}", status.en.to_lowercase()),
                )
            }
            Self::Held { worker, holder, .. } => {
                Text::new(format!("{worker} 正被 {holder} 使用"), format!("{worker} is held by {holder}"))
            }
        }
    }
}

impl Advice {
    pub fn hint(&self) -> Hint {
        match self {
            Self::OfVerdict(hint) | Self::OfWait(hint) => hint.clone(),
            Self::OfHang(hint) => hint.clone().into(),
            Self::WaitOrStop { holder } => {
                Hint::new(format!("等待 {holder} 结束，或停止它"), format!("wait for {holder}, or stop it"))
                    .on_command_line(
                        format!("等待 {holder} 结束，或停止它：fermi task stop {holder}"),
                        format!("wait for {holder}, or stop it: fermi task stop {holder}"),
                    )
            }
            Self::LookAtLogs => Hint::new(
                "查看各 rank 的日志；脚本把每一步写入 FERMI_PROGRESS_FILE 后这里会显示进度",
                "look at what the ranks write; once the script writes its steps to FERMI_PROGRESS_FILE they are shown here",
            ),
            Self::Resume { environment } => Hint::new(
                format!("由管理员恢复：fermi env resume {environment}"),
                format!("an operator puts it back into service: fermi env resume {environment}"),
            ),
            Self::DeclareLost { environment } => Hint::new(
                format!(
                    "如机器已关闭且不会自行恢复，运行 fermi env lost {environment}；如机器开着，检查其网络，或在其上启动 fermi agent"
                ),
                format!(
                    "if the machine is off and will not come back by itself: fermi env lost {environment}; if it is on, look \
                     at its network, or start `fermi agent` there"
                ),
            ),
            Self::StartAgent { environment } => Hint::new(
                format!("在 {environment} 上启动 fermi agent"),
                format!("start `fermi agent` on {environment}"),
            ),
        }
    }
}

impl NodeTurn<'_> {
    /// What it is asked for, in one word.
    pub fn word(&self) -> &'static str {
        match self.desired {
            DesiredState::Rest => "rest",
            DesiredState::Launch => "launch",
            DesiredState::Stop => "stop",
            DesiredState::Kill => "kill",
        }
    }

    pub fn text(&self) -> Text {
        let name = &self.node.name;
        match (self.desired, self.node.state) {
            (DesiredState::Launch, _) => Text::new(format!("要求 {name} 启动"), format!("{name} is asked to start")),
            (DesiredState::Stop, _) => Text::new(format!("要求 {name} 停止"), format!("{name} is asked to stop")),
            (DesiredState::Kill, _) => {
                Text::new(format!("要求 {name} 立即结束全部进程"), format!("{name} is asked to end everything now"))
            }
            (DesiredState::Rest, NodeRunState::Waiting) => {
                Text::new(format!("{name} 等待主节点的端口"), format!("{name} waits for the first node's port"))
            }
            (DesiredState::Rest, NodeRunState::Gone) => {
                Text::new(format!("{name} 上已没有进程"), format!("no process is left on {name}"))
            }
            (DesiredState::Rest, NodeRunState::Wanted | NodeRunState::Alive) if self.is_silent => Text::new(
                format!("{name} 失去联系，是否仍在运行未知"),
                format!("{name} is out of reach: whether it still runs is not known"),
            ),
            (DesiredState::Rest, NodeRunState::Wanted | NodeRunState::Alive) => {
                Text::new(format!("{name} 正在运行"), format!("{name} is running"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        environment::tests::environment,
        language::FrontEnd,
        rank_map,
        task::{OnDisconnect, Standby, TaskInput},
        units::Seconds,
        verdict::VerdictKind,
    };

    /// A task on all of `a` and on worker 1 of `b`, with the environments it names.
    fn task() -> (Task, Vec<Environment>) {
        let spec = serde_json::from_value(serde_json::json!({
            "name": "x", "work": {"kind": "builtin"},
            "distributed": {"enabled": true, "nodeIds": ["a", "b"], "masterNode": "a", "workers": {"b": [1]}}
        }));
        let known = vec![environment("a", "gn1", 2, "A100", "z"), environment("b", "gn2", 2, "A100", "z")];
        (Task::new("task-2".into(), spec.unwrap(), 1), known)
    }

    fn held(workers: &[&str]) -> HashMap<WorkerId, TaskId> {
        workers.iter().map(|worker| (worker.parse().unwrap(), TaskId::from("task-1"))).collect()
    }

    /// What is said where every machine was last heard in the second minute.
    fn told<'a>(
        task: &'a Task,
        environments: &[Environment],
        leases: &HashMap<WorkerId, TaskId>,
        progress: StepsHeard,
    ) -> Explanation<'a> {
        let last_heard = environments.iter().map(|it| (it.id.clone(), LastHeard::At(119_000))).collect();
        explain(task, &Known { environments, last_heard: &last_heard, leases, progress, waiting: None })
    }

    #[test]
    fn a_task_in_the_queue_names_who_holds_its_workers_and_no_others() {
        let (task, known) = task();
        let leases = held(&["gn1-0", "gn2-0"]);
        let found = told(&task, &known, &leases, StepsHeard::None);
        assert_eq!(found.summary, Summary::Preparing);
        let texts: Vec<String> = found.obstacles.iter().map(|it| it.text().en.into_owned()).collect();
        assert_eq!(texts, ["gn1-0 is held by task-1"]);
        assert_eq!(found.advice, Some(Advice::WaitOrStop { holder: "task-1".into() }));
    }

    #[test]
    fn a_drained_machine_holds_up_those_who_wait_and_not_who_runs() {
        let (mut task, mut known) = task();
        known[1].status = EnvironmentStatus::Drained;
        let waits = told(&task, &known, &HashMap::new(), StepsHeard::None);
        assert_eq!(waits.advice, Some(Advice::Resume { environment: "gn2".into() }));
        let leases = held(&["gn1-0", "gn2-1"]);
        let waits = told(&task, &known, &leases, StepsHeard::None);
        assert_eq!(waits.obstacles.len(), 3);
        assert_eq!(waits.advice, Some(Advice::Resume { environment: "gn2".into() }), "the end of others is not enough");
        task.phase = TaskPhase::Running;
        let runs = told(&task, &known, &HashMap::new(), StepsHeard::None);
        assert_eq!((runs.obstacles, runs.advice), (Vec::new(), Some(Advice::LookAtLogs)));
    }

    #[test]
    fn a_machine_that_is_not_there_is_named_with_what_to_do() {
        let (mut task, mut known) = task();
        known[1].status = EnvironmentStatus::Offline;
        task.apply(TaskInput::MustWait { reason: Text::new("等", "waits for gn2") }, 2);
        let found = told(&task, &known, &HashMap::new(), StepsHeard::None);
        assert_eq!(found.summary.text().en, "waits for gn2");
        assert!(matches!(&found.obstacles[..], [Obstacle::Absent { name, .. }] if name == "gn2"));
        assert_eq!(found.advice.unwrap().hint().spelled(FrontEnd::Api).en, "start `fermi agent` on gn2");
    }

    #[test]
    fn a_machine_out_of_reach_is_named_since_when_until_when_and_with_what_the_operator_can_do() {
        let (mut task, mut known) = task();
        let rank_map = rank_map::of_spec(&task.spec, &known).unwrap();
        task.apply(TaskInput::Placed { rank_map }, 2);
        task.phase = TaskPhase::Running;
        task.nodes.iter_mut().for_each(|node| node.state = NodeRunState::Alive);
        known[1].status = EnvironmentStatus::Offline;
        let leases = HashMap::new();
        let found = told(&task, &known, &leases, StepsHeard::Some);
        let text = found.summary.text();
        assert_eq!(
            text.en,
            "gn2 is out of reach since 1970-01-01 00:01 UTC; what trains there may go on; the task sets no limit to that: until it \
             is back or declared lost, its workers stay with the task"
        );
        assert!(text.zh.contains("gn2 自 1970-01-01 00:01 UTC 起失去联系"), "{}", text.zh);
        let hint = found.advice.unwrap().hint().spelled(FrontEnd::Api);
        assert!(hint.en.contains("fermi env lost gn2") && hint.zh.contains("fermi env lost gn2"), "{hint:?}");
        assert_eq!(found.obstacles[0].text().en, "gn2 is out of reach since 1970-01-01 00:01 UTC");
        let turns: Vec<String> = found.nodes.iter().map(|turn| turn.text().en.into_owned()).collect();
        assert!(turns.contains(&"gn2 is out of reach: whether it still runs is not known".to_owned()), "{turns:?}");
        task.phase = TaskPhase::Restarting;
        task.spec.policies.on_disconnect = OnDisconnect::StopAfter(Seconds(60));
        let text = told(&task, &known, &leases, StepsHeard::Some).summary.text().en;
        assert!(
            text.contains("; the task waits for it; its processes have ended at 1970-01-01 00:04 UTC at"),
            "{text}"
        );
        task.spec.policies.standby = Standby::Replace;
        task.spec.distributed.standby = vec!["gn3-0".parse().unwrap()];
        let text = told(&task, &known, &leases, StepsHeard::Some).summary.text().en;
        assert!(text.ends_with("take its place once it is declared lost, or that time has passed"), "{text}");
        task.nodes[1].state = NodeRunState::Gone;
        assert_eq!(
            told(&task, &known, &leases, StepsHeard::Some).summary,
            Summary::StartsAgain,
            "nothing of it is there"
        );
    }

    #[test]
    fn a_task_that_comes_up_waits_for_nobody_and_says_what_its_nodes_shall_do() {
        let (mut task, known) = task();
        let rank_map = rank_map::of_spec(&task.spec, &known).unwrap();
        task.apply(TaskInput::Placed { rank_map }, 2);
        let leases = held(&["gn1-0"]);
        let found = told(&task, &known, &leases, StepsHeard::None);
        assert_eq!(found.summary, Summary::ComingUp { ready: 0, nodes: 2 });
        assert_eq!((found.obstacles.len(), found.advice.is_none()), (0, true));
        let turns: Vec<(&str, String)> =
            found.nodes.iter().map(|turn| (turn.word(), turn.text().en.into_owned())).collect();
        assert_eq!(
            turns,
            [("launch", "gn1 is asked to start".into()), ("rest", "gn2 waits for the first node's port".into())]
        );
    }

    #[test]
    fn a_task_of_which_no_step_was_heard_is_not_called_training() {
        let (mut task, known) = task();
        task.phase = TaskPhase::Running;
        let silent = told(&task, &known, &HashMap::new(), StepsHeard::None);
        assert!(silent.summary.text().en.contains("none has reported a step"), "{:?}", silent.summary);
        assert_eq!(silent.advice, Some(Advice::LookAtLogs));
        let heard = told(&task, &known, &HashMap::new(), StepsHeard::Some);
        assert_eq!(heard.summary, Summary::Training { ranks: task.world_size() });
        assert_eq!(heard.advice, None);
    }

    #[test]
    fn the_verdict_of_a_task_that_is_over_speaks_before_anything_else() {
        let (mut task, mut known) = task();
        known[0].status = EnvironmentStatus::Offline;
        task.reason = Some(Text::new("旧", "old"));
        task.phase = TaskPhase::Failed;
        task.verdict = Some(Verdict::of(VerdictKind::supervisor_lost("gn1")));
        let found = told(&task, &known, &HashMap::new(), StepsHeard::None);
        assert!(matches!(found.summary, Summary::Judged(_)));
        assert!(found.obstacles.is_empty());
        task.verdict = None;
        task.reason = None;
        assert_eq!(told(&task, &known, &HashMap::new(), StepsHeard::None).summary.text().en, "the task has failed");
    }
}
