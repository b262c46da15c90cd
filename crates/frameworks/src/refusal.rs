//! Why there is no launch: what is wrong, in which field, and what to do.

use fermi_domain::{
    framework::Framework,
    language::{Explained, Hint, Language, Text},
    messages::RequestRefusal,
};
use thiserror::Error;

use crate::training_yaml::Mistakes;

/// A noun in Chinese and English.
pub type Words = (&'static str, &'static str);

/// The first mistake that was found.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.text().en)]
pub enum LaunchRefusal {
    /// A key of `options.framework` that the framework does not have.
    SettingUnknown {
        framework: Framework,
        key: String,
        suggestion: Option<String>,
        known: Vec<&'static str>,
    },
    /// Written in both spellings.
    SettingTwice {
        key: String,
    },
    SettingInvalid {
        key: String,
        given: String,
        wanted: Text,
    },
    BackendUnknown {
        given: String,
    },
    /// An option that would not survive in a variable.
    OptionInvalid {
        option: &'static str,
        wanted: Text,
    },
    /// The global batch cannot be shared out.
    BatchIndivisible {
        global: u64,
        parts: u64,
        by: Text,
        nearest: Vec<u64>,
    },
    BatchTooLarge,
    /// A rule of the engine: one number must be a multiple of another.
    Indivisible {
        key: String,
        number: u64,
        what: Words,
        by: u64,
        by_what: Words,
    },
    /// A rule of the engine that is not about division.
    Rule {
        key: String,
        text: Text,
        hint: Text,
    },
    HalfPrecisionOnCpu {
        key: String,
    },
    Layout(RequestRefusal),
    CommandEmpty,
    /// The same thing said twice with different values.
    Contradiction {
        key: String,
        here: String,
        there: String,
    },
    /// The task's training.yaml.
    Training(Mistakes),
}

