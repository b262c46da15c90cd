//! Why an attempt ended. A failed training is a value, not an error.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    exit::{Exit, signal_name},
    failure::{Diagnosis, FailureClass, Role, Traceback},
    ids::Rank,
    language::{Hint, Setting, Text, reason},
    pulse::Phase,
    start_up::{AwaitedRank, Standing, waited_in_vain},
    units::Seconds,
};

/// The end of an attempt, with all that a person needs to understand it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Whose matter it is; none when nothing went wrong.
    pub class: Option<FailureClass>,
    pub kind: VerdictKind,
    /// The rank that failed first, when ranks failed.
    pub first: Option<FailedRank>,
    /// What the first rank's evidence says.
    pub diagnosis: Option<Diagnosis>,
    /// The last lines of the first rank.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// The first rank's traceback.
    pub traceback: Option<Traceback>,
    /// Where the first rank's log lies, on the machine of its node; older releases do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// Ranks that failed after the first, in the order in which they did.
    #[serde(default)]
    pub others: Vec<OtherFailure>,
}

/// The ways in which an attempt ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub enum VerdictKind {
    /// Every rank returned 0.
    Succeeded,
    /// A rank ended with anything else.
    RankFailed,
    /// Ranks or nodes did not come up in time.
    StartTimedOut {
        missing: Vec<MissingRank>,
        /// Those that were there and waited; not known of an attempt whose nodes did not all come.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        joined: Vec<Rank>,
    },
    /// Somebody asked for the end.
    StoppedByUser,
    /// It has had its workers for as long as it may.
    TimeLimitReached { limit: Seconds },
    /// The process that supervises a node's ranks died, and took them with it.
    SupervisorLost {
        node: String,
        /// Whose lease it was that ended it, where one did; older releases do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseHolder>,
    },
    /// A node was silent for longer than the task allows.
    NodeLost { node: String },
    /// The run was brought to its end on its first node, and nobody knows how: the disk there took neither journal nor result.
    ResultUnknown { node: String },
    /// A newer generation of the same run writes its checkpoints.
    Superseded { node: String, generation: u64 },
    /// Nothing was started: the request, a port or a file was not as it must be.
    LaunchRefused {
        reason: Text,
        /// What its user would set differently, by name, so that each front end spells it its own way.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        settings: Vec<Setting>,
    },
}

/// From whom a node holds the lease without which its ranks end by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LeaseHolder {
    /// The first node of an elastic run.
    Coordinator,
    /// The server, by a task that must not outlive its connection.
    Server,
}

/// A rank with its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedRank {
    pub rank: Rank,
    pub node: String,
    pub exit: Exit,
}

/// A rank that failed after the first one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherFailure {
    #[serde(flatten)]
    pub failed: FailedRank,
    /// How long after the first it ended; negative where a victim was seen before its cause.
    pub after_ms: i64,
    pub role: Option<Role>,
}

/// A rank for which an attempt waited in vain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissingRank {
    pub rank: Rank,
    pub node: String,
    /// What it did; not known of ranks without the hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
}

impl Verdict {
    /// An end that needs no evidence: success, a stop, a lost node, a refusal. The class follows from the kind.
    pub fn of(kind: VerdictKind) -> Self {
        let class = match kind {
            VerdictKind::Succeeded | VerdictKind::StoppedByUser | VerdictKind::TimeLimitReached { .. } => None,
            VerdictKind::RankFailed | VerdictKind::LaunchRefused { .. } => Some(FailureClass::User),
            VerdictKind::StartTimedOut { .. }
            | VerdictKind::NodeLost { .. }
            | VerdictKind::ResultUnknown { .. }
            | VerdictKind::SupervisorLost { lease: Some(_), .. } => Some(FailureClass::Infrastructure),
            VerdictKind::SupervisorLost { .. } | VerdictKind::Superseded { .. } => Some(FailureClass::Platform),
        };
        Self {
            class,
            kind,
            first: None,
            diagnosis: None,
            evidence: Vec::new(),
            traceback: None,
            log: None,
            others: Vec::new(),
        }
    }

    /// The end by a failed rank. Without a diagnosis the script itself is the likeliest culprit.
    pub fn rank_failed(first: FailedRank, diagnosis: Option<Diagnosis>) -> Self {
        let class = diagnosis.as_ref().map_or(FailureClass::User, |diagnosis| diagnosis.class);
        Self { class: Some(class), first: Some(first), diagnosis, ..Self::of(VerdictKind::RankFailed) }
    }

    /// Whether every rank did what it was asked.
    pub fn is_success(&self) -> bool {
        self.kind == VerdictKind::Succeeded
    }

    fn is_hang(&self) -> bool {
        // One that has returned, and for which others waited, has ended early.
        let runs = self.first.as_ref().is_some_and(|first| !first.exit.is_success());
        runs && self.diagnosis.as_ref().is_some_and(|diagnosis| diagnosis.id == Diagnosis::HANG)
    }

