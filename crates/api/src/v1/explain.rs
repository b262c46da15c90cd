//! Why a task is where it is.

use fermi_domain::language::Text;
use fermi_domain::phase::TaskPhase;
use fermi_domain::task::NodeRunState;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Attempt, Event, TaskCourse, Verdict};

/// The answer to `GET /training-tasks/{id}/explain`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub task_id: String,
    pub name: String,
    pub status: TaskPhase,
    pub status_text: Text,
    /// One sentence that says why.
    pub summary: Text,
    /// What to do about it.
    pub advice: Option<Text>,
    pub waiting_for: Vec<WaitingFor>,
    /// Where it stands in the queue; null for a task that does not wait there.
    pub queue: Option<QueuePlace>,
    pub nodes: Vec<NodeWish>,
    pub verdict: Option<Verdict>,
    pub attempts: Vec<Attempt>,
    pub restarts_used: u32,
    pub max_restarts: u32,
    #[serde(flatten)]
    pub course: TaskCourse,
    /// The last events, oldest first.
    pub events: Vec<Event>,
}

/// A place in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuePlace {
    /// How many tasks that could use the same workers are before it; in a very long queue at least so many.
    pub before: u32,
    /// When it starts, as the queue is now; null where a task before it states no time limit.
    pub starts_by: Option<u64>,
    /// Whether that is a promise, because workers are kept for it.
    pub is_promised: bool,
    /// The first of those that are before it.
    #[serde(default)]
    pub ahead: Vec<QueuedTask>,
    /// Workers that it could have and that are kept: for itself, or for a task before it.
    #[serde(default)]
    pub reservation: Option<ReservedWorkers>,
}

/// A task in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedTask {
    pub task_id: String,
    pub name: String,
}

/// What is kept for a task that is first in line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReservedWorkers {
    pub task_id: String,
    pub name: String,
    /// The first of them.
    pub workers: Vec<String>,
    pub worker_count: u64,
    /// When all of them are there at the latest; null where that is not known.
    pub from: Option<u64>,
    pub text: Text,
}

/// A worker that the task needs and does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingFor {
    pub environment: String,
    pub environment_name: String,
    pub worker: Option<String>,
    /// The task that holds it.
    pub task_id: Option<String>,
    pub text: Text,
}

/// What a node is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeWish {
    pub environment: String,
    pub name: String,
    pub node_rank: u32,
    pub state: NodeRunState,
    /// `rest`, `launch`, `stop` or `kill`.
    pub wish: String,
    pub text: Text,
    /// Over which its ranks talk, where a preflight has found that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}
