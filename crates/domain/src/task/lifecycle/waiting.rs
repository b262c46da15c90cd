//! What a task waits for, and for how long it may.

use std::time::Duration;

use crate::{
    fleet::LastHeard,
    ids::{EnvironmentId, NodeRank, Rank},
    language::Text,
    phase::TaskPhase,
    queue::written,
    task::{NodeRun, NodeRunState, OnDisconnect, Policies, Standby, Task},
    verdict::MissingRank,
};

/// How long after its lease nothing of a run can be left on a machine: the agent's last question to the server may have
/// been answered late, and ending ranks takes a moment.
const LEASE_MARGIN: Duration = Duration::from_secs(15);
/// How long after its last rung a stop may take: ranks are reaped, journals written and sent.
const STOP_MARGIN_MS: u64 = 30_000;
/// How many names a sentence lists.
const NAMED: usize = 3;

impl Task {
    /// Why nothing moves, where the task itself has no reason: a machine that is out of reach, or nodes and ranks that have
    /// not come up.
    pub fn waits_for(&self, is_offline: impl Fn(&EnvironmentId) -> bool) -> Option<Text> {
        let is_open = |node: &&NodeRun| matches!(node.state, NodeRunState::Wanted | NodeRunState::Alive);
        if let Some(node) = self.nodes.iter().filter(is_open).find(|node| is_offline(&node.environment)) {
            return Some(waits_for_machine(&node.name, self.phase));
        }
        match self.phase {
            TaskPhase::Starting | TaskPhase::Restarting => self.waits_for_start(),
            TaskPhase::Stopping => self.waits_for_end(),
            _ => None,
        }
    }

    fn waits_for_start(&self) -> Option<Text> {
        let wanted = names(self.nodes.iter().filter(|node| node.state == NodeRunState::Wanted));
        if let Some(names) = wanted {
            return Some(Text::new(format!("等待 {names} 启动"), format!("waits for {names} to start its part")));
        }
        if self.phase == TaskPhase::Restarting {
            return None;
        }
        let missing = self.missing_ranks();
        let behind = names(self.nodes.iter().filter(|node| missing.iter().any(|rank| rank.node == node.name)));
        behind.map(|names| Text::new(format!("等待 {names} 上的 rank 启动"), format!("waits for the ranks on {names}")))
    }

    fn waits_for_end(&self) -> Option<Text> {
        let alive = names(self.nodes.iter().filter(|node| node.state == NodeRunState::Alive));
        alive.map(|names| {
            Text::new(format!("等待 {names} 上的进程结束"), format!("waits for the processes on {names} to end"))
        })
    }

    /// The ranks of this launch that are not known to have been started.
    pub(super) fn missing_ranks(&self) -> Vec<MissingRank> {
        let Some(map) = &self.rank_map else { return Vec::new() };
        let attempt = self.attempt().filter(|attempt| attempt.generation == self.generation);
        let is_up =
            |rank: u32| attempt.is_some_and(|attempt| attempt.ranks.iter().any(|known| known.rank == Rank(rank)));
        let node_of = |environment: &EnvironmentId| self.nodes.iter().find(|node| node.environment == *environment);
        (0..)
            .zip(map.slots())
            .filter(|(rank, _)| !is_up(*rank))
            .filter_map(|(rank, slot)| {
                Some(MissingRank { rank: Rank(rank), node: node_of(&slot.environment)?.name.clone(), phase: None })
            })
            .collect()
    }

    /// Whether the launch has taken longer than its policy allows and not all ranks are up; `unheld_ms` is how long it has
    /// been in its phase since nothing holds it back.
    pub fn is_start_overdue(&self, unheld_ms: u64) -> bool {
        let allowed = self.spec.policies.start_timeout.unwrap_or(Policies::USUAL_START);
        self.phase == TaskPhase::Starting && unheld_ms > allowed.as_millis()
    }

    /// Whether it has had its workers for as long as it may; `placed_ms` is how long it has had them.
    pub fn is_over_limit(&self, placed_ms: u64) -> bool {
        self.may_reach_limit() && self.spec.policies.time_limit.is_some_and(|limit| placed_ms >= limit.as_millis())
    }

    /// Whether it has workers, and nobody has asked for its end yet.
    pub(super) fn may_reach_limit(&self) -> bool {
        let has_workers = matches!(self.phase, TaskPhase::Starting | TaskPhase::Running | TaskPhase::Restarting);
        has_workers && self.stop.is_none()
    }

    /// Whether a stop has taken longer than all its rungs, and then some, on machines that were there to hear it all the
    /// time; `connected_ms` says for how long that has been so, `phase_ms` how long the task has been in its phase.
    pub fn is_stop_overdue(&self, phase_ms: u64, connected_ms: impl Fn(&EnvironmentId) -> Option<u64>) -> bool {
        let allowed = self.spec.policies.stop.planned_ms().saturating_add(STOP_MARGIN_MS);
        let has_heard = |node: &NodeRun| connected_ms(&node.environment).is_some_and(|span| span > allowed);
        // The first node is told to stop, and tells the others.
        let first_has_heard = self.nodes.first().is_none_or(|node| node.state == NodeRunState::Gone || has_heard(node));
        self.phase == TaskPhase::Stopping
            && phase_ms > allowed
            && self.stop.is_some_and(|stop| !stop.force)
            && first_has_heard
            && self.open_nodes().next().is_some()
            && self.open_nodes().all(has_heard)
    }

