//! What time is spent on.

use serde::{Deserialize, Serialize};

use crate::language::Text;

/// Why a second went by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Cause {
    /// Steps were made that no attempt had made before.
    Productive,
    /// Ranks ran, and neither their pulses nor their progress files told of a step.
    NoSteps,
    /// Waiting for workers.
    Queue,
    /// Making ready and starting processes.
    Spawn,
    Import,
    /// Ranks meet.
    Init,
    /// The model and its data are made or read.
    Load,
    /// From the first pass through the model to the end of the first step: compilation, warm-up.
    FirstStep,
    /// Steps stood still while a checkpoint was written.
    CheckpointStall,
    /// A rank was late, and came.
    SlowRank,
    /// Nothing moved any more.
    Hang,
    /// A rank had failed, and the others were not stopped yet.
    Detect,
    Stop,
    BackOff,
    NodeWait,
    /// Steps were made again that an earlier attempt had made.
    Recompute,
}

impl Cause {
    pub const ALL: [Self; 16] = [
        Self::Productive,
        Self::NoSteps,
        Self::Queue,
        Self::Spawn,
        Self::Import,
        Self::Init,
        Self::Load,
        Self::FirstStep,
        Self::CheckpointStall,
        Self::SlowRank,
        Self::Hang,
        Self::Detect,
        Self::Stop,
        Self::BackOff,
        Self::NodeWait,
        Self::Recompute,
    ];

    /// As it is written where programs read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Productive => "productive",
            Self::NoSteps => "noSteps",
            Self::Queue => "queue",
            Self::Spawn => "spawn",
            Self::Import => "import",
            Self::Init => "init",
            Self::Load => "load",
            Self::FirstStep => "firstStep",
            Self::CheckpointStall => "checkpointStall",
            Self::SlowRank => "slowRank",
            Self::Hang => "hang",
            Self::Detect => "detect",
            Self::Stop => "stop",
            Self::BackOff => "backOff",
            Self::NodeWait => "nodeWait",
            Self::Recompute => "recompute",
        }
    }

    pub fn text(self) -> Text {
        match self {
            Self::Productive => Text::new("有效训练", "productive"),
            Self::NoSteps => Text::new("运行中（未见训练步）", "running, no steps seen"),
            Self::Queue => Text::new("排队", "queue"),
            Self::Spawn => Text::new("启动进程", "spawn"),
            Self::Import => Text::new("导入", "import"),
            Self::Init => Text::new("组建进程组", "init"),
            Self::Load => Text::new("加载", "load"),
            Self::FirstStep => Text::new("首步", "first step"),
            Self::CheckpointStall => Text::new("保存检查点", "saving"),
            Self::SlowRank => Text::new("等待慢 rank", "slow rank"),
            Self::Hang => Text::new("卡住", "hang"),
            Self::Detect => Text::new("判定故障", "detect"),
            Self::Stop => Text::new("停止", "stop"),
            Self::BackOff => Text::new("重启等待", "back-off"),
            Self::NodeWait => Text::new("等待节点", "wait for a node"),
            Self::Recompute => Text::new("重算", "recompute"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_journal() {
        for cause in Cause::ALL {
            assert_eq!(serde_json::to_value(cause).unwrap(), cause.name());
        }
    }
}
