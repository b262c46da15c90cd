//! The ranks of a task.

use fermi_domain::exit::Exit;
use fermi_domain::language::Text;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a rank stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum RankState {
    /// Not started in this attempt.
    Waiting,
    Running,
    Succeeded,
    Failed,
    /// Ended because somebody asked for the end of the task or for another launch.
    Stopped,
}

impl RankState {
    /// The word that pages show.
    pub fn text(self) -> Text {
        match self {
            Self::Waiting => Text::new("等待中", "waiting"),
            Self::Running => Text::new("运行中", "running"),
            Self::Succeeded => Text::new("已完成", "succeeded"),
            Self::Failed => Text::new("失败", "failed"),
            Self::Stopped => Text::new("已停止", "stopped"),
        }
    }
}

/// One rank of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rank {
    pub attempt: u32,
    pub rank: u32,
    pub local_rank: u32,
    pub node_rank: u32,
    pub worker: String,
    pub environment: String,
    pub node: String,
    pub gpu: Option<u32>,
    pub state: RankState,
    pub state_text: Text,
    pub pid: Option<i32>,
    pub started_at: Option<u64>,
    pub ended_at: Option<u64>,
    pub exit: Option<Exit>,
    pub exit_text: Option<String>,
    /// In CPUs, with all its children: 1.5 is one and a half.
    pub cpus: Option<f32>,
    /// In bytes, with all its children.
    pub memory: Option<u64>,
    pub step: Option<u64>,
    pub loss: Option<f64>,
}
