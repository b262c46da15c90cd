//! The schedule of the learning rate, as far as DeepSpeed's own schedulers can express it.

use fermi_domain::language::Text;
use serde_json::{Map, Value};

use super::reader::TrainingYaml;

/// Settings of DeepSpeed, and who schedules where DeepSpeed cannot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Schedule {
    pub settings: Map<String, Value>,
    pub note: Option<Text>,
}

impl Schedule {
    /// The file's words are those of transformers: a rate that rises in a line, then stays or falls to the last step.
    pub(super) fn of(file: &TrainingYaml) -> Self {
        let total = file.count("training.max_steps");
        let ratio = file.number("training.warmup_ratio");
        let by_ratio = ratio.zip(total).map(|(ratio, total)| share(ratio, total));
        let warmup = file.count("training.warmup_steps").or(by_ratio);
        let name = file.word("training.lr_scheduler_type");
        let lower = name.map(str::to_ascii_lowercase);
        match (lower.as_deref(), total) {
            (None, _) => Self::warmup_alone(warmup, ratio.is_some()),
            (Some("cosine"), Some(total)) => Self::ours("WarmupCosineLR", warmup, Some(total)),
            (Some("linear"), Some(total)) => Self::ours("WarmupDecayLR", warmup, Some(total)),
            (Some("constant"), _) => Self::none(None),
            (Some("constant_with_warmup"), _) if warmup.is_some() || ratio.is_none() => {
                Self::ours("WarmupLR", warmup, None)
            }
            (Some("cosine" | "linear" | "constant_with_warmup"), _) => {
                Self::none(name.map(|name| scripts(name, ("没有 max_steps", "without max_steps"))))
            }
            _ => Self::none(name.map(|name| scripts(name, ("DeepSpeed 没有此调度", "DeepSpeed has no such schedule")))),
        }
    }

    /// Nothing but the warm-up is known, so the type is DeepSpeed's usual one or its file's.
    fn warmup_alone(warmup: Option<u64>, by_ratio: bool) -> Self {
        let settings = warmup.map(|warmup| ("warmupSteps".to_owned(), warmup.into())).into_iter().collect();
        let note = (warmup.is_none() && by_ratio).then(|| {
            Text::new(
                "没有 max_steps，warmup_ratio 不计入 DeepSpeed 的预热",
                "without max_steps, DeepSpeed's warm-up is not that of warmup_ratio",
            )
        });
        Self { settings, note }
    }

    fn ours(kind: &str, warmup: Option<u64>, total: Option<u64>) -> Self {
        let mut settings = Map::new();
        settings.insert("scheduler".to_owned(), kind.into());
        settings.insert("warmupSteps".to_owned(), warmup.unwrap_or(0).into());
        settings.insert("warmupType".to_owned(), "linear".into());
        settings.extend(total.map(|total| ("totalSteps".to_owned(), total.into())));
        Self { settings, note: None }
    }

    fn none(note: Option<Text>) -> Self {
        Self { settings: Map::from_iter([("scheduler".to_owned(), "none".into())]), note }
    }
}

/// A share of the steps, rounded; no more than all of them.
fn share(ratio: f64, total: u64) -> u64 {
    let steps = (ratio.clamp(0.0, 1.0) * total as f64).round();
    format!("{steps:.0}").parse().unwrap_or(total)
}

fn scripts(name: &str, why: (&str, &str)) -> Text {
    Text::new(
        format!("lr_scheduler_type {name}：{}，由脚本调度；DeepSpeed 的文件不含 scheduler", why.0),
        format!("lr_scheduler_type {name}: {}, so the script schedules; DeepSpeed's file has no scheduler", why.1),
    )
}
