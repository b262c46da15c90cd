//! What a preflight is doing.

use serde::{Deserialize, Serialize};

use crate::language::Text;

/// One step after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PreflightStep {
    /// The agents are asked.
    Asking,
    /// Nodes come to the first.
    Meeting,
    /// Each looks at itself.
    Looking,
    Latency,
    Bandwidth,
    AllReduce,
    /// An engine does the same by its own means.
    Engine,
    /// Whether all have one folder.
    Folder,
    Over,
}

impl PreflightStep {
    pub fn text(self) -> Text {
        match self {
            Self::Asking => Text::new("请各节点的代理开始", "asking the agents to begin"),
            Self::Meeting => Text::new("节点正在会合", "nodes are meeting"),
            Self::Looking => Text::new("各节点正在查看自己", "nodes look at themselves"),
            Self::Latency => Text::new("正在测量延迟与可达性", "measuring latency and who reaches whom"),
            Self::Bandwidth => Text::new("正在测量带宽", "measuring bandwidth"),
            Self::AllReduce => Text::new("正在做 all-reduce", "all nodes are adding numbers"),
            Self::Engine => Text::new("引擎正在做 all-reduce", "the engine is adding numbers"),
            Self::Folder => Text::new("正在比较文件夹", "comparing the folder"),
            Self::Over => Text::new("已结束", "over"),
        }
    }

    /// How much of a preflight lies before it.
    fn share(self) -> f32 {
        match self {
            Self::Asking => 0.02,
            Self::Meeting => 0.05,
            Self::Looking => 0.15,
            Self::Latency => 0.45,
            Self::Bandwidth => 0.6,
            Self::AllReduce => 0.8,
            Self::Engine => 0.85,
            Self::Folder => 0.95,
            Self::Over => 1.0,
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Asking => Self::Meeting,
            Self::Meeting => Self::Looking,
            Self::Looking => Self::Latency,
            Self::Latency => Self::Bandwidth,
            Self::Bandwidth => Self::AllReduce,
            Self::AllReduce => Self::Engine,
            Self::Engine => Self::Folder,
            Self::Folder | Self::Over => Self::Over,
        }
    }
}

/// How far a preflight is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PreflightProgress {
    pub step: PreflightStep,
    pub text: Text,
    /// 0 to 1.
    pub share: f32,
    /// The names of those who are waited for, where that is known.
    pub waits_for: Vec<String>,
}

impl PreflightProgress {
    pub fn of(step: PreflightStep, done: u32, of: u32, waits_for: Vec<String>) -> Self {
        let within = if of == 0 { 0.0 } else { done.min(of) as f32 / of as f32 };
        let share = step.share() + (step.next().share() - step.share()) * within;
        Self { step, text: step.text(), share, waits_for }
    }
}
