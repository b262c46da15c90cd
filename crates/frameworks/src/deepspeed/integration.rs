//! Who else reads the JSON: transformers and accelerate fill in what it leaves open.

use serde_json::{Value, json};

use crate::{refusal::LaunchRefusal, settings::Settings};

/// Where `auto` may stand, and the settings of which one decides it.
type Filled = (&'static [&'static str], &'static [&'static str]);

/// What transformers takes from its own arguments; a number there that is not theirs ends the training.
const BY_TRANSFORMERS: &[Filled] = &[
    (&["train_micro_batch_size_per_gpu"], &["microBatchSize"]),
    (&["gradient_accumulation_steps"], &["gradientAccumulationSteps"]),
    (&["train_batch_size"], &["globalBatchSize"]),
    (&["gradient_clipping"], &["gradientClipping"]),
    (&["optimizer", "params", "lr"], &["learningRate"]),
    (&["optimizer", "params", "betas"], &["betas"]),
    (&["optimizer", "params", "eps"], &["eps"]),
    (&["optimizer", "params", "weight_decay"], &["weightDecay"]),
    (&["scheduler", "params", "warmup_min_lr"], &[]),
    (&["scheduler", "params", "warmup_max_lr"], &["learningRate"]),
    (&["scheduler", "params", "warmup_num_steps"], &["warmupSteps"]),
    (&["scheduler", "params", "total_num_steps"], &["totalSteps"]),
];

/// By the model's hidden size, in ZeRO-3.
const BY_HIDDEN_SIZE: &[Filled] = &[
    (&["zero_optimization", "reduce_bucket_size"], &["reduceBucketSize", "hiddenSize"]),
    (&["zero_optimization", "stage3_prefetch_bucket_size"], &["hiddenSize"]),
    (&["zero_optimization", "stage3_param_persistence_threshold"], &["hiddenSize"]),
];

/// What stands between the script and DeepSpeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integration {
    Nothing,
    Transformers,
    Accelerate,
}

impl Integration {
    pub(super) fn read(settings: &Settings<'_>) -> Result<Self, LaunchRefusal> {
        Ok(match settings.choice("integration", &["none", "transformers", "accelerate"])? {
            Some("transformers") => Self::Transformers,
            Some("accelerate") => Self::Accelerate,
            _ => Self::Nothing,
        })
    }

    /// Whether an `auto` in a file of the user's own is filled in before DeepSpeed sees it.
    pub(super) fn fills_auto(self) -> bool {
        self != Self::Nothing
    }
}

/// Puts `auto` wherever transformers knows better and nobody set a value.
pub(super) fn leave_open(json: &mut Value, stage: u64, is_set: impl Fn(&str) -> bool) {
    let by_size = if stage == 3 { BY_HIDDEN_SIZE } else { &[] };
    for (path, settings) in BY_TRANSFORMERS.iter().chain(by_size) {
        if settings.iter().any(|name| is_set(name)) {
            continue;
        }
        let place = path.iter().try_fold(&mut *json, |section, name| section.get_mut(*name));
        if let Some(place) = place {
            *place = "auto".into();
        }
    }
    if !is_set("precision")
        && let Some(json) = json.as_object_mut()
    {
        json.insert("fp16".into(), super::config::half_precision("auto".into()));
        json.insert("bf16".into(), json!({"enabled": "auto"}));
    }
}