    /// The nodes on which something of the task may live.
    pub(super) fn open_nodes(&self) -> impl Iterator<Item = &NodeRun> {
        self.nodes.iter().filter(|node| matches!(node.state, NodeRunState::Wanted | NodeRunState::Alive))
    }

    /// The first machine on which something of the task may live and that is out of reach; `last_heard` answers for these
    /// machines alone.
    pub fn silent_machine(&self, last_heard: impl Fn(&EnvironmentId) -> Option<LastHeard>) -> Option<SilentMachine> {
        let (node, last_heard) = self.open_nodes().find_map(|node| Some((node, last_heard(&node.environment)?)))?;
        let until_ms = match self.spec.policies.on_disconnect {
            OnDisconnect::Keep => None,
            OnDisconnect::StopAfter(after) => {
                let margin_ms = u64::try_from(LEASE_MARGIN.as_millis()).unwrap_or(u64::MAX);
                Some(last_heard.ms().saturating_add(after.as_millis()).saturating_add(margin_ms))
            }
        };
        let policies = &self.spec.policies;
        let is_replaced = policies.standby == Standby::Replace && !self.spec.distributed.standby.is_empty();
        Some(SilentMachine { name: node.name.clone(), last_heard, until_ms, phase: self.phase, is_replaced })
    }

    /// The nodes whose lease has run out while nothing was heard of them: their wardens have ended what ran there.
    pub fn nodes_without_lease(&self, silent_for: impl Fn(&EnvironmentId) -> Duration) -> Vec<NodeRank> {
        let OnDisconnect::StopAfter(after) = self.spec.policies.on_disconnect else { return Vec::new() };
        let over_after = Duration::from_secs(after.0).saturating_add(LEASE_MARGIN);
        self.lost_nodes(|environment| silent_for(environment) > over_after)
    }
}

/// A machine that is out of reach and has a part of a task in this phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentMachine {
    pub name: String,
    pub last_heard: LastHeard,
    /// When nothing of the task can be left on it; none where its ranks go on without the server for as long as they like.
    pub until_ms: Option<u64>,
    pub phase: TaskPhase,
    /// Workers of the group stand by to take its place.
    pub is_replaced: bool,
}

impl SilentMachine {
    /// Which machine, since when, what that means for the task, and until when at the latest it is waited for.
    pub fn text(&self) -> Text {
        let goes_on = if matches!(self.phase, TaskPhase::Starting | TaskPhase::Running) {
            Text::new("其上的训练可能仍在进行", "what trains there may go on")
        } else {
            Text::new("任务等待它恢复联系", "the task waits for it")
        };
        let bound = match self.until_ms.map(written) {
            Some(until) => Text::new(
                format!("其上的进程最迟 {until} 结束，之后不再等它"),
                format!("its processes have ended at {until} at the latest, and it is not waited for any longer then"),
            ),
            None => Text::new(
                "任务没有设定失联时限：在它恢复联系或被声明丢失之前，它的 Worker 一直归该任务",
                "the task sets no limit to that: until it is back or declared lost, its workers stay with the task",
            ),
        };
        let text = self.last_heard.text(&self.name).followed_by(&goes_on).followed_by(&bound);
        if !self.is_replaced {
            return text;
        }
        let replaced = match self.until_ms {
            Some(_) => Text::new(
                "被声明丢失或过了时限之后，由待命的 Worker 接替",
                "workers that stand by take its place once it is declared lost, or that time has passed",
            ),
            None => Text::new(
                "被声明丢失之后，由待命的 Worker 接替",
                "workers that stand by take its place once it is declared lost",
            ),
        };
        text.followed_by(&replaced)
    }
}

/// What is said of a task in this phase, one of whose machines is out of reach.
pub fn waits_for_machine(name: &str, phase: TaskPhase) -> Text {
    match phase {
        TaskPhase::Running => Text::new(
            format!("{name} 失去联系，其上的训练不受影响；如机器已关闭，运行 fermi env lost {name}"),
            format!("{name} is out of reach, what trains there goes on; if the machine is off: fermi env lost {name}"),
        ),
        _ => Text::new(
            format!("等待 {name} 恢复联系；如机器已关闭，运行 fermi env lost {name}"),
            format!("waits for {name}, which is out of reach; if the machine is off: fermi env lost {name}"),
        ),
    }
}

fn names<'a>(nodes: impl Iterator<Item = &'a NodeRun>) -> Option<String> {
    let names: Vec<&str> = nodes.map(|node| node.name.as_str()).collect();
    let more = if names.len() > NAMED { " …" } else { "" };
    (!names.is_empty()).then(|| format!("{}{more}", names[..names.len().min(NAMED)].join(", ")))
}
