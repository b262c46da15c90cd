//! What is trained and how it is divided.

use fermi_domain::{language::Text, task::Strategy};

use super::{
    names::{self, Parser},
    precision,
    said::{Said, agree},
};
use crate::{
    batch::{Batch, Wanted},
    order::LaunchOrder,
    precision::Precision,
    refusal::LaunchRefusal,
    settings::Settings,
};

/// Steps between checkpoints where nobody says: Megatron does not take a folder for them without it.
const USUAL_SAVE_INTERVAL: u64 = 500;

/// Model, layout and batch. A model's number that is not said stays with the script's own defaults.
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
    pub positions: Option<u64>,
    pub layers_per_virtual_stage: Option<u64>,
    /// Said in the command only, in place of the layers of such a stage.
    pub virtual_stages: Option<u64>,
    pub distributed_optimizer: bool,
    /// None as well where the command says it with arguments of its own.
    pub recompute: Option<&'static str>,
    pub train_iters: Option<u64>,
    pub learning_rate: Option<f64>,
    pub clip_grad: Option<f64>,
    pub saves: Saves,
    pub precision: Precision,
    pub batch: Batch,
}

/// Where checkpoints go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saves {
    /// Fermi's folder, unless the command names one to save to or to load from.
    pub in_our_folder: bool,
    pub interval: Option<u64>,
}

impl Shape {
    pub(super) fn read(
        order: &LaunchOrder<'_>,
        said: &Said<'_>,
        strategy: Strategy,
        deepspeed: Option<&Settings<'_>>,
    ) -> Result<(Self, Vec<Text>), LaunchRefusal> {
        let context = context(said, strategy)?;
        let (batch, batch_note) = batch(said, u64::from(strategy.data_parallel) / context)?;
        let (precision, precision_note) = precision::read(order, said, deepspeed)?;
        let tensor = u64::from(strategy.tensor_parallel);
        let sequence = said.count(&names::SEQUENCE)?;
        let (sequence_parallel, alone) = sequence_parallel(said, tensor, sequence)?;
        let (saves, save_note) = saves(said)?;
        said.exclusive(&names::VIRTUAL_LAYERS, "--num-virtual-stages-per-pipeline-rank")?;
        said.exclusive(&names::TRAIN_ITERS, "--train-samples")?;
        let positions = said.argv.count("--max-position-embeddings", 1)?;
        let shape = Self {
            tensor,
            pipeline: u64::from(strategy.pipeline_parallel),
            context,
            expert: said.count(&names::EXPERT)?,
            experts: said.count(&names::EXPERTS)?,
            sequence_parallel,
            layers: said.count(&names::LAYERS)?,
            hidden: said.count(&names::HIDDEN)?,
            ffn_hidden: said.count(&names::FFN_HIDDEN)?,
            heads: said.count(&names::HEADS)?,
            query_groups: query_groups(said)?,
            sequence,
            positions: positions.or(sequence),
            layers_per_virtual_stage: said.count(&names::VIRTUAL_LAYERS)?,
            virtual_stages: said.argv.count("--num-virtual-stages-per-pipeline-rank", 1)?,
            distributed_optimizer: said.switch(&names::DISTRIBUTED_OPTIMIZER)?.unwrap_or(false),
            recompute: recompute(said)?,
            train_iters: said.count(&names::TRAIN_ITERS)?,
            learning_rate: said.number(&names::LEARNING_RATE)?,
            clip_grad: said.number(&names::CLIP_GRAD)?,
            saves,
            precision,
            batch,
        };
        Ok((shape, [batch_note, precision_note, alone, save_note].into_iter().flatten().collect()))
    }
}

