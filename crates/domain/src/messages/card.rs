//! The lines of the summary card.

use crate::{aggregate::Aggregate, framework::Framework, language::Text, units::Bytes};

/// One line of the card, label and value together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardLine {
    SingleMachine,
    Distributed,
    Nodes(u32),
    Gpus {
        count: u32,
        types: Vec<String>,
    },
    /// In place of GPUs where there are none.
    Workers(u32),
    Cpus(u32),
    Memory(Bytes),
    Zones(usize),
    /// What to expect of one machine.
    QuickStart,
    /// What several machines run.
    Using(Framework),
}

impl CardLine {
    /// The whole card, from top to bottom.
    pub fn all(aggregate: &Aggregate, framework: Framework) -> Vec<Self> {
        let mut lines = Vec::new();
        if aggregate.is_distributed {
            lines.extend([Self::Distributed, Self::Nodes(aggregate.node_count)]);
        } else {
            lines.push(Self::SingleMachine);
        }
        lines.push(match aggregate.total_gpus {
            0 => Self::Workers(aggregate.total_workers),
            count => Self::Gpus { count, types: aggregate.gpu_types.clone() },
        });
        lines.extend([Self::Cpus(aggregate.total_cpus), Self::Memory(aggregate.total_memory)]);
        if aggregate.zones.len() > 1 {
            lines.push(Self::Zones(aggregate.zones.len()));
        }
        lines.push(if aggregate.is_distributed { Self::Using(framework) } else { Self::QuickStart });
        lines
    }

    /// The line as it is shown.
    pub fn text(&self) -> Text {
        match self {
            Self::SingleMachine => Text::new("单机训练", "Single machine"),
            Self::Distributed => Text::new("分布式训练", "Distributed training"),
            Self::Nodes(count) => Text::new(format!("训练节点 {count} 个"), format!("Nodes {count}")),
            Self::Gpus { count, types } => Text::new(
                format!("总GPU {count} 个 ({})", types.join(", ")),
                format!("GPUs {count} ({})", types.join(", ")),
            ),
            Self::Workers(count) => Text::new(format!("{count} 个 Worker"), format!("Workers {count}")),
            Self::Cpus(count) => Text::new(format!("总CPU {count} 核"), format!("CPU cores {count}")),
            Self::Memory(amount) => Text::new(format!("总内存 {amount}"), format!("Memory {amount}")),
            Self::Zones(count) => Text::new(format!("跨可用区 {count} 个"), format!("Zones {count}")),
            Self::QuickStart => {
                Text::new("快速启动，预计 10 秒内开始训练", "Quick start: training begins within about 10 seconds")
            }
            Self::Using(framework) => Text::new(
                format!("分布式训练 · 使用 {}", framework.label()),
                format!("Distributed training · using {}", framework.label()),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Environment, tests::environment};

    fn card(environments: &[Environment]) -> Vec<String> {
        let aggregate = Aggregate::of(&environments.iter().collect::<Vec<_>>()).unwrap();
        CardLine::all(&aggregate, Framework::PytorchDdp).iter().map(|line| line.text().zh.into_owned()).collect()
    }

    #[test]
    fn the_cards_are_those_of_the_specification() {
        let nodes = [
            environment("1", "pytorch-dev-env", 2, "A100", "北京可用区A"),
            environment("3", "llm-training-env", 4, "A100", "深圳可用区C"),
            environment("5", "nlp-research-lab", 8, "A100", "上海可用区A"),
        ];
        assert_eq!(
            card(&nodes[..1]),
            ["单机训练", "总GPU 2 个 (A100)", "总CPU 16 核", "总内存 128 GB", "快速启动，预计 10 秒内开始训练"]
        );
        assert_eq!(
            card(&nodes),
            [
                "分布式训练",
                "训练节点 3 个",
                "总GPU 14 个 (A100)",
                "总CPU 112 核",
                "总内存 896 GB",
                "跨可用区 3 个",
                "分布式训练 · 使用 PyTorch DDP"
            ]
        );
    }

    #[test]
    fn a_machine_without_gpus_shows_its_workers() {
        assert_eq!(card(&[environment("1", "a", 0, "", "z")])[1], "1 个 Worker");
    }
}
