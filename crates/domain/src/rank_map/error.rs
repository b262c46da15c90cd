//! Why there is no rank map.

use thiserror::Error;

use crate::{
    ids::WorkerId,
    language::{Explained, Hint, Text},
};

/// What does not add up.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RankMapError {
    #[error("there are no workers to give ranks to")]
    NoWorkers,
    #[error("no master is set")]
    NoMaster,
    #[error("the master {master} is not among the nodes")]
    MasterUnknown { master: String, nodes: Vec<String> },
    #[error("world size {world_size} is more than the {workers} workers")]
    WorldTooLarge { world_size: u32, workers: usize },
    #[error("world size must be at least 1")]
    WorldEmpty,
    #[error("worker {worker} is there twice")]
    WorkerTwice { worker: WorkerId },
    #[error("node {node} is there twice")]
    NodeTwice { node: String },
    #[error("the environment {node} does not exist any more")]
    NodeMissing { node: String },
    #[error("no worker of {node} is chosen")]
    NodeWithoutWorkers { node: String },
    #[error("the ranks are not numbered from 0 without gaps, node by node")]
    Misnumbered,
}

impl Explained for RankMapError {
    fn id(&self) -> &'static str {
        match self {
            Self::NoWorkers => "workers_required",
            Self::NoMaster => "master_required",
            Self::MasterUnknown { .. } => "master_invalid",
            Self::WorldTooLarge { .. } => "world_size_too_large",
            Self::WorldEmpty => "world_size_invalid",
            Self::WorkerTwice { .. } => "worker_duplicate",
            Self::NodeTwice { .. } => "node_duplicate",
            Self::NodeMissing { .. } => "node_missing",
            Self::NodeWithoutWorkers { .. } => "node_without_workers",
            Self::Misnumbered => "ranks_misnumbered",
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::NoWorkers => Text::new("没有可用的 Worker", self.to_string()),
            Self::NoMaster => Text::new("未设置 Master 地址", self.to_string()),
            Self::MasterUnknown { master, .. } => {
                Text::new(format!("Master {master} 不在所选节点中"), self.to_string())
            }
            Self::WorldTooLarge { world_size, workers } => {
                Text::new(format!("World Size {world_size} 大于 Worker 数量 {workers}"), self.to_string())
            }
            Self::WorldEmpty => Text::new("World Size 至少为 1", self.to_string()),
            Self::WorkerTwice { worker } => Text::new(format!("Worker {worker} 重复"), self.to_string()),
            Self::NodeTwice { node } => Text::new(format!("节点 {node} 重复"), self.to_string()),
            Self::NodeMissing { node } => Text::new(format!("开发环境 {node} 已不存在"), self.to_string()),
            Self::NodeWithoutWorkers { node } => Text::new(format!("节点 {node} 没有选中的 Worker"), self.to_string()),
            Self::Misnumbered => Text::new("rank 编号不连续", self.to_string()),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::NoWorkers | Self::NodeWithoutWorkers { .. } => {
                Hint::new("请至少选择一个 Worker", "choose at least one worker")
            }
            Self::NodeMissing { .. } => Hint::new(
                "停止该任务并用现有的开发环境重新创建",
                "stop the task and create it again with environments that exist",
            ),
            Self::NoMaster => Hint::new(
                "在分组配置中填写主节点名称，例如 gn6",
                "set the name of the master node in the group's configuration, such as gn6",
            ),
            Self::MasterUnknown { master, nodes } => master_hint(master, nodes),
            Self::WorldTooLarge { workers, .. } => Hint::new(
                format!("填写不大于 {workers} 的值，或留空以使用全部 Worker"),
                format!("give at most {workers}, or leave it empty to use every worker"),
            ),
            Self::WorldEmpty => Hint::new("留空即使用全部 Worker", "leave it empty to use every worker"),
            Self::WorkerTwice { .. } | Self::NodeTwice { .. } => Hint::new("每项只能出现一次", "name each only once"),
            Self::Misnumbered => Hint::new("由 Fermi 重新生成 Rank 分配", "let Fermi make the rank map anew"),
        })
    }
}

/// People write a worker's name where the node's is wanted, so that mistake gets its own answer.
fn master_hint(master: &str, nodes: &[String]) -> Hint {
    let node = master.parse::<WorkerId>().ok().map(|worker| worker.node().to_owned());
    match node.filter(|node| nodes.contains(node)) {
        Some(node) => Hint::new(
            format!("填写节点名，不含 Worker 编号：{node}"),
            format!("give the node's name without the worker's number: {node}"),
        ),
        None => Hint::new(format!("可选：{}", nodes.join("、")), format!("choose one of {}", nodes.join(", "))),
    }
}
