//! Megatron-LM: arguments from the strategy, with its rules of division checked before anything starts.
//!
//! Megatron's own parser is in no registry; the names and rules here are a table of ours, see [`arguments`].

mod arguments;
mod rules;
mod shape;

use fermi_domain::{
    contract::engines, framework::Framework, language::Text, launch::Phrase, layout, messages::Refusal, task::Strategy,
};

use crate::{
    batch, deepspeed,
    draft::Draft,
    hosts,
    order::LaunchOrder,
    precision,
    refusal::LaunchRefusal,
    settings::{Setting, Settings},
};
use shape::Shape;

const OWN: &[Setting] = &[
    precision::SETTING,
    Setting::new("numLayers", "层数", "layers"),
    Setting::new("hiddenSize", "隐藏维度", "hidden size"),
    Setting::new("ffnHiddenSize", "前馈层维度", "hidden size of the feed-forward part"),
    Setting::new("numAttentionHeads", "注意力头数", "attention heads"),
    Setting::new("numQueryGroups", "分组查询的组数", "groups of queries (GQA)"),
    Setting::new("seqLength", "序列长度", "sequence length"),
    Setting::new("sequenceParallel", "是否使用序列并行", "whether sequences are divided too"),
    Setting::new("contextParallel", "上下文并行度", "degree of context parallelism"),
    Setting::new("expertParallel", "专家并行度", "degree of expert parallelism"),
    Setting::new("numExperts", "专家数", "experts"),
    Setting::new("layersPerVirtualStage", "交错流水线每段的层数", "layers of a virtual pipeline stage"),
    Setting::new("distributedOptimizer", "是否切分优化器状态", "whether optimizer states are divided"),
    Setting::new("recompute", "selective、full 或 none", "selective, full or none"),
    Setting::new("trainIters", "训练步数", "steps"),
    Setting::new("learningRate", "学习率", "learning rate"),
    Setting::new("gradientClipping", "梯度裁剪", "the norm at which gradients are clipped"),
    Setting::new("saveInterval", "每多少步保存一次", "steps between checkpoints"),
    Setting::new(
        "appendArguments",
        "是否把参数追加到命令",
        "whether the arguments go behind the command; true unless given",
    ),
    Setting::new(
        "deepspeed",
        "DeepSpeed 部分，同时写出两份配置",
        "a section for DeepSpeed: both configurations are written",
    ),
];

pub(crate) const SETTINGS: &[&[Setting]] = &[batch::SETTINGS, OWN];

pub(crate) fn add(order: &LaunchOrder<'_>, settings: &Settings<'_>, draft: &mut Draft) -> Result<(), LaunchRefusal> {
    let strategy = strategy(order)?;
    let (shape, notes) = Shape::read(order, settings, strategy)?;
    rules::check(settings, &shape)?;
    draft.notes.extend(notes);
    draft.notes.push(shape.batch.text());
    draft.notes.extend(tensor_across_nodes(order, strategy));
    draft.env.set(engines::CUDA_DEVICE_MAX_CONNECTIONS, "1");
    draft.env.set_display(engines::FERMI_MICRO_BATCH_SIZE, shape.batch.micro);
    draft.env.set_display(engines::FERMI_GRADIENT_ACCUMULATION_STEPS, shape.batch.accumulation);
    draft.env.set_display(engines::FERMI_DATA_PARALLEL, strategy.data_parallel);
    draft.env.set_display(engines::FERMI_PIPELINE_PARALLEL, strategy.pipeline_parallel);
    draft.env.set_display(engines::FERMI_TENSOR_PARALLEL, strategy.tensor_parallel);
    let mut words = arguments::of(order, &shape, draft.backend);
    if let Some(section) = settings.section("deepspeed")? {
        words.extend(with_deepspeed(order, section, &shape, draft)?);
    }
    let file = draft.file("megatron_args.txt", arguments::file(&words));
    draft.env.set(engines::FERMI_CONFIG_FILE, file);
    draft.file("hostfile", hosts::file(order));
    if Draft::runs_users_program(order) && settings.flag("appendArguments")?.unwrap_or(true) {
        arguments::append(order, words, draft)?;
    }
    Ok(())
}

/// The user's division of work, which must be one of exactly these ranks; data parallel when nothing is said.
fn strategy(order: &LaunchOrder<'_>) -> Result<Strategy, LaunchRefusal> {
    let ranks = order.ranks.world_size();
    let Some(strategy) = order.spec.distributed.strategy else {
        return Ok(Strategy { data_parallel: ranks, ..Strategy::default() });
    };
    if strategy.ranks() == u64::from(ranks) {
        return Ok(strategy);
    }
    let fitting = layout::that_fit(&order.ranks_per_node(), strategy, 3);
    Err(LaunchRefusal::Layout(Refusal::LayoutMismatch { strategy, ranks, fitting }))
}

/// Tensor parallel parts talk in every layer; over a network that is slow.
fn tensor_across_nodes(order: &LaunchOrder<'_>, strategy: Strategy) -> Option<Text> {
    let within = order.ranks_per_node().iter().all(|ranks| ranks.is_multiple_of(strategy.tensor_parallel.max(1)));
    (!within).then(|| {
        Text::new(
            format!("张量并行 {} 跨越节点，会变慢", strategy.tensor_parallel),
            format!("tensor parallel {} reaches over nodes and will be slow", strategy.tensor_parallel),
        )
    })
}

/// Writes DeepSpeed's JSON with Megatron's batch numbers and returns the arguments that name it.
fn with_deepspeed(
    order: &LaunchOrder<'_>,
    section: &serde_json::Map<String, serde_json::Value>,
    shape: &Shape,
    draft: &mut Draft,
) -> Result<Vec<Phrase>, LaunchRefusal> {
    let known: &[&[Setting]] = &[deepspeed::FILE_SETTINGS];
    let settings = Settings::read(Framework::Deepspeed, "deepspeed.", known, section)?;
    let configuration = deepspeed::Configuration::read(order, &settings)?;
    let configuration = configuration.within_megatron(shape.batch, shape.precision, &settings);
    let stage = configuration.zero.stage;
    let file = deepspeed::add_file(order, &configuration, draft);
    draft.notes.pop();
    Ok(vec![
        Phrase::text("--deepspeed"),
        Phrase::text("--deepspeed_config"),
        file,
        Phrase::text("--zero-stage"),
        Phrase::text(stage.to_string()),
    ])
}
