//! Training tasks.

use std::collections::BTreeMap;

use fermi_domain::framework::Framework;
use fermi_domain::hang::HangNote;
use fermi_domain::language::Text;
use fermi_domain::phase::{AttemptPhase, TaskPhase};
use fermi_domain::rank_map::RankSlot;
use fermi_domain::start_up::WaitNote;
use fermi_domain::task::{NodeRunState, TaskSpec};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{AllowedAction, Ledger, Plan, Principal, Verdict, Warning};

/// Where a task stands.
pub type TaskStatus = TaskPhase;

/// The answer to `POST /training-tasks` and `…/clone`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateAnswer {
    #[schema(example = "task-distributed-001")]
    pub task_id: String,
    pub status: TaskPhase,
    /// Null for one node.
    pub distributed_info: Option<DistributedInfo>,
    /// The line under the message, in the caller's language.
    #[schema(example = "分布式训练 · 3个节点 · 总计14个GPU")]
    pub description: String,
    pub warnings: Vec<Warning>,
    /// What was decided for the launch, in the caller's language; also among the task's events.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The planner's advice, where the model is known: whether it fits, how fast, what would be better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Nothing was made: this is the task that the sweep has for these parameters already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub existing: bool,
}

/// What several nodes are together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DistributedInfo {
    pub node_count: u32,
    pub total_gpus: u32,
    pub master_node: String,
    pub framework: Framework,
}

/// A task in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskRow {
    pub id: String,
    pub name: String,
    pub status: TaskPhase,
    pub status_text: Text,
    /// Why it is where it is, when that is not obvious.
    pub reason: Option<Text>,
    /// One line that says how it ended.
    pub headline: Option<Text>,
    pub framework: Option<Framework>,
    /// Those that it asked for.
    pub environments: Vec<String>,
    pub node_count: u32,
    /// 0 until workers are leased.
    pub world_size: u32,
    /// The newest attempt; 0 before the first.
    pub attempt: u32,
    pub restarts_used: u32,
    /// Who asked for it; not known of tasks of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Principal>,
    pub priority: i32,
    pub labels: BTreeMap<String, String>,
    /// Unix milliseconds.
    pub created_at: u64,
    pub updated_at: u64,
    pub started_at: Option<u64>,
    pub ended_at: Option<u64>,
    pub allowed_actions: Vec<AllowedAction>,
}

/// A task with everything about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    #[serde(flatten)]
    pub row: TaskRow,
    pub distributed_info: Option<DistributedInfo>,
    pub spec: TaskSpec,
    pub generation: u64,
    pub max_restarts: u32,
    /// Unix milliseconds; not before this time, when a restart waits.
    pub restart_at: Option<u64>,
    /// Somebody asked for its end.
    pub stop_requested: bool,
    pub progress: Option<Progress>,
    /// Oldest first.
    pub attempts: Vec<Attempt>,
    /// In the order of node ranks; the first one coordinates.
    pub nodes: Vec<TaskNode>,
    /// Who is which rank, since workers were leased.
    pub rank_map: Vec<RankSlot>,
    pub master_port: Option<u16>,
    pub verdict: Option<Verdict>,
    #[serde(flatten)]
    pub course: TaskCourse,
    pub warnings: Vec<Warning>,
}

/// Where a task's time has gone, and what holds it up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskCourse {
    /// Where its time has gone so far; not known of tasks of older releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Ledger>,
    /// Who hangs, and where, while nothing moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hang: Option<HangNote>,
    /// Which ranks wait for which others, while they have not met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<WaitNote>,
}

/// How far rank 0 is, by what it last reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub step: u64,
    pub total_steps: Option<u64>,
    pub epoch: Option<f64>,
    pub loss: Option<f64>,
    pub tokens_per_s: Option<f64>,
    /// By the pace of this attempt.
    pub eta_seconds: Option<u64>,
    /// Unix milliseconds of the report.
    pub reported_at: Option<u64>,
}

/// One launch of all ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    pub number: u32,
    pub generation: u64,
    pub status: AttemptPhase,
    pub status_text: Text,
    pub started_at: u64,
    pub ended_at: Option<u64>,
    /// Whether it continued from a checkpoint.
    pub resumed: bool,
    /// Ranks that were seen to start.
    pub ranks_started: u32,
    pub verdict: Option<Verdict>,
}

/// A task's run on one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskNode {
    pub environment: String,
    pub name: String,
    pub node_rank: u32,
    pub incarnation: u32,
    pub state: NodeRunState,
    /// Over which its ranks talk, where a preflight has found that; else the way to the first node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "eth1")]
    pub interface: Option<String>,
}
