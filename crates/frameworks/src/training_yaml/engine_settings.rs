//! The framework's own settings, by the names that a task uses.

use serde_json::{Map, Value, json};

use super::{
    reader::TrainingYaml,
    resolved::{Resolved, ResolvedStrategy},
};

/// From the file's keys, by the strategy.
pub(super) fn of(file: &TrainingYaml, resolved: &Resolved) -> Map<String, Value> {
    let mut settings = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        settings.extend(value.map(|value| (name.to_owned(), value)));
    };
    set("microBatchSize", Some(resolved.batch.micro.into()));
    set("gradientAccumulationSteps", Some(resolved.batch.accumulation.into()));
    set("precision", Some(resolved.precision.into()));
    match resolved.strategy {
        ResolvedStrategy::Single | ResolvedStrategy::Ddp => {
            set("bucketCapMb", file.get("training.ddp_bucket_cap_mb").cloned());
            set("findUnusedParameters", file.get("training.find_unused_parameters").cloned());
            set("broadcastBuffers", file.get("training.ddp_broadcast_buffers").cloned());
            set("gradientAsBucketView", file.get("training.gradient_as_bucket_view").cloned());
        }
        ResolvedStrategy::DeepSpeed { stage } => {
            set("zeroStage", stage.map(Value::from));
            set("gradientClipping", file.get("training.max_grad_norm").cloned());
            set("learningRate", resolved.learning_rate.map(Value::from));
            set("weightDecay", file.get("training.weight_decay").cloned());
        }
        ResolvedStrategy::Fsdp => {
            set("shardingStrategy", file.get("training.fsdp.sharding_strategy").cloned());
            set("minNumParams", file.get("training.fsdp.min_num_params").cloned());
            set("offloadParams", file.get("training.fsdp.offload_params").cloned());
            set("activationCheckpointing", file.get("training.gradient_checkpointing").cloned());
            let layers = file.get("training.fsdp.transformer_layer_cls_to_wrap").and_then(Value::as_array);
            let layers = layers.map(|list| list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","));
            set("transformerLayers", layers.map(|layers| json!(layers)));
        }
    }
    settings
}
