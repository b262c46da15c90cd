//! The frameworks that Fermi launches, and the card that describes each.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::language::Text;

/// What trains. The distributed engine is the user's own; Fermi configures and starts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Framework {
    #[default]
    PytorchDdp,
    PytorchFsdp,
    Deepspeed,
    Horovod,
    MegatronLm,
    Jax,
    /// Any program; it gets the ranks by environment variables.
    Command,
    /// Fermi's own small trainer.
    Builtin,
}

/// What the form shows of a framework.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameworkCard {
    pub value: Framework,
    pub label: &'static str,
    /// 类型: how it spreads the work; also the line under the selector.
    pub kind: Text,
    /// 厂商
    pub vendor: Text,
    /// 适用
    pub suits: Text,
    /// 特点
    pub features: Vec<Text>,
}

impl Framework {
    /// Whether its ranks meet at torch's store, and at nothing else at the master's port: only there Fermi can host it.
    /// JAX's coordinator, Horovod's rendezvous, the built-in trainer and commands of any kind open that port themselves.
    pub fn meets_at_torch_store(self) -> bool {
        match self {
            Self::PytorchDdp | Self::PytorchFsdp | Self::Deepspeed | Self::MegatronLm => true,
            Self::Horovod | Self::Jax | Self::Command | Self::Builtin => false,
        }
    }

    /// In the order of the form.
    pub const ALL: [Self; 8] = [
        Self::PytorchDdp,
        Self::PytorchFsdp,
        Self::Deepspeed,
        Self::Horovod,
        Self::MegatronLm,
        Self::Jax,
        Self::Command,
        Self::Builtin,
    ];

    /// The value in requests and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PytorchDdp => "pytorch-ddp",
            Self::PytorchFsdp => "pytorch-fsdp",
            Self::Deepspeed => "deepspeed",
            Self::Horovod => "horovod",
            Self::MegatronLm => "megatron-lm",
            Self::Jax => "jax",
            Self::Command => "command",
            Self::Builtin => "builtin",
        }
    }

    /// Reads the value of a request; nothing when it is unknown.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|framework| framework.as_str() == value)
    }

    /// The one that a value which is none nearly names: `ddp`, `FSDP`, `PyTorch DDP`, `megatron`, `torch_ddp`.
    pub fn near(value: &str) -> Option<Self> {
        let letters = |text: &str| -> String {
            text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
        };
        let wanted = letters(value);
        let is_near = |framework: &Self| {
            let own = letters(framework.as_str());
            let last = framework.as_str().rsplit('-').next().unwrap_or_default();
            own.contains(&wanted) || wanted.contains(&own) || (last.len() > 2 && wanted.ends_with(last))
        };
        Self::ALL.into_iter().find(|framework| wanted.len() > 2 && is_near(framework))
    }

    /// The name that people know.
    pub fn label(self) -> &'static str {
        match self {
            Self::PytorchDdp => "PyTorch DDP",
            Self::PytorchFsdp => "PyTorch FSDP",
            Self::Deepspeed => "DeepSpeed",
            Self::Horovod => "Horovod",
            Self::MegatronLm => "Megatron-LM",
            Self::Jax => "JAX",
            Self::Command => "Command",
            Self::Builtin => "Fermi Trainer",
        }
    }

    /// Whether it only knows data parallelism, so that tensor or pipeline degrees above 1 are the script's business.
    pub fn is_data_parallel_only(self) -> bool {
        match self {
            Self::PytorchDdp | Self::PytorchFsdp | Self::Horovod | Self::Builtin => true,
            Self::Deepspeed | Self::MegatronLm | Self::Jax | Self::Command => false,
        }
    }

    /// What the form and `GET /frameworks` show.
    pub fn card(self) -> FrameworkCard {
        let (kind, vendor, suits, features) = self.description();
        let features = features.iter().map(|(zh, en)| Text::new(*zh, *en)).collect();
        let text = |(zh, en): Pair| Text::new(zh, en);
        FrameworkCard {
            value: self,
            label: self.label(),
            kind: text(kind),
            vendor: text(vendor),
            suits: text(suits),
            features,
        }
    }

    fn description(self) -> (Pair, Pair, Pair, &'static [Pair]) {
        match self {
            Self::PytorchDdp => (
                ("数据并行", "Data parallel"),
                ("PyTorch", "PyTorch"),
                ("中小规模模型", "Small and medium models"),
                &[
                    ("简单易用", "Easy to use"),
                    ("每个GPU一个进程", "One process per GPU"),
                    ("梯度同步自动化", "Gradients synchronised for you"),
                    ("支持多机多卡", "Many machines, many GPUs"),
                ],
            ),
            Self::PytorchFsdp => (
                ("全切片数据并行", "Fully sharded data parallel"),
                ("PyTorch", "PyTorch"),
                ("大模型训练", "Large models"),
                &[
                    ("模型参数切片", "Parameters are sharded"),
                    ("降低显存占用", "Less GPU memory"),
                    ("支持ZeRO优化", "ZeRO optimisation"),
                    ("适合超大模型", "Fits very large models"),
                ],
            ),
            Self::Deepspeed => (
                ("微软分布式训练", "Distributed training by Microsoft"),
                ("Microsoft", "Microsoft"),
                ("超大规模训练", "Training at very large scale"),
                &[
                    ("ZeRO内存优化", "ZeRO memory optimisation"),
                    ("混合精度训练", "Mixed precision"),
                    ("梯度累积", "Gradient accumulation"),
                    ("Pipeline并行", "Pipeline parallelism"),
                    ("张量并行", "Tensor parallelism"),
                ],
            ),
            Self::Horovod => (
                ("Uber分布式框架", "Distributed framework by Uber"),
                ("Uber", "Uber"),
                ("多框架支持", "Several frameworks"),
                &[
                    ("支持TensorFlow/PyTorch/MXNet", "TensorFlow, PyTorch, MXNet"),
                    ("Ring-AllReduce算法", "Ring all-reduce"),
                    ("易于集成", "Easy to add"),
                    ("高效通信", "Efficient communication"),
                ],
            ),
            Self::MegatronLm => (
                ("NVIDIA大模型训练", "Large models by NVIDIA"),
                ("NVIDIA", "NVIDIA"),
                ("GPT类大模型", "GPT-like large models"),
                &[
                    ("张量并行", "Tensor parallelism"),
                    ("Pipeline并行", "Pipeline parallelism"),
                    ("专为Transformer优化", "Made for Transformers"),
                    ("超大规模训练", "Training at very large scale"),
                ],
            ),
            Self::Jax => (
                ("编译式并行", "Compiled parallelism"),
                ("Google", "Google"),
                ("JAX 程序", "JAX programs"),
                &[("XLA 编译", "Compiled by XLA"), ("自动切分数组", "Arrays sharded by the compiler")],
            ),
            Self::Command => (
                ("任意命令", "Any command"),
                ("用户自带", "Your own"),
                ("已有的启动脚本", "Scripts that you already have"),
                &[("通过环境变量获得 rank", "Ranks by environment variables"), ("无需改动代码", "No change of code")],
            ),
            Self::Builtin => (
                ("内置数据并行", "Built-in data parallel"),
                ("Fermi", "Fermi"),
                ("验证集群", "Trying out a cluster"),
                &[
                    ("无需 Python", "Needs no Python"),
                    ("小型 Transformer", "A small Transformer"),
                    ("CPU 可运行", "Runs on CPU"),
                ],
            ),
        }
    }
}