    /// One line that says what happened, where, and to whom.
    pub fn headline(&self) -> Text {
        match &self.kind {
            VerdictKind::Succeeded => Text::new("训练完成", "the training finished"),
            VerdictKind::RankFailed if self.is_hang() => {
                let (rank, node) =
                    self.first.as_ref().map(|first| (first.rank, first.node.as_str())).unwrap_or_default();
                Text::new(
                    format!("节点 {node} 上的 rank {rank} 卡住，本次运行被终止"),
                    format!("rank {rank} on {node} hung and was ended"),
                )
            }
            VerdictKind::RankFailed => {
                self.first.as_ref().map_or_else(|| Text::new("有 rank 失败", "a rank failed"), FailedRank::headline)
            }
            VerdictKind::StartTimedOut { missing, joined } => missing_headline(missing, joined),
            VerdictKind::StoppedByUser => Text::new("训练已被用户停止", "the training was stopped by its user"),
            VerdictKind::TimeLimitReached { limit } => {
                let limit = limit.written();
                Text::new(format!("已达到时限 {limit}，训练被停止"), format!("stopped at its time limit of {limit}"))
            }
            VerdictKind::SupervisorLost { node, lease: None } => Text::new(
                format!("节点 {node} 上的 supervisor 已退出，其全部进程随之结束"),
                format!("the supervisor on {node} died, and its processes with it"),
            ),
            VerdictKind::SupervisorLost { node, lease: Some(holder) } => holder.ended(node),
            VerdictKind::NodeLost { node } => {
                Text::new(format!("节点 {node} 失去联系"), format!("the node {node} was lost"))
            }
            VerdictKind::ResultUnknown { node } => Text::new(
                format!("训练在 {node} 上已结束，但结果未能保存或随数据库恢复而丢失，无法得知是否成功"),
                format!(
                    "the training ended on {node}, and how is not known: its result could not be kept, or was lost when the database was restored"
                ),
            ),
            VerdictKind::Superseded { node, generation } => Text::new(
                format!("节点 {node} 发现本任务的第 {generation} 代正在写入同一检查点，本代已结束"),
                format!(
                    "{node} found generation {generation} of this task writing its checkpoints, and this one ended"
                ),
            ),
            VerdictKind::LaunchRefused { reason, .. } => {
                Text::new(format!("未能启动：{}", reason.zh), format!("the launch was refused: {}", reason.en))
            }
        }
    }

    /// What to do about it: the diagnosis says, or the kind of end itself.
    pub fn advice(&self) -> Option<Hint> {
        self.diagnosis.as_ref().map(|diagnosis| diagnosis.advice.clone().into()).or_else(|| self.kind.advice())
    }

    /// How many others failed, and how many of them only because the first did.
    pub fn others_summary(&self) -> Option<Text> {
        let others = self.others.len();
        let victims = self.others.iter().filter(|other| other.role == Some(Role::Victim)).count();
        let ranks = if others == 1 { "rank" } else { "ranks" };
        match (others, victims) {
            (0, _) => None,
            (_, 0) => Some(Text::new(
                format!("之后另有 {others} 个 rank 失败"),
                format!("{others} more {ranks} failed after it"),
            )),
            _ => Some(Text::new(
                format!("之后另有 {others} 个 rank 失败，其中 {victims} 个是受害者"),
                format!("{others} more {ranks} failed after it, {victims} of them as victims"),
            )),
        }
    }
}

impl VerdictKind {
    /// Nothing was started, for a reason that no setting changes.
    pub fn refused(reason: Text) -> Self {
        Self::LaunchRefused { reason, settings: Vec::new() }
    }

