//! What is trained and how it is divided.

use fermi_domain::{language::Text, task::Strategy};

use crate::{
    batch::{Batch, Wanted},
    order::LaunchOrder,
    precision::Precision,
    refusal::LaunchRefusal,
    settings::Settings,
};

/// Model, layout and batch. A model's number that is not given stays with the script's own arguments.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub tensor: u64,
    pub pipeline: u64,
    pub context: u64,
    pub expert: Option<u64>,
    pub experts: Option<u64>,
    pub sequence_parallel: bool,
    pub layers: Option<u64>,
    pub hidden: Option<u64>,
    pub ffn_hidden: Option<u64>,
    pub heads: Option<u64>,
    pub query_groups: Option<u64>,
    pub sequence: Option<u64>,
    pub layers_per_virtual_stage: Option<u64>,
    pub distributed_optimizer: bool,
    pub recompute: Option<&'static str>,
    pub train_iters: Option<u64>,
    pub learning_rate: Option<f64>,
    pub clip_grad: Option<f64>,
    pub save_interval: Option<u64>,
    pub precision: Precision,
    pub batch: Batch,
}

impl Shape {
    pub(super) fn read(
        order: &LaunchOrder<'_>,
        settings: &Settings<'_>,
        strategy: Strategy,
    ) -> Result<(Self, Vec<Text>), LaunchRefusal> {
        let context = settings.count("contextParallel")?.unwrap_or(1);
        let data_parallel = u64::from(strategy.data_parallel);
        if !data_parallel.is_multiple_of(context) {
            return Err(LaunchRefusal::Indivisible {
                key: settings.key("contextParallel"),
                number: data_parallel,
                what: ("数据并行度", "Data parallelism"),
                by: context,
                by_what: ("上下文并行度", "context parallelism"),
            });
        }
        let (batch, batch_note) = Wanted::read(settings)?.resolve(data_parallel / context, (1, 1))?;
        let (precision, precision_note) = Precision::read(settings, order, Precision::Bf16)?;
        let tensor = u64::from(strategy.tensor_parallel);
        let wants_sequence = settings.flag("sequenceParallel")?;
        let alone = (wants_sequence == Some(true) && tensor == 1).then(|| {
            Text::new(
                "序列并行需要张量并行大于 1，已忽略",
                "sequence parallelism needs tensor parallelism above 1: left out",
            )
        });
        let recompute = settings.choice("recompute", &["none", "selective", "full"])?;
        let shape = Self {
            tensor,
            pipeline: u64::from(strategy.pipeline_parallel),
            context,
            expert: settings.count("expertParallel")?,
            experts: settings.count("numExperts")?,
            sequence_parallel: wants_sequence.unwrap_or(tensor > 1) && tensor > 1,
            layers: settings.count("numLayers")?,
            hidden: settings.count("hiddenSize")?,
            ffn_hidden: settings.count("ffnHiddenSize")?,
            heads: settings.count("numAttentionHeads")?,
            query_groups: settings.count("numQueryGroups")?,
            sequence: settings.count("seqLength")?,
            layers_per_virtual_stage: settings.count("layersPerVirtualStage")?,
            distributed_optimizer: settings.flag("distributedOptimizer")?.unwrap_or(false),
            recompute: recompute.filter(|word| *word != "none"),
            train_iters: settings.count("trainIters")?,
            learning_rate: settings.number("learningRate")?,
            clip_grad: settings.number("gradientClipping")?,
            save_interval: settings.count("saveInterval")?,
            precision,
            batch,
        };
        Ok((shape, [batch_note, precision_note, alone].into_iter().flatten().collect()))
    }
}
