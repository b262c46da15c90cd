//! DeepSpeed: its JSON with batch sizes that hold for this world, the host file, and what its integrations read.

mod config;
mod integration;
mod optimizer;
mod own_file;
mod scheduler;
mod zero;

use fermi_domain::{contract::engines, language::Text, launch::Template};

pub(crate) use config::{Configuration, USUAL_BATCH};
pub(crate) use own_file::precision_of;

use crate::{
    accelerate, batch,
    draft::Draft,
    hosts,
    order::LaunchOrder,
    precision,
    refusal::LaunchRefusal,
    settings::{Setting, Settings},
};

/// What the JSON is made from; Megatron's `deepspeed` section takes these too.
pub(crate) const FILE_SETTINGS: &[Setting] = &[
    precision::SETTING,
    Setting::new(
        "config",
        "自己的 DeepSpeed JSON，其余设置覆盖其上",
        "a DeepSpeed JSON of your own; the other settings go over it",
    ),
    Setting::new("zeroStage", "ZeRO 阶段：0 到 3", "ZeRO stage, 0 to 3"),
    Setting::new("offloadOptimizer", "优化器状态放在 none、cpu 或 nvme", "where optimizer states go: none, cpu, nvme"),
    Setting::new(
        "offloadParam",
        "参数放在 none、cpu 或 nvme（ZeRO-3）",
        "where parameters go: none, cpu, nvme (ZeRO-3)",
    ),
    Setting::new("nvmePath", "NVMe 的目录", "the folder on NVMe"),
    Setting::new("pinMemory", "卸载时是否锁页", "whether offloaded memory is pinned"),
    Setting::new("gradientClipping", "梯度裁剪", "the norm at which gradients are clipped"),
    Setting::new("optimizer", "优化器类型，none 表示由脚本决定", "the optimizer's type; none leaves it to the script"),
    Setting::new("learningRate", "学习率", "learning rate"),
    Setting::new("betas", "Adam 的 betas", "Adam's betas"),
    Setting::new("eps", "Adam 的 eps", "Adam's eps"),
    Setting::new("weightDecay", "权重衰减", "weight decay"),
    Setting::new(
        "scheduler",
        "WarmupLR、WarmupDecayLR、WarmupCosineLR 或 none",
        "WarmupLR, WarmupDecayLR, WarmupCosineLR, none",
    ),
    Setting::new("warmupSteps", "预热步数", "steps of warm-up"),
    Setting::new("warmupType", "预热方式：log 或 linear", "how the rate rises: log or linear"),
    Setting::new("totalSteps", "总步数（衰减用）", "steps in all, for schedules that decay"),
    Setting::new("allgatherBucketSize", "all-gather 桶的元素数", "elements of an all-gather bucket"),
    Setting::new("reduceBucketSize", "reduce 桶的元素数", "elements of a reduce bucket"),
    Setting::new("hiddenSize", "模型隐藏维度，用于解析 auto", "the model's hidden size, by which auto is resolved"),
    Setting::new("overlapComm", "通信与计算是否重叠", "whether communication overlaps computation"),
    Setting::new("stepsPerPrint", "每多少步打印一次", "steps between prints"),
    Setting::new("profile", "是否输出性能分析", "whether to profile"),
    Setting::new(
        "integration",
        "transformers：未设置的值写 auto；accelerate：优化器与调度由脚本提供；none",
        "transformers: auto for what is not set; accelerate: optimizer and schedule are the script's; none",
    ),
];

const OWN: &[Setting] = &[
    Setting::new("configArgument", "把配置文件作为此参数追加", "appends the file behind this argument"),
    Setting::new("logLevel", "DEEPSPEED_LOG_LEVEL", "DEEPSPEED_LOG_LEVEL"),
];

pub(crate) const SETTINGS: &[&[Setting]] = &[batch::SETTINGS, FILE_SETTINGS, OWN];

/// The JSON's name in the launch folder.
pub(crate) const FILE: &str = "ds_config.json";