impl Explained for LaunchRefusal {
    fn id(&self) -> &'static str {
        match self {
            Self::SettingUnknown { .. } => "setting_unknown",
            Self::SettingTwice { .. } => "setting_duplicate",
            Self::SettingInvalid { .. } => "setting_invalid",
            Self::BackendUnknown { .. } => "backend_unknown",
            Self::OptionInvalid { .. } => "option_invalid",
            Self::BatchIndivisible { .. } | Self::BatchTooLarge => "batch_invalid",
            Self::Indivisible { .. } | Self::Rule { .. } => "engine_rule",
            Self::HalfPrecisionOnCpu { .. } => "precision_invalid",
            Self::Layout(refusal) => refusal.id(),
            Self::CommandEmpty => "command_required",
            Self::Contradiction { .. } => "setting_contradiction",
            Self::Training(_) => "training_invalid",
        }
    }

    fn field(&self) -> Option<String> {
        // A flag is one that the user's own command has.
        let setting = |key: &str| match key.strip_prefix("--") {
            Some(_) => "command.argv".to_owned(),
            None => format!("options.framework.{key}"),
        };
        Some(match self {
            Self::SettingUnknown { key, .. }
            | Self::SettingTwice { key }
            | Self::SettingInvalid { key, .. }
            | Self::Indivisible { key, .. }
            | Self::Rule { key, .. }
            | Self::HalfPrecisionOnCpu { key }
            | Self::Contradiction { key, .. } => setting(key),
            Self::BackendUnknown { .. } => "options.backend".to_owned(),
            Self::OptionInvalid { option, .. } => format!("options.{option}"),
            Self::BatchIndivisible { .. } | Self::BatchTooLarge => setting("globalBatchSize"),
            Self::Layout(refusal) => return refusal.field(),
            Self::CommandEmpty => "command.argv".to_owned(),
            Self::Training(problems) => {
                let path = problems.0.first().map_or("", |problem| problem.path());
                format!("options.training.{path}").trim_end_matches('.').to_owned()
            }
        })
    }

    fn text(&self) -> Text {
        match self {
            Self::SettingUnknown { framework, key, .. } => Text::new(
                format!("{} 没有名为 {key} 的设置", framework.label()),
                format!("{} has no setting named {key}", framework.label()),
            ),
            Self::SettingTwice { key } => {
                Text::new(format!("设置 {key} 出现两次"), format!("The setting {key} is there in two spellings"))
            }
            Self::SettingInvalid { key, given, .. } if key.starts_with("--") => Text::new(
                format!("参数 {key} 的值 {given} 无效"),
                format!("{given} is no value for the argument {key}"),
            ),
            Self::SettingInvalid { key, given, .. } => {
                Text::new(format!("设置 {key} 的值 {given} 无效"), format!("{given} is no value for the setting {key}"))
            }
            Self::BackendUnknown { given } => {
                Text::new(format!("不支持的通信后端 {given}"), format!("The backend {given} is not known"))
            }
            Self::OptionInvalid { option, .. } => {
                Text::new(format!("选项 {option} 的值无效"), format!("The option {option} has no usable value"))
            }
            Self::BatchIndivisible { global, parts, by, .. } => Text::new(
                format!("全局批次 {global} 不能被 {parts}（{}）整除", by.zh),
                format!("The global batch of {global} cannot be divided by {parts} ({})", by.en),
            ),
            Self::BatchTooLarge => Text::new("批次过大", "The batch is too large"),
            Self::Indivisible { number, what, by, by_what, .. } => Text::new(
                format!("{} {number} 不能被{} {by} 整除", what.0, by_what.0),
                format!("{} of {number} cannot be divided by {} of {by}", what.1, by_what.1),
            ),
            Self::Rule { text, .. } => text.clone(),
            Self::HalfPrecisionOnCpu { .. } => {
                Text::new("fp16 需要每个 rank 都有 GPU", "fp16 needs a GPU under every rank")
            }
            Self::Layout(refusal) => refusal.text(),
            Self::CommandEmpty => Text::new("命令为空", "The command is empty"),
            Self::Contradiction { key, here, there } => Text::new(
                format!("{key} 在两处的值不同：{here} 与 {there}"),
                format!("{key} is given twice with different values: {here} and {there}"),
            ),
            Self::Training(problems) => Text::new(
                format!("training.yaml 有误：{}", problems.lines(Language::ZhCn).join("；")),
                format!("The training.yaml has mistakes: {}", problems.lines(Language::En).join("; ")),
            ),
        }
    }

    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::SettingUnknown { suggestion: Some(near), .. } => {
                Hint::new(format!("是否指 {near}？"), format!("did you mean {near}?"))
            }
            Self::SettingUnknown { known, .. } if known.is_empty() => {
                Hint::new("它没有任何设置，请去掉", "it has none at all; leave it out")
            }
            Self::SettingUnknown { known, .. } => {
                Hint::new(format!("可用：{}", known.join("、")), format!("there are {}", known.join(", ")))
            }
            Self::SettingTwice { .. } => Hint::new("保留一种写法", "keep one of the spellings"),
            Self::SettingInvalid { wanted, .. } | Self::OptionInvalid { wanted, .. } => {
                Hint::new(format!("应为{}", wanted.zh), format!("give {}", wanted.en))
            }
            Self::BackendUnknown { .. } => Hint::new(
                "可选：nccl、gloo、cpu:gloo,cuda:nccl、ucc、mpi",
                "choose one of nccl, gloo, cpu:gloo,cuda:nccl, ucc, mpi",
            ),
            Self::BatchIndivisible { nearest, .. } => {
                let near: Vec<String> = nearest.iter().map(u64::to_string).collect();
                Hint::new(
                    format!("最接近的值：{}", near.join("、")),
                    format!("near values that fit: {}", near.join(", ")),
                )
            }
            Self::BatchTooLarge => Hint::new("减小批次或累积步数", "give a smaller batch or fewer accumulation steps"),
            Self::Indivisible { by, .. } => Hint::new(
                format!("使用 {by} 的倍数，或改变并行度"),
                format!("give a multiple of {by}, or another layout"),
            ),
            Self::Rule { hint, .. } => hint.clone().into(),
            Self::HalfPrecisionOnCpu { .. } => Hint::new(
                "使用 bf16 或 fp32，或选择有 GPU 的环境",
                "give bf16 or fp32, or choose environments with GPUs",
            ),
            Self::Layout(refusal) => return refusal.hint(),
            Self::CommandEmpty => Hint::new(
                "填写 command.argv，例如 [\"train.py\", \"--epochs\", \"3\"]",
                "give command.argv, such as [\"train.py\", \"--epochs\", \"3\"]",
            ),
            Self::Contradiction { .. } => Hint::new("只保留一处", "say it in one place only"),
            Self::Training(_) => {
                Hint::new("所有键见 configs/training.schema.json", "configs/training.schema.json has every key")
            }
        })
    }
}
