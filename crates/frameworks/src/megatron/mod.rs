//! Megatron-LM: arguments from the strategy, with its rules checked before anything starts.
//!
//! The user's command is read first. What stands there counts as much as a setting and is never overruled; what it does
//! not say goes behind it. Megatron's own parser is in no registry; names and rules are a table of ours, see [`names`]
//! and [`rules`].

mod arguments;
mod argv;
mod given_arguments;
mod joint;
mod layout;
mod names;
mod precision;
mod rules;
mod shape;

use fermi_domain::{
    contract,
    contract::engines,
    framework::Framework,
    language::Text,
    task::{DistributedConfig, TaskSpec},
};

use crate::{
    batch, deepspeed,
    draft::Draft,
    hosts,
    order::LaunchOrder,
    precision::SETTING as PRECISION,
    refusal::LaunchRefusal,
    settings::{Setting, Settings},
};
use argv::Argv;
use given_arguments::{GivenArguments, agree};
use names::Parser;
use shape::Shape;

const OWN: &[Setting] = &[
    PRECISION,
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
    Setting::new("saveInterval", "每多少步保存一次，默认 500", "steps between checkpoints; 500 unless given"),
    Setting::new(
        "appendArguments",
        "是否把参数追加到 Python 命令，默认 true",
        "whether the arguments go behind a Python command; true unless given",
    ),
    Setting::new(
        "deepspeed",
        "DeepSpeed 部分，同时写出两份配置",
        "a section for DeepSpeed: both configurations are written",
    ),
];

pub(crate) const SETTINGS: &[&[Setting]] = &[batch::SETTINGS, OWN];

pub(crate) fn add(order: &LaunchOrder<'_>, settings: &Settings<'_>, draft: &mut Draft) -> Result<(), LaunchRefusal> {
    let known: &[&[Setting]] = &[deepspeed::FILE_SETTINGS];
    let section = settings
        .section("deepspeed")?
        .map(|section| Settings::read(Framework::Deepspeed, "deepspeed.", known, section))
        .transpose()?;
    let argv = Argv::of(&order.spec.work);
    let of_the_fork = section.is_some() || argv.has("--deepspeed");
    let parser = if of_the_fork { Parser::MegatronDeepspeed } else { Parser::MegatronLm };
    let args = &GivenArguments { argv, settings, parser };
    let backend = backend(order, args, draft)?;
    let strategy = layout::strategy(order, args)?;
    let (shape, notes) = Shape::read(order, args, strategy, section.as_ref())?;
    rules::check(args, &shape)?;
    draft.notes.extend(notes);
    draft.notes.push(shape.batch.text_of(order.world()));
    draft.notes.extend(layout::tensor_across_nodes(order, strategy));
    connections(args, draft);
    draft.env.set(contract::FERMI_BACKEND, backend.as_str());
    draft.env.set_display(engines::FERMI_MICRO_BATCH_SIZE, shape.batch.micro);
    draft.env.set_display(engines::FERMI_GRADIENT_ACCUMULATION_STEPS, shape.batch.accumulation);
    draft.env.set_display(engines::FERMI_DATA_PARALLEL, strategy.data_parallel);
    draft.env.set_display(engines::FERMI_PIPELINE_PARALLEL, strategy.pipeline_parallel);
    draft.env.set_display(engines::FERMI_TENSOR_PARALLEL, strategy.tensor_parallel);
    let mut arguments = arguments::of(order, args, &shape, &backend);
    match &section {
        Some(section) => {
            // DeepSpeed shall see the division that the command says as if the task had it.
            let distributed = DistributedConfig { strategy: Some(strategy), ..order.spec.distributed.clone() };
            let spec = TaskSpec { distributed, ..order.spec.clone() };
            let order = &LaunchOrder { spec: &spec, ..order.clone() };
            arguments.extend(joint::add(order, args, section, &shape, draft)?);
        }
        None if of_the_fork => arguments.extend(joint::of_command(args, &shape)?),
        None => {}
    }
    let file = draft.file("megatron_args.txt", arguments::file(&arguments));
    draft.env.set(engines::FERMI_CONFIG_FILE, file);
    draft.file("hostfile", hosts::file(order));
    if Draft::runs_users_program(order) && settings.flag("appendArguments")?.unwrap_or(true) {
        if argv.is_python() {
            arguments::append(argv, arguments, draft);
        } else {
            draft.notes.push(for_the_script());
        }
    }
    Ok(())
}

/// Megatron takes two of torch's backends; the fork a few more, which only a command can name.
fn backend(order: &LaunchOrder<'_>, args: &GivenArguments<'_>, draft: &Draft) -> Result<String, LaunchRefusal> {
    const FLAG: &str = "--distributed-backend";
    if let Some(here) = args.argv.value(FLAG) {
        let there = order.spec.options.backend.as_ref().map(|_| draft.backend);
        agree(FLAG, Some(here), "options.backend", there)?;
        if here == "nccl" && !order.on_gpus() {
            return Err(LaunchRefusal::Rule {
                key: FLAG.to_owned(),
                text: Text::new("NCCL 需要每个 rank 都有 GPU", "NCCL needs a GPU under every rank"),
                hint: Text::new("使用 gloo，或去掉该参数", "give gloo, or leave the argument out"),
            });
        }
        return Ok(here.to_owned());
    }
    if ["nccl", "gloo"].contains(&draft.backend) {
        return Ok(draft.backend.to_owned());
    }
    let wanted = Text::new(" nccl 或 gloo：Megatron 只接受这两种", "nccl or gloo: Megatron takes no other");
    Err(LaunchRefusal::OptionInvalid { option: "backend", wanted })
}

/// Kernels and communication in one queue overlap as Megatron wants it; its two ways of FSDP stop at such a queue.
fn connections(args: &GivenArguments<'_>, draft: &mut Draft) {
    match args.argv.which(&["--use-megatron-fsdp", "--use-torch-fsdp2"]) {
        None => draft.env.set(engines::CUDA_DEVICE_MAX_CONNECTIONS, "1"),
        Some(flag) => draft.notes.push(Text::new(
            format!("{flag} 不允许 CUDA_DEVICE_MAX_CONNECTIONS=1，未设置该变量"),
            format!("{flag} does not go with CUDA_DEVICE_MAX_CONNECTIONS=1: the variable is not set"),
        )),
    }
}

fn for_the_script() -> Text {
    Text::new(
        "命令不是 Python 脚本或模块，参数未追加；见 megatron_args.txt（FERMI_CONFIG_FILE）",
        "no Python script or module: the arguments are not behind it but in megatron_args.txt (FERMI_CONFIG_FILE)",
    )
}
