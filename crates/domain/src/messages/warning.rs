//! The sentences of warnings.

use crate::{
    language::{Explained, Text},
    warnings::Warning,
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
            Self::Busy { .. } => "environments_busy",
            Self::Suspect { .. } => "environments_suspect",
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
            Self::Busy { environments } => Text::new(
                format!("{} 正在使用中，任务将等待其空闲", environments.join("、")),
                format!("{} in use now; the task waits until free", environments.join(", ")),
            ),
            Self::Suspect { environments } => Text::new(
                format!("{} 暂时没有响应", environments.join("、")),
                format!("no answer from {} for some seconds", environments.join(", ")),
            ),
        }
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