/// Chinese and English.
type Pair = (&'static str, &'static str);

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_in_json_and_in_parsing() {
        for framework in Framework::ALL {
            assert_eq!(serde_json::to_value(framework).unwrap(), framework.as_str());
            assert_eq!(Framework::parse(framework.as_str()), Some(framework));
        }
        assert_eq!(Framework::parse("PyTorch DDP"), None);
    }

    #[test]
    fn a_part_of_a_name_is_understood_for_a_hint() {
        for (given, meant) in [
            ("ddp", Some(Framework::PytorchDdp)),
            ("PyTorch DDP", Some(Framework::PytorchDdp)),
            ("torch_fsdp", Some(Framework::PytorchFsdp)),
            ("Megatron", Some(Framework::MegatronLm)),
            ("deepspeed-zero3", Some(Framework::Deepspeed)),
            ("x", None),
            ("colossal", None),
        ] {
            assert_eq!(Framework::near(given), meant, "{given}");
        }
    }

    #[test]
    fn the_preset_is_ddp() {
        assert_eq!(Framework::default(), Framework::PytorchDdp);
    }

    #[test]
    fn cards_hold_the_words_of_the_specification() {
        let card = Framework::Deepspeed.card();
        assert_eq!((card.label, &*card.vendor.zh, &*card.suits.zh), ("DeepSpeed", "Microsoft", "超大规模训练"));
        let features: Vec<&str> = card.features.iter().map(|feature| &*feature.zh).collect();
        assert_eq!(features, ["ZeRO内存优化", "混合精度训练", "梯度累积", "Pipeline并行", "张量并行"]);
        assert_eq!(Framework::PytorchDdp.card().kind.zh, "数据并行");
    }

    #[test]
    fn every_card_is_complete_in_both_languages() {
        for card in Framework::ALL.map(Framework::card) {
            assert!(!card.features.is_empty());
            for text in card.features.iter().chain([&card.kind, &card.vendor, &card.suits]) {
                assert!(!text.zh.is_empty() && text.en.is_ascii() && !text.en.is_empty(), "{text:?}");
            }
        }
    }
}
