//! PyTorch DistributedDataParallel: the contract's variables are all it needs; its file is for people and scripts.

mod config;

use fermi_domain::contract::engines;

use crate::{
    batch,
    draft::Draft,
    order::LaunchOrder,
    precision::{self, Precision},
    refusal::LaunchRefusal,
    settings::{Setting, Settings},
};

const OWN: &[Setting] = &[
    precision::SETTING,
    Setting::new("bucketCapMb", "梯度通信桶的大小（MB）", "size of a gradient bucket in MB"),
    Setting::new("findUnusedParameters", "是否查找未使用的参数", "whether to look for unused parameters"),
    Setting::new("broadcastBuffers", "是否广播 buffer", "whether buffers are broadcast"),
    Setting::new("gradientAsBucketView", "梯度是否直接放在桶中", "whether gradients live in the buckets"),
    Setting::new("staticGraph", "计算图是否不变", "whether the graph never changes"),
];

pub(crate) const SETTINGS: &[&[Setting]] = &[batch::SETTINGS, OWN];

pub(crate) fn add(order: &LaunchOrder<'_>, settings: &Settings<'_>, draft: &mut Draft) -> Result<(), LaunchRefusal> {
    let wanted = batch::Wanted::read(settings)?;
    let (precision, note) = Precision::read(settings, order, Precision::Fp32)?;
    draft.notes.extend(note);
    let tuning = config::Tuning {
        bucket_cap_mb: settings.count("bucketCapMb")?,
        find_unused_parameters: settings.flag("findUnusedParameters")?,
        broadcast_buffers: settings.flag("broadcastBuffers")?,
        gradient_as_bucket_view: settings.flag("gradientAsBucketView")?,
        static_graph: settings.flag("staticGraph")?,
    };
    let batch = if wanted.is_given() { Some(script_batch(order, wanted, draft)?) } else { None };
    let file = draft.file("pytorch_ddp_config.yaml", config::text(order, draft.backend, &tuning, batch, precision));
    draft.env.set(engines::FERMI_CONFIG_FILE, file);
    if !order.on_gpus() {
        // accelerate's processes do not find each other on CPU unless told so.
        draft.env.set(engines::ACCELERATE_USE_CPU, "true");
    }
    if settings.has("precision") {
        draft.env.set(engines::ACCELERATE_MIXED_PRECISION, precision.in_accelerate());
    }
    Ok(())
}

/// Batch numbers for a script that reads them from variables, as engines without a file of their own have it.
pub(crate) fn script_batch(
    order: &LaunchOrder<'_>,
    wanted: batch::Wanted,
    draft: &mut Draft,
) -> Result<batch::Batch, LaunchRefusal> {
    let (batch, note) = wanted.resolve(order.world(), (1, 1))?;
    draft.notes.extend(note);
    draft.notes.push(batch.text());
    draft.env.set_display(engines::FERMI_MICRO_BATCH_SIZE, batch.micro);
    draft.env.set_display(engines::FERMI_GRADIENT_ACCUMULATION_STEPS, batch.accumulation);
    draft.env.set_display(engines::ACCELERATE_GRADIENT_ACCUMULATION_STEPS, batch.accumulation);
    Ok(batch)
}
