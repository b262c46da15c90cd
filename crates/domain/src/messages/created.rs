//! What is said when a task was created.

use crate::{aggregate::Aggregate, language::Text};

/// The message of success and the line under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// The message itself.
    Success,
    /// Nothing was made: a sweep has a task for these parameters.
    ThereAlready,
    /// One environment.
    Using { environment: String },
    /// Several nodes with GPUs.
    Distributed { nodes: u32, gpus: u32 },
    /// Several nodes without GPUs.
    DistributedOnCpu { nodes: u32, workers: u32 },
}

impl Created {
    /// The line under the message: the one environment by name, several by their sums.
    pub fn description(aggregate: &Aggregate, first_environment: &str) -> Self {
        let nodes = aggregate.node_count;
        match (aggregate.is_distributed, aggregate.total_gpus) {
            (false, _) => Self::Using { environment: first_environment.to_owned() },
            (true, 0) => Self::DistributedOnCpu { nodes, workers: aggregate.total_workers },
            (true, gpus) => Self::Distributed { nodes, gpus },
        }
    }

    /// The sentence as it is shown.
    pub fn text(&self) -> Text {
        match self {
            Self::Success => Text::new("训练任务创建成功", "Training task created"),
            Self::ThereAlready => Text::new("该组合的任务已存在", "The task of these parameters is there already"),
            Self::Using { environment } => {
                Text::new(format!("使用环境: {environment}"), format!("Environment: {environment}"))
            }
            Self::Distributed { nodes, gpus } => Text::new(
                format!("分布式训练 · {nodes}个节点 · 总计{gpus}个GPU"),
                format!("Distributed training · {nodes} nodes · {gpus} GPUs in total"),
            ),
            Self::DistributedOnCpu { nodes, workers } => Text::new(
                format!("分布式训练 · {nodes}个节点 · 总计{workers}个Worker"),
                format!("Distributed training · {nodes} nodes · {workers} workers in total"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Environment, tests::environment};

    fn line(environments: &[Environment]) -> String {
        let aggregate = Aggregate::of(&environments.iter().collect::<Vec<_>>()).unwrap();
        Created::description(&aggregate, &environments[0].name).text().zh.into_owned()
    }

    #[test]
    fn the_lines_are_those_of_the_specification() {
        let nodes = [
            environment("1", "pytorch-dev-env", 2, "A100", "北京可用区A"),
            environment("3", "llm-training-env", 4, "A100", "深圳可用区C"),
            environment("5", "nlp-research-lab", 8, "A100", "上海可用区A"),
        ];
        assert_eq!(Created::Success.text().zh, "训练任务创建成功");
        assert_eq!(line(&nodes[..1]), "使用环境: pytorch-dev-env");
        assert_eq!(line(&nodes), "分布式训练 · 3个节点 · 总计14个GPU");
    }

    #[test]
    fn without_gpus_the_workers_are_counted() {
        let nodes = [environment("1", "a", 0, "", "z"), environment("2", "b", 0, "", "z")];
        assert_eq!(line(&nodes), "分布式训练 · 2个节点 · 总计2个Worker");
    }
}