pub(crate) fn add(order: &LaunchOrder<'_>, settings: &Settings<'_>, draft: &mut Draft) -> Result<(), LaunchRefusal> {
    settle_layout(order, draft);
    note_on_chosen_gpus(order, draft);
    let configuration = Configuration::read(order, settings)?;
    let file = add_file(order, &configuration, draft);
    draft.env.set(engines::FERMI_CONFIG_FILE, file.clone());
    draft.file("hostfile", hosts::file(order));
    accelerate::deepspeed(order, &configuration, file.clone(), draft);
    if let Some(seconds) = order.spec.options.timeout {
        // DeepSpeed counts minutes and takes whole ones.
        draft.env.set_display(engines::DEEPSPEED_TIMEOUT, seconds.div_ceil(60));
    }
    if let Some(level) = settings.word("logLevel")? {
        draft.env.set(engines::DEEPSPEED_LOG_LEVEL, level);
    }
    if let Some(argument) = settings.word("configArgument")?
        && Draft::runs_users_program(order)
    {
        draft.engine_args.extend([Template::text(argument), file]);
    }
    Ok(())
}

/// Writes the JSON, and what its numbers mean into the notes.
pub(crate) fn add_file(order: &LaunchOrder<'_>, configuration: &Configuration, draft: &mut Draft) -> Template {
    let first_note = draft.notes.len();
    draft.notes.extend(configuration.notes.iter().cloned());
    draft.notes.extend(configuration.batch_notes(order.world()));
    if configuration.decides("microBatchSize") {
        draft.env.set_display(engines::FERMI_MICRO_BATCH_SIZE, configuration.batch.micro);
    }
    if configuration.decides("gradientAccumulationSteps") {
        draft.env.set_display(engines::FERMI_GRADIENT_ACCUMULATION_STEPS, configuration.batch.accumulation);
    }
    let (json, changed) = configuration.file(order);
    draft.notes.splice(first_note..first_note, changed);
    draft.file(FILE, serde_json::to_string_pretty(&json).unwrap_or_default() + "\n")
}

/// A division of work that is none of these ranks has no effect: all of them share the data, the script is told so by the
/// same variables, and the user by a note.
fn settle_layout(order: &LaunchOrder<'_>, draft: &mut Draft) {
    let Some(strategy) = order.spec.distributed.strategy else { return };
    if order.fitting_strategy().is_some() {
        return;
    }
    let (product, ranks) = (strategy.ranks(), order.world());
    draft.env.set_display(engines::FERMI_DATA_PARALLEL, ranks);
    draft.env.set_display(engines::FERMI_PIPELINE_PARALLEL, 1);
    draft.env.set_display(engines::FERMI_TENSOR_PARALLEL, 1);
    draft.notes.push(Text::new(
        format!("并行策略需要 {product} 个 rank，现有 {ranks} 个：DeepSpeed 按数据并行启动"),
        format!("the strategy needs {product} ranks and there are {ranks}: DeepSpeed starts data parallel"),
    ));
}

/// The host file has numbers of slots only, and DeepSpeed's launcher counts GPUs from 0.
fn note_on_chosen_gpus(order: &LaunchOrder<'_>, draft: &mut Draft) {
    let mut included = Vec::new();
    let mut are_the_first = true;
    for (host, node) in hosts::hosts(order).iter().zip(order.ranks.nodes()) {
        let gpus: Vec<u32> = node.slots.iter().filter_map(|slot| slot.gpu).collect();
        are_the_first &= gpus.iter().zip(0..).all(|(gpu, place)| *gpu == place);
        let gpus = gpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        included.push(format!("{host}:{gpus}"));
    }
    if !are_the_first {
        let include = included.join("@");
        draft.notes.push(Text::new(
            format!("hostfile 只有数量；用 deepspeed 启动时请加 --include {include}"),
            format!("the hostfile has numbers only; with the deepspeed launcher give --include {include}"),
        ));
    }
}