    fn advice(&self) -> Option<Hint> {
        match self {
            Self::StartTimedOut { missing, .. } if missing.is_empty() => {
                let [nodes, address, port] = [Setting::Nodes, Setting::MasterAddress, Setting::MasterPort];
                let [endpoint, patience] = [Setting::RendezvousEndpoint, Setting::JoinTimeout];
                let hint = Hint::new(
                    "检查各节点的 fermi agent 是否在运行，以及节点之间的防火墙是否放行主节点端口",
                    "see that fermi agent runs on every node, and that the firewall between them lets the master's port \
                     through",
                );
                Some(hint.on_command_line(
                    format!(
                        "在每个节点上用相同的 {nodes}、{address} 和 {port}（或相同的 {endpoint}）启动，并检查防火墙是否放行该端口；{patience} 可延长等待"
                    ),
                    format!(
                        "start every node with the same {nodes}, {address} and {port} (or the same {endpoint}), and see that the \
                         firewall lets the port through; {patience} makes the wait longer"
                    ),
                ))
            }
            Self::StartTimedOut { .. } => Some(Hint::new(
                "查看这些 rank 的日志：它们在运行，但没有连接 MASTER_PORT，也没有上报进度（仍在导入、下载，或卡住）",
                "look at the logs of these ranks: they run, but have neither connected to MASTER_PORT nor reported a step \
                 (still importing or downloading, or stuck)",
            )),
            Self::SupervisorLost { node, lease: Some(LeaseHolder::Coordinator) } => {
                let patience = Setting::NodeLostAfter;
                Some(Hint::new(
                    format!("检查 {node} 与主节点之间的网络，以及这两台机器是否过载；{patience} 决定容忍多久"),
                    format!(
                        "look at the network between {node} and the first node, and whether one of the two is overloaded; \
                         {patience} says how long to bear with it"
                    ),
                ))
            }
            Self::SupervisorLost { node, lease: Some(LeaseHolder::Server) } => Some(Hint::new(
                format!("检查 {node} 与服务器之间的网络；{} 决定断连多久后结束", Setting::StopAfter),
                format!(
                    "look at the network between {node} and the server; {} says after how long a task that is cut off ends",
                    Setting::StopAfter
                ),
            )),
            Self::SupervisorLost { node, lease: None } => Some(Hint::new(
                format!("查看 {node} 上是否有人或 OOM 终止了 fermi 进程（dmesg），然后重新启动"),
                format!("see whether somebody or the kernel ended fermi on {node} (dmesg), then start again"),
            )),
            Self::NodeLost { node } => {
                let patience = Setting::NodeLostAfter;
                Some(Hint::new(
                    format!("检查 {node} 是否宕机或断网；{patience} 决定容忍多久"),
                    format!("see whether {node} is down or off the network; {patience} says how long to bear with it"),
                ))
            }
            Self::ResultUnknown { node } => Some(Hint::new(
                format!(
                    "查看日志和最新检查点，判断训练是否已经完成；检查 {node} 的磁盘（已满或出错）。系统不会自动重新运行它；手动重启会从最新检查点继续"
                ),
                format!(
                    "see by its logs and its newest checkpoint whether it was done, and look at the disk of {node} (full, or failing). It is \
                     not run again by itself; a restart goes on from the newest checkpoint"
                ),
            )),
            Self::Superseded { generation, .. } => Some(Hint::new(
                format!("无需处理：第 {generation} 代继续训练"),
                format!("nothing to do: generation {generation} trains on"),
            )),
            Self::LaunchRefused { settings, .. } => Hint::check(settings),
            Self::TimeLimitReached { .. } => {
                let limit = Setting::TimeLimit;
                Some(Hint::new(
                    format!("重新启动会从最新检查点继续；{limit} 决定最多运行多久"),
                    format!("a restart goes on from the newest checkpoint; {limit} says for how long it may run"),
                ))
            }
            Self::Succeeded | Self::RankFailed | Self::StoppedByUser => None,
        }
    }
}

impl VerdictKind {
    /// The supervisor of this node is gone, and nothing says why.
    pub fn supervisor_lost(node: impl Into<String>) -> Self {
        Self::SupervisorLost { node: node.into(), lease: None }
    }
}

impl LeaseHolder {
    /// What happened on a node whose lease from this one has ended.
    pub fn ended(self, node: &str) -> Text {
        match self {
            Self::Coordinator => Text::new(
                format!("节点 {node} 太久没有得到主节点的回答，按租约结束了自己的全部进程"),
                format!("{node} had no answer from the first node for too long, and ended its processes by its lease"),
            ),
            Self::Server => Text::new(
                format!("节点 {node} 与服务器断连的时间达到任务允许的上限，按租约结束了自己的全部进程"),
                format!(
                    "{node} was cut off from the server for as long as the task allows, and ended its processes by its lease"
                ),
            ),
        }
    }
}

impl FailedRank {
    /// "rank 3 on gn6 was killed by SIGKILL".
    pub fn headline(&self) -> Text {
        let Self { rank, node, exit } = self;
        match exit {
            Exit::Code { code: 0 } => Text::new(
                format!("节点 {node} 上的 rank {rank} 过早正常退出"),
                format!("rank {rank} on {node} ended early, with exit code 0"),
            ),
            Exit::Code { code } => Text::new(
                format!("节点 {node} 上的 rank {rank} 以退出码 {code} 结束"),
                format!("rank {rank} on {node} ended with exit code {code}"),
            ),
            Exit::Signal { signal, core_dumped } => {
                let name = signal_name(*signal);
                let (zh, en) = if *core_dumped { ("（已转储核心）", " (core dumped)") } else { ("", "") };
                Text::new(
                    format!("节点 {node} 上的 rank {rank} 被 {name} 终止{zh}"),
                    format!("rank {rank} on {node} was killed by {name}{en}"),
                )
            }
            Exit::NotStarted { error } => {
                let why = reason::of_said(error);
                Text::new(
                    format!("节点 {node} 上的 rank {rank} 未能启动：{}", why.zh),
                    format!("rank {rank} on {node} could not be started: {}", why.en),
                )
            }
        }
    }
}

/// Names the first few that are missing; a list of hundreds is of no help.
fn missing_headline(missing: &[MissingRank], joined: &[Rank]) -> Text {
    if missing.is_empty() {
        return Text::new("启动超时：节点没有全部到齐", "the start timed out: not all nodes came");
    }
    let awaited = missing.iter().map(|missing| AwaitedRank {
        rank: missing.rank.0,
        node: missing.node.clone(),
        standing: Standing::NotJoined,
        phase: missing.phase,
    });
    let joined: Vec<u32> = joined.iter().map(|rank| rank.0).collect();
    waited_in_vain(&awaited.collect::<Vec<_>>(), &joined)
}

#[cfg(test)]
mod tests;
