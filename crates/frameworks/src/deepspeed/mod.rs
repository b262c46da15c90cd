//! DeepSpeed: its JSON with batch sizes that hold for this world, the host file, and what its integrations read.

mod config;
mod zero;

use fermi_domain::{contract::engines, language::Text, launch::Phrase};

pub(crate) use config::Configuration;

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
    Setting::new("totalSteps", "总步数（衰减用）", "steps in all, for schedules that decay"),
    Setting::new("allgatherBucketSize", "all-gather 桶的元素数", "elements of an all-gather bucket"),
    Setting::new("reduceBucketSize", "reduce 桶的元素数", "elements of a reduce bucket"),
    Setting::new("hiddenSize", "模型隐藏维度，用于解析 auto", "the model's hidden size, by which auto is resolved"),
    Setting::new("overlapComm", "通信与计算是否重叠", "whether communication overlaps computation"),
    Setting::new("stepsPerPrint", "每多少步打印一次", "steps between prints"),
    Setting::new("profile", "是否输出性能分析", "whether to profile"),
    Setting::new("integration", "transformers 时保留 auto", "transformers keeps auto; none is the plain engine"),
];

const OWN: &[Setting] = &[
    Setting::new("configArgument", "把配置文件作为此参数追加", "appends the file behind this argument"),
    Setting::new("logLevel", "DEEPSPEED_LOG_LEVEL", "DEEPSPEED_LOG_LEVEL"),
];

pub(crate) const SETTINGS: &[&[Setting]] = &[batch::SETTINGS, FILE_SETTINGS, OWN];

/// The JSON's name in the launch folder.
pub(crate) const FILE: &str = "ds_config.json";

pub(crate) fn add(order: &LaunchOrder<'_>, settings: &Settings<'_>, draft: &mut Draft) -> Result<(), LaunchRefusal> {
    note_on_layout(order, draft);
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
        draft.argv.extend([Phrase::text(argument), file]);
    }
    Ok(())
}

/// Writes the JSON, and what its numbers mean into the notes.
pub(crate) fn add_file(order: &LaunchOrder<'_>, configuration: &Configuration, draft: &mut Draft) -> Phrase {
    draft.notes.extend(configuration.notes.iter().cloned());
    draft.notes.push(configuration.batch.text());
    draft.env.set_display(engines::FERMI_MICRO_BATCH_SIZE, configuration.batch.micro);
    draft.env.set_display(engines::FERMI_GRADIENT_ACCUMULATION_STEPS, configuration.batch.accumulation);
    let json = serde_json::to_string_pretty(&configuration.json(order)).unwrap_or_default();
    draft.file(FILE, json + "\n")
}

/// A division of work that is none of these ranks is accepted and has no effect; saying so is owed.
fn note_on_layout(order: &LaunchOrder<'_>, draft: &mut Draft) {
    let Some(strategy) = order.spec.distributed.strategy else { return };
    let wanted = strategy.tensor_parallel > 1 || strategy.pipeline_parallel > 1;
    if wanted && order.fitting_strategy().is_none() {
        let (product, ranks) = (strategy.ranks(), order.world());
        draft.notes.push(Text::new(
            format!("并行策略需要 {product} 个 rank，现有 {ranks} 个：DeepSpeed 按数据并行启动"),
            format!("the strategy needs {product} ranks and there are {ranks}: DeepSpeed starts data parallel"),
        ));
    }
}
