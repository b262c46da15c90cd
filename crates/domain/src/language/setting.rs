//! What a user can set, and what each front end calls it.

use std::borrow::Cow;
use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use super::Language;

/// Where a sentence is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontEnd {
    /// `fermi` in a terminal: settings are flags.
    CommandLine,
    /// JSON: settings are fields of the request.
    Api,
    /// The pages: settings have labels.
    Console,
}

impl FrontEnd {
    pub const ALL: [Self; 3] = [Self::CommandLine, Self::Api, Self::Console];

    /// Its name in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CommandLine => "command-line",
            Self::Api => "api",
            Self::Console => "console",
        }
    }

    /// The front end that a request names.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|front_end| front_end.as_str() == name)
    }
}

/// Something that a user can set and that a sentence may have to name.
///
/// Its `Display` is a mark for [`Hint`](super::Hint), never a word for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Setting {
    MaxRestarts,
    NodeLostAfter,
    Nodes,
    MasterAddress,
    MasterPort,
    NodeRank,
    RendezvousId,
    RendezvousSecret,
    JoinTimeout,
    DataParallel,
    PipelineParallel,
    TensorParallel,
    CheckpointFolder,
    TimeLimit,
    Hook,
    OnHang,
    Warm,
    RendezvousEndpoint,
    StopAfter,
    Dataset,
    Environments,
}

/// What a setting is called.
struct Names {
    flag: &'static str,
    /// The path in the request that creates a task; none where a task has no such setting.
    field: Option<&'static str>,
    zh: &'static str,
    en: &'static str,
}

/// The marks are code points that no script uses and no font shows.
const FIRST_MARK: u32 = 0x10_f000;

impl Setting {
    pub const ALL: [Self; 21] = [
        Self::MaxRestarts,
        Self::NodeLostAfter,
        Self::Nodes,
        Self::MasterAddress,
        Self::MasterPort,
        Self::NodeRank,
        Self::RendezvousId,
        Self::RendezvousSecret,
        Self::JoinTimeout,
        Self::DataParallel,
        Self::PipelineParallel,
        Self::TensorParallel,
        Self::CheckpointFolder,
        Self::TimeLimit,
        Self::Hook,
        Self::OnHang,
        Self::Warm,
        Self::RendezvousEndpoint,
        Self::StopAfter,
        Self::Dataset,
        Self::Environments,
    ];

    fn names(self) -> Names {
        let names = |flag, field, zh, en| Names { flag, field, zh, en };
        match self {
            Self::MaxRestarts => {
                names("--max-restarts", Some("policies.restart.maxRestarts"), "最大重启次数", "Max restarts")
            }
            Self::NodeLostAfter => {
                names("--node-lost-after", Some("policies.nodeLostAfter"), "节点失联时限", "Node lost after")
            }
            Self::Nodes => names("--nnodes", Some("distributedConfig.nodeIds"), "训练节点", "Nodes"),
            Self::MasterAddress => {
                names("--master-addr", Some("distributedConfig.masterNode"), "主节点", "Master node")
            }
            Self::MasterPort => names("--master-port", Some("options.masterPort"), "主节点端口", "Master port"),
            Self::NodeRank => names("--node-rank", None, "节点编号", "Node rank"),
            Self::RendezvousId => names("--rdzv-id", None, "任务标识", "Run id"),
            Self::RendezvousSecret => names("--rdzv-secret", None, "集合口令", "Rendezvous secret"),
            Self::JoinTimeout => names("--join-timeout", None, "节点到齐时限", "Join time-out"),
            Self::DataParallel => {
                names("--data-parallel", Some("distributedConfig.strategy.dataParallel"), "数据并行", "Data parallel")
            }
            Self::PipelineParallel => {
                let field = "distributedConfig.strategy.pipelineParallel";
                names("--pipeline-parallel", Some(field), "流水线并行", "Pipeline parallel")
            }
            Self::TensorParallel => names(
                "--tensor-parallel",
                Some("distributedConfig.strategy.tensorParallel"),
                "张量并行",
                "Tensor parallel",
            ),
            Self::CheckpointFolder => {
                names("--checkpoint-dir", Some("options.checkpointDir"), "检查点文件夹", "Checkpoint folder")
            }
            Self::TimeLimit => names("--time-limit", Some("policies.timeLimit"), "运行时限", "Time limit"),
            Self::Hook => names("--hook", Some("options.hook"), "钩子", "Hook"),
            Self::RendezvousEndpoint => names("--rdzv-endpoint", None, "会合地址", "Rendezvous endpoint"),
            Self::OnHang => names("--on-hang", Some("policies.onHang"), "卡住时", "When ranks hang"),
            Self::Warm => names("--warm", Some("policies.warm"), "备用解释器", "Interpreters kept ready"),
            Self::StopAfter => {
                names("--stop-after", Some("policies.onDisconnect.stopAfter"), "失联后停止", "Stop when cut off")
            }
            Self::Dataset => names("--dataset", Some("datasetId"), "数据集", "Dataset"),
            Self::Environments => names("--env", Some("distributedConfig.nodeIds"), "开发环境", "Environments"),
        }
    }

    /// Its name where the sentence is read. A front end without this setting calls it by its label.
    pub fn spelled(self, front_end: FrontEnd, language: Language) -> Cow<'static, str> {
        let Names { flag, field, zh, en } = self.names();
        match (front_end, field, language) {
            (FrontEnd::CommandLine, ..) => flag.into(),
            (FrontEnd::Api, Some(field), _) => field.into(),
            (_, _, Language::ZhCn) => format!("“{zh}”").into(),
            (_, _, Language::En) => format!("'{en}'").into(),
        }
    }

    /// Whether it can be changed at this front end.
    pub fn exists_at(self, front_end: FrontEnd) -> bool {
        front_end == FrontEnd::CommandLine || self.names().field.is_some()
    }

    pub(super) fn of_mark(letter: char) -> Option<Self> {
        let index = u32::from(letter).checked_sub(FIRST_MARK)?;
        Self::ALL.get(index as usize).copied()
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        char::from_u32(FIRST_MARK + *self as u32).map_or(Ok(()), |mark| f.write_char(mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_mark_of_its_own_and_a_name_at_each_front_end_in_each_language() {
        for setting in Setting::ALL {
            let mark = setting.to_string();
            assert_eq!(mark.chars().next().and_then(Setting::of_mark), Some(setting));
            for front_end in FrontEnd::ALL {
                for language in Language::ALL {
                    let name = setting.spelled(front_end, language);
                    assert!(name.chars().any(char::is_alphabetic), "{setting:?}");
                    assert_eq!(name.starts_with("--"), front_end == FrontEnd::CommandLine, "{setting:?}");
                }
            }
            assert!(!setting.spelled(FrontEnd::Console, Language::ZhCn).is_ascii(), "{setting:?}");
            assert!(setting.spelled(FrontEnd::Console, Language::En).is_ascii(), "{setting:?}");
        }
    }
}
