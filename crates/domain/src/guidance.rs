//! What helps to choose: strategies side by side, situations and what suits them, what to think of several zones.
//!
//! The tables are shown by `fermi plan guide`, on the frameworks' cards and in the guide; one that chooses by numbers is
//! the planner.

use crate::{framework::Framework, language::Text};

/// A strategy that data-parallel training can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataParallelStrategy {
    Ddp,
    Zero1,
    Zero2,
    Zero3,
}

/// One column of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyCard {
    pub value: &'static str,
    pub label: &'static str,
    /// Parameters of the model.
    pub model_size: &'static str,
    pub memory: Text,
    pub communication: Text,
    pub setup: Text,
    pub suits: Text,
}

impl DataParallelStrategy {
    pub const ALL: [Self; 4] = [Self::Ddp, Self::Zero1, Self::Zero2, Self::Zero3];

    /// The value that pages send.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ddp => "ddp",
            Self::Zero1 => "zero1",
            Self::Zero2 => "zero2",
            Self::Zero3 => "zero3",
        }
    }

    /// Those that a framework brings.
    pub fn of(framework: Framework) -> &'static [Self] {
        match framework {
            Framework::PytorchDdp => &[Self::Ddp],
            Framework::Deepspeed => &[Self::Zero1, Self::Zero2, Self::Zero3],
            _ => &[],
        }
    }

    pub fn card(self) -> StrategyCard {
        let high = || Text::new("高", "high");
        let medium = || Text::new("中等", "medium");
        let low = || Text::new("低", "low");
        let simple = || Text::new("简单", "simple");
        let (label, model_size, memory, communication, setup, suits) = match self {
            Self::Ddp => {
                ("DDP", "<7B", high(), low(), simple(), Text::new("小模型快速训练", "fast training of small models"))
            }
            Self::Zero1 => {
                ("DeepSpeed ZeRO-1", "<7B", medium(), low(), simple(), Text::new("中等模型", "medium models"))
            }
            Self::Zero2 => ("DeepSpeed ZeRO-2", "1-7B", low(), medium(), medium(), Text::new("大模型", "large models")),
            Self::Zero3 => (
                "DeepSpeed ZeRO-3",
                ">7B",
                Text::new("最低", "lowest"),
                high(),
                Text::new("复杂", "complex"),
                Text::new("超大模型", "very large models"),
            ),
        };
        StrategyCard { value: self.as_str(), label, model_size, memory, communication, setup, suits }
    }
}

/// A situation and what suits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Situation {
    pub name: Text,
    pub nodes: &'static str,
    pub gpus: &'static str,
    pub framework: Text,
    pub about: Text,
}

/// From a first trial to the largest models.
pub fn situations() -> [Situation; 5] {
    let row = |name: (&'static str, &'static str),
               nodes,
               gpus,
               framework: (&'static str, &'static str),
               about: (&'static str, &'static str)| Situation {
        name: Text::new(name.0, name.1),
        nodes,
        gpus,
        framework: Text::new(framework.0, framework.1),
        about: Text::new(about.0, about.1),
    };
    [
        row(("小规模实验", "small experiment"), "1", "1-2", ("单机", "one machine"), ("快速验证", "quick check")),
        row(("中等训练", "medium training"), "1", "4-8", ("单机", "one machine"), ("标准训练", "the usual case")),
        row(("大规模训练", "large training"), "2-4", "8-32", ("DDP", "DDP"), ("数据并行", "data parallel")),
        row(
            ("超大模型", "very large model"),
            "4+",
            "32+",
            ("DeepSpeed/FSDP", "DeepSpeed/FSDP"),
            ("模型并行", "model parallel"),
        ),
        row(("GPT训练", "GPT training"), "8+", "64+", ("Megatron-LM", "Megatron-LM"), ("张量并行", "tensor parallel")),
    ]
}

/// What is to be said for and against machines in several zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossZone {
    For,
    Against,
    When,
}