/// Into how many parts a sequence is divided, among ranks that would share data otherwise.
fn context(said: &Said<'_>, strategy: Strategy) -> Result<u64, LaunchRefusal> {
    let set = said.settings.count(names::CONTEXT.setting)?.unwrap_or(1);
    if said.parser == Parser::MegatronDeepspeed && set > 1 {
        return Err(LaunchRefusal::Rule {
            key: said.settings.key(names::CONTEXT.setting),
            text: Text::new("Megatron-DeepSpeed 没有上下文并行", "Megatron-DeepSpeed has no context parallelism"),
            hint: Text::new(
                "去掉 contextParallel，或去掉 deepspeed 部分",
                "leave out contextParallel, or the section for DeepSpeed",
            ),
        });
    }
    let context = said.count(&names::CONTEXT)?.unwrap_or(1);
    let data_parallel = u64::from(strategy.data_parallel);
    if data_parallel.is_multiple_of(context) {
        return Ok(context);
    }
    Err(LaunchRefusal::Indivisible {
        key: said.key(&names::CONTEXT),
        number: data_parallel,
        what: ("数据并行度", "Data parallelism"),
        by: context,
        by_what: ("上下文并行度", "context parallelism"),
    })
}

/// Megatron finds the accumulation itself, so a global batch in the command must be the product.
fn batch(said: &Said<'_>, data_parallel: u64) -> Result<(Batch, Option<Text>), LaunchRefusal> {
    said.exclusive(&names::GLOBAL_BATCH, "--step-batch-size-schedule")?;
    let accumulation = said.settings.count("gradientAccumulationSteps")?;
    let (micro, global) = (said.count(&names::MICRO_BATCH)?, said.count(&names::GLOBAL_BATCH)?);
    let (batch, note) = Wanted { micro, accumulation, global }.resolve(data_parallel, (1, 1))?;
    if let (Some(flag), Some(global)) = (said.flag(&names::GLOBAL_BATCH), global) {
        let there = format!("{} × {data_parallel} × gradientAccumulationSteps", batch.micro);
        agree(flag, Some(global), &there, Some(batch.global))?;
    }
    Ok((batch, note))
}

/// With tensor parallelism unless somebody says otherwise; as a default it gives way to what does not go with it.
fn sequence_parallel(
    said: &Said<'_>,
    tensor: u64,
    sequence: Option<u64>,
) -> Result<(bool, Option<Text>), LaunchRefusal> {
    let wanted = said.switch(&names::SEQUENCE_PARALLEL)?;
    let alone = (wanted == Some(true) && tensor == 1).then(|| {
        Text::new(
            "序列并行需要张量并行大于 1，已忽略",
            "sequence parallelism needs tensor parallelism above 1: left out",
        )
    });
    let usual =
        sequence.is_none_or(|length| length.is_multiple_of(tensor)) && !said.argv.has("--distribute-saved-activations");
    Ok((tensor > 1 && wanted.unwrap_or(usual), alone))
}

/// Megatron-LM looks at the number only beside the switch; without it the model is left as the command says.
fn query_groups(said: &Said<'_>) -> Result<Option<u64>, LaunchRefusal> {
    let groups = said.count(&names::QUERY_GROUPS)?;
    let used = said.parser == Parser::MegatronDeepspeed
        || said.settings.has(names::QUERY_GROUPS.setting)
        || said.argv.has("--group-query-attention");
    Ok(groups.filter(|_| used))
}

fn recompute(said: &Said<'_>) -> Result<Option<&'static str>, LaunchRefusal> {
    let set = said.settings.choice("recompute", &["none", "selective", "full"])?;
    let (flag, here) = match said.argv.value("--recompute-granularity") {
        Some(word) => ("--recompute-granularity", Some(word)),
        None => ("--recompute-activations", said.argv.has("--recompute-activations").then_some("selective")),
    };
    agree(flag, here, "recompute", set)?;
    Ok(set.filter(|word| *word != "none" && here.is_none()))
}

fn saves(said: &Said<'_>) -> Result<(Saves, Option<Text>), LaunchRefusal> {
    let in_our_folder = !said.argv.has("--save") && !said.argv.has("--load");
    let given = said.count(&names::SAVE_INTERVAL)?;
    let usual = (given.is_none() && (in_our_folder || said.argv.has("--save"))).then_some(USUAL_SAVE_INTERVAL);
    let note = usual.map(|steps| {
        Text::new(
            format!("每 {steps} 步保存一次检查点（saveInterval 可更改）"),
            format!("a checkpoint every {steps} steps (saveInterval changes that)"),
        )
    });
    Ok((Saves { in_our_folder, interval: given.or(usual) }, note))
}
