//! The sentences of warnings.

use crate::{
    guidance::CrossZone,
    language::{Explained, Hint, Text},
    warnings::{VersionDifference, Warning},
};

impl Explained for Warning {
    fn id(&self) -> &'static str {
        match self {
            Self::SeveralNodes => "several_nodes",
            Self::CrossZone { .. } => "cross_zone",
            Self::MixedGpuTypes { .. } => "mixed_gpu_types",
            Self::MixedDevices { .. } => "mixed_devices",
            Self::LayoutMismatch { .. } => "layout_mismatch",
            Self::ParallelismIgnored { .. } => "parallelism_ignored",
            Self::MixedVersions { .. } => "mixed_versions",
            Self::BuiltinTrainer => "builtin_trainer",
            Self::Busy { .. } => "environments_busy",
            Self::Suspect { .. } => "environments_suspect",
        }
    }

    fn hint(&self) -> Option<Hint> {
        match self {
            Self::CrossZone { .. } => {
                let lines = CrossZone::ALL.map(|side| side.sentence());
                lines.into_iter().reduce(|one, next| one.followed_by(&next)).map(Hint::from)
            }
            Self::MixedVersions { .. } => Some(Hint::new(
                "在所有节点上安装相同的版本，或使用同一个镜像",
                "install the same versions on all nodes, or use one image",
            )),
            Self::MixedGpuTypes { .. } => {
                Some(Hint::new("选择相同或相近型号的 GPU", "choose GPUs of one or a like model"))
            }
            Self::BuiltinTrainer => {
                Some(Hint::new("用 command 指定训练脚本", "name your script in command").on_command_line(
                    "在 -- 之后写训练脚本，例如 fermi task create … -- train.py",
                    "name your script behind --, such as fermi task create … -- train.py",
                ))
            }
            _ => None,
        }
    }

    fn text(&self) -> Text {
        match self {
            Self::SeveralNodes => Text::new(
                "分布式训练将在多个节点上并行执行，确保所有节点网络互通",
                "Training will run on several nodes in parallel; make sure that they can all reach each other",
            ),
            Self::CrossZone { .. } => {
                Text::new("跨可用区训练可能会有网络延迟", "Training across zones may suffer from network latency")
            }
            Self::MixedGpuTypes { types } => Text::new(
                format!("GPU 型号不一致（{}），速度取决于最慢的一种", types.join("、")),
                format!("GPU models differ ({}); the slowest sets the pace", types.join(", ")),
            ),
            Self::MixedDevices { without } => Text::new(
                format!("{} 没有 GPU，后端将改用 gloo", without.join("、")),
                format!("{} has no GPU, so the backend becomes gloo", without.join(", ")),
            ),
            Self::LayoutMismatch { strategy, ranks } => {
                let (dp, pp, tp) = (strategy.data_parallel, strategy.pipeline_parallel, strategy.tensor_parallel);
                let product = strategy.ranks();
                Text::new(
                    format!("并行策略 {dp}×{pp}×{tp} = {product}，与 {ranks} 个 rank 不符"),
                    format!("the strategy {dp} x {pp} x {tp} = {product} does not match the {ranks} ranks"),
                )
            }
            Self::ParallelismIgnored { framework } => {
                let label = framework.label();
                Text::new(
                    format!("{label} 只做数据并行，张量并行与流水线并行需由脚本实现"),
                    format!("{label} is data parallel only; tensor and pipeline parallelism are up to the script"),
                )
            }
            Self::MixedVersions { differences } => {
                let all = differences.iter().map(VersionDifference::text).reduce(|one, next| one.followed_by(&next));
                let all = all.unwrap_or_else(|| Text::new("", ""));
                Text::new(format!("版本不一致：{}", all.zh), format!("versions differ: {}", all.en))
            }
            Self::BuiltinTrainer => Text::new(
                "未指定训练脚本：运行的是 Fermi 内置的小型字节模型，不是所选模型的训练",
                "no script is given: what runs is Fermi's own small byte-level trainer, not a training of the chosen model",
            ),
            Self::Busy { environments } => Text::new(
                format!("{} 正在使用中，任务将等待其空闲", environments.join("、")),
                format!("the task waits until what it needs of {} is free", environments.join(", ")),
            ),
            Self::Suspect { environments } => Text::new(
                format!("{} 暂时没有响应", environments.join("、")),
                format!("no answer from {} for some seconds", environments.join(", ")),
            ),
        }
    }
}

impl VersionDifference {
    /// `torch 2.15 (gn6), none found (gn7)`.
    fn text(&self) -> Text {
        let part = if self.part == "driver" { ("驱动", "driver") } else { (self.part, self.part) };
        let each = |(version, names): &(Option<String>, Vec<String>)| {
            let (zh, en) = (version.as_deref().unwrap_or("未找到"), version.as_deref().unwrap_or("none found"));
            (format!("{zh}（{}）", names.join("、")), format!("{en} ({})", names.join(", ")))
        };
        let (zh, en): (Vec<String>, Vec<String>) = self.versions.iter().map(each).unzip();
        Text::new(format!("{} {}", part.0, zh.join("、")), format!("{} {}", part.1, en.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Strategy;

    #[test]
    fn the_warnings_have_the_words_of_the_specification() {
        assert_eq!(Warning::CrossZone { zones: vec![] }.text().zh, "跨可用区训练可能会有网络延迟");
        assert_eq!(Warning::SeveralNodes.text().zh, "分布式训练将在多个节点上并行执行，确保所有节点网络互通");
    }

    #[test]
    fn a_layout_is_shown_with_its_product() {
        let strategy = Strategy { data_parallel: 2, pipeline_parallel: 4, tensor_parallel: 8 };
        let text = Warning::LayoutMismatch { strategy, ranks: 14 }.text();
        assert_eq!(text.en, "the strategy 2 x 4 x 8 = 64 does not match the 14 ranks");
    }
}
