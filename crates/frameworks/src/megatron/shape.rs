//! What is trained and how it is divided.

use fermi_domain::{language::Text, task::Strategy};

use super::{
    given_arguments::{GivenArguments, agree},
    names::{self, Parser},
    precision,
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

/// Model, layout and batch. A model's number that is not given stays with the script's own defaults.
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
    /// Given in the command only, in place of the layers of such a stage.
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
        args: &GivenArguments<'_>,
        strategy: Strategy,
        deepspeed: Option<&Settings<'_>>,
    ) -> Result<(Self, Vec<Text>), LaunchRefusal> {
        let context = context(args, strategy)?;
        let (batch, batch_note) = batch(args, u64::from(strategy.data_parallel) / context)?;
        let (precision, precision_note) = precision::read(order, args, deepspeed)?;
        let tensor = u64::from(strategy.tensor_parallel);
        let sequence = args.count(&names::SEQUENCE)?;
        let (sequence_parallel, alone) = sequence_parallel(args, tensor, sequence)?;
        let (saves, save_note) = saves(args)?;
        args.exclusive(&names::VIRTUAL_LAYERS, "--num-virtual-stages-per-pipeline-rank")?;
        args.exclusive(&names::TRAIN_ITERS, "--train-samples")?;
        let positions = args.argv.count("--max-position-embeddings", 1)?;
        let shape = Self {
            tensor,
            pipeline: u64::from(strategy.pipeline_parallel),
            context,
            expert: args.count(&names::EXPERT)?,
            experts: args.count(&names::EXPERTS)?,
            sequence_parallel,
            layers: args.count(&names::LAYERS)?,
            hidden: args.count(&names::HIDDEN)?,
            ffn_hidden: args.count(&names::FFN_HIDDEN)?,
            heads: args.count(&names::HEADS)?,
            query_groups: query_groups(args)?,
            sequence,
            positions: positions.or(sequence),
            layers_per_virtual_stage: args.count(&names::VIRTUAL_LAYERS)?,
            virtual_stages: args.argv.count("--num-virtual-stages-per-pipeline-rank", 1)?,
            distributed_optimizer: args.switch(&names::DISTRIBUTED_OPTIMIZER)?.unwrap_or(false),
            recompute: recompute(args)?,
            train_iters: args.count(&names::TRAIN_ITERS)?,
            learning_rate: args.number(&names::LEARNING_RATE)?,
            clip_grad: args.number(&names::CLIP_GRAD)?,
            saves,
            precision,
            batch,
        };
        Ok((shape, [batch_note, precision_note, alone, save_note].into_iter().flatten().collect()))
    }
}

/// Into how many parts a sequence is divided, among ranks that would share data otherwise.
fn context(args: &GivenArguments<'_>, strategy: Strategy) -> Result<u64, LaunchRefusal> {
    let set = args.settings.count(names::CONTEXT.setting)?.unwrap_or(1);
    if args.parser == Parser::MegatronDeepspeed && set > 1 {
        return Err(LaunchRefusal::Rule {
            key: args.settings.key(names::CONTEXT.setting),
            text: Text::new("Megatron-DeepSpeed 没有上下文并行", "Megatron-DeepSpeed has no context parallelism"),
            hint: Text::new(
                "去掉 contextParallel，或去掉 deepspeed 部分",
                "leave out contextParallel, or the section for DeepSpeed",
            ),
        });
    }
    let context = args.count(&names::CONTEXT)?.unwrap_or(1);
    let data_parallel = u64::from(strategy.data_parallel);
    if data_parallel.is_multiple_of(context) {
        return Ok(context);
    }
    Err(LaunchRefusal::Indivisible {
        key: args.key(&names::CONTEXT),
        number: data_parallel,
        what: ("数据并行度", "Data parallelism"),
        by: context,
        by_what: ("上下文并行度", "context parallelism"),
    })
}

/// Megatron finds the accumulation itself, so a global batch in the command must be the product.
fn batch(args: &GivenArguments<'_>, data_parallel: u64) -> Result<(Batch, Option<Text>), LaunchRefusal> {
    args.exclusive(&names::GLOBAL_BATCH, "--step-batch-size-schedule")?;
    let accumulation = args.settings.count("gradientAccumulationSteps")?;
    let (micro, global) = (args.count(&names::MICRO_BATCH)?, args.count(&names::GLOBAL_BATCH)?);
    let (batch, note) = Wanted { micro, accumulation, global }.resolve(data_parallel, (1, 1))?;
    if let (Some(flag), Some(global)) = (args.flag(&names::GLOBAL_BATCH), global) {
        let there = format!("{} × {data_parallel} × gradientAccumulationSteps", batch.micro);
        agree(flag, Some(global), &there, Some(batch.global))?;
    }
    Ok((batch, note))
}

/// With tensor parallelism unless somebody says otherwise; as a default it gives way to what does not go with it.
fn sequence_parallel(
    args: &GivenArguments<'_>,
    tensor: u64,
    sequence: Option<u64>,
) -> Result<(bool, Option<Text>), LaunchRefusal> {
    let wanted = args.switch(&names::SEQUENCE_PARALLEL)?;
    let alone = (wanted == Some(true) && tensor == 1).then(|| {
        Text::new(
            "序列并行需要张量并行大于 1，已忽略",
            "sequence parallelism needs tensor parallelism above 1: left out",
        )
    });
    let usual =
        sequence.is_none_or(|length| length.is_multiple_of(tensor)) && !args.argv.has("--distribute-saved-activations");
    Ok((tensor > 1 && wanted.unwrap_or(usual), alone))
}

/// Megatron-LM looks at the number only beside the switch; without it the model is left as the command says.
fn query_groups(args: &GivenArguments<'_>) -> Result<Option<u64>, LaunchRefusal> {
    let groups = args.count(&names::QUERY_GROUPS)?;
    let used = args.parser == Parser::MegatronDeepspeed
        || args.settings.has(names::QUERY_GROUPS.setting)
        || args.argv.has("--group-query-attention");
    Ok(groups.filter(|_| used))
}

fn recompute(args: &GivenArguments<'_>) -> Result<Option<&'static str>, LaunchRefusal> {
    let set = args.settings.choice("recompute", &["none", "selective", "full"])?;
    let (flag, here) = match args.argv.value("--recompute-granularity") {
        Some(word) => ("--recompute-granularity", Some(word)),
        None => ("--recompute-activations", args.argv.has("--recompute-activations").then_some("selective")),
    };
    agree(flag, here, "recompute", set)?;
    Ok(set.filter(|word| *word != "none" && here.is_none()))
}

fn saves(args: &GivenArguments<'_>) -> Result<(Saves, Option<Text>), LaunchRefusal> {
    let in_our_folder = !args.argv.has("--save") && !args.argv.has("--load");
    let given = args.count(&names::SAVE_INTERVAL)?;
    let usual = (given.is_none() && (in_our_folder || args.argv.has("--save"))).then_some(USUAL_SAVE_INTERVAL);
    let note = usual.map(|steps| {
        Text::new(
            format!("每 {steps} 步保存一次检查点（saveInterval 可更改）"),
            format!("a checkpoint every {steps} steps (saveInterval changes that)"),
        )
    });
    Ok((Saves { in_our_folder, interval: given.or(usual) }, note))
}