impl CrossZone {
    pub const ALL: [Self; 3] = [Self::For, Self::Against, Self::When];

    pub fn title(self) -> Text {
        match self {
            Self::For => Text::new("优势", "for it"),
            Self::Against => Text::new("劣势", "against it"),
            Self::When => Text::new("适用", "worth it where"),
        }
    }

    pub fn points(self) -> Vec<Text> {
        let points: &[(&'static str, &'static str)] = match self {
            Self::For => &[
                ("更多资源可用", "more machines are available"),
                ("容灾能力强", "an outage of one zone does not take all"),
                ("地理分布式", "machines may be far from each other"),
            ],
            Self::Against => &[
                ("网络延迟高（RTT 5-50 ms）", "network latency is high (round trips of 5-50 ms)"),
                ("带宽可能受限", "bandwidth may be limited"),
                ("成本略高", "it costs a little more"),
            ],
            Self::When => &[
                ("单一可用区资源不足", "one zone has too few machines"),
                ("任务对延迟不敏感", "the training does not mind latency"),
                ("需要高可用性", "it must go on whatever happens"),
                ("异步训练", "ranks train asynchronously"),
            ],
        };
        points.iter().map(|(zh, en)| Text::new(*zh, *en)).collect()
    }

    /// All of it in one sentence.
    pub fn sentence(self) -> Text {
        let title = self.title();
        let (zh, en): (Vec<_>, Vec<_>) = self.points().into_iter().map(|point| (point.zh, point.en)).unzip();
        Text::new(format!("{}：{}", title.zh, zh.join("、")), format!("{}: {}", title.en, en.join(", ")))
    }
}

/// What to see to before machines are bought or chosen.
pub fn machine_rules() -> [Text; 5] {
    [
        Text::new("选择相同或相近型号的 GPU", "choose GPUs of one model, or of like ones"),
        Text::new("优先选择同一可用区", "choose machines of one zone first"),
        Text::new("主机内存为显存的 2-4 倍", "host memory of 2 to 4 times the GPU memory"),
        Text::new("数据集放在 SSD 上，且每个节点都能读到", "the dataset on an SSD, and readable on every node"),
        Text::new(
            "多机训练的网络不低于 10 Gbps，各节点版本一致",
            "10 Gbps or more between machines, and the same versions on all",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comparison_has_the_words_of_the_specification() {
        let rows = DataParallelStrategy::ALL.map(|strategy| {
            let card = strategy.card();
            [card.model_size.into(), card.memory.zh, card.communication.zh, card.setup.zh, card.suits.zh].join(" ")
        });
        assert_eq!(
            rows,
            [
                "<7B 高 低 简单 小模型快速训练",
                "<7B 中等 低 简单 中等模型",
                "1-7B 低 中等 中等 大模型",
                ">7B 最低 高 复杂 超大模型",
            ]
        );
    }

    #[test]
    fn the_situations_are_those_of_the_specification() {
        let rows = situations()
            .map(|row| [row.name.zh, row.nodes.into(), row.gpus.into(), row.framework.zh, row.about.zh].join(" | "));
        assert_eq!(rows[0], "小规模实验 | 1 | 1-2 | 单机 | 快速验证");
        assert_eq!(rows[4], "GPT训练 | 8+ | 64+ | Megatron-LM | 张量并行");
    }

    #[test]
    fn every_sentence_is_there_in_both_languages() {
        let cards = DataParallelStrategy::ALL.map(DataParallelStrategy::card);
        let of_cards = cards.into_iter().flat_map(|card| [card.memory, card.communication, card.setup, card.suits]);
        let of_zones = CrossZone::ALL.into_iter().map(CrossZone::sentence);
        for text in of_cards.chain(of_zones).chain(machine_rules()) {
            assert!(!text.zh.is_ascii() && text.en.is_ascii(), "{text:?}");
        }
    }
}
