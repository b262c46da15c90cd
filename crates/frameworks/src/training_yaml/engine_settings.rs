//! The framework's own settings, by the names that a task uses.

use serde_json::{Map, Value, json};

use super::{
    reader::TrainingYaml,
    resolved::{Resolved, ResolvedStrategy},
};

/// Of all engines at once: each knows its own.
pub(super) fn of(file: &TrainingYaml, resolved: &Resolved) -> Map<String, Value> {
    let mut settings = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        settings.extend(value.map(|value| (name.to_owned(), value)));
    };
    set("microBatchSize", Some(resolved.batch.micro.into()));
    set("gradientAccumulationSteps", Some(resolved.batch.accumulation.into()));
    set("precision", Some(resolved.precision.into()));
    set("learningRate", resolved.learning_rate.map(Value::from));
    if let ResolvedStrategy::DeepSpeed { stage } = resolved.strategy {
        set("zeroStage", stage.map(Value::from));
    }
    set("optimizer", optimizer(file).map(|(_, kind)| kind.into()));
    for (name, path) in SAME {
        set(name, file.get(path).cloned());
    }
    let layers = file.get("training.fsdp.transformer_layer_cls_to_wrap").and_then(Value::as_array);
    let layers = layers.map(|list| list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","));
    set("transformerLayers", layers.map(|layers| json!(layers)));
    settings
}

/// The optimizer that the file names in the words of transformers, and DeepSpeed's for it; the script's where it has none.
pub(super) fn optimizer(file: &TrainingYaml) -> Option<(&str, &'static str)> {
    let name = file.word("training.optim")?;
    let kinds = [("adamw", "AdamW"), ("adam", "Adam"), ("sgd", "SGD"), ("adagrad", "Adagrad"), ("lion", "Lion")];
    let lower = name.to_ascii_lowercase();
    let is_of = |known: &str| lower == known || lower.starts_with(&format!("{known}_"));
    // Optimizers of eight bits and paged ones are not DeepSpeed's.
    let is_special = ["8bit", "4bit", "paged", "bnb"].iter().any(|word| lower.contains(word));
    let kind = kinds.iter().find(|(known, _)| !is_special && is_of(known)).map_or("none", |(_, kind)| kind);
    Some((name, kind))
}

/// Settings that are keys of the file by another name.
const SAME: &[(&str, &str)] = &[
    ("bucketCapMb", "training.ddp_bucket_cap_mb"),
    ("findUnusedParameters", "training.find_unused_parameters"),
    ("broadcastBuffers", "training.ddp_broadcast_buffers"),
    ("gradientAsBucketView", "training.gradient_as_bucket_view"),
    ("gradientClipping", "training.max_grad_norm"),
    ("weightDecay", "training.weight_decay"),
    ("shardingStrategy", "training.fsdp.sharding_strategy"),
    ("minNumParams", "training.fsdp.min_num_params"),
    ("offloadParams", "training.fsdp.offload_params"),
    ("activationCheckpointing", "training.gradient_checkpointing"),
    ("seqLength", "training.max_seq_length"),
    ("trainIters", "training.max_steps"),
    ("saveInterval", "training.save_steps"),
];
