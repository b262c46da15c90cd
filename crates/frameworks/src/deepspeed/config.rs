//! `ds_config.json`: DeepSpeed's own keys.

use fermi_domain::language::Text;
use serde_json::{Map, Value, json};

use super::zero::Zero;
use crate::{
    batch::{Batch, Wanted},
    order::LaunchOrder,
    precision::Precision,
    refusal::LaunchRefusal,
    settings::Settings,
};

/// What a micro-batch and the accumulation are when nobody says.
const USUAL_BATCH: (u64, u64) = (4, 8);
const USUAL_LEARNING_RATE: f64 = 3e-5;

/// Everything that the JSON says, decided.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    pub batch: Batch,
    pub precision: Precision,
    pub zero: Zero,
    pub notes: Vec<Text>,
    division: Division,
    gradient_clipping: f64,
    steps_per_print: u64,
    optimizer: Option<Value>,
    scheduler: Option<Value>,
    profile: bool,
}

/// Who divides the model itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Division {
    /// Every rank works on a batch of its own.
    Nobody,
    DeepSpeed {
        tensor: u64,
        pipeline: u64,
    },
    Megatron,
}

impl Division {
    /// By the user's strategy, if it fits the ranks.
    fn of(order: &LaunchOrder<'_>) -> Self {
        match order.fitting_strategy() {
            Some(strategy) if strategy.tensor_parallel > 1 || strategy.pipeline_parallel > 1 => Self::DeepSpeed {
                tensor: u64::from(strategy.tensor_parallel),
                pipeline: u64::from(strategy.pipeline_parallel),
            },
            _ => Self::Nobody,
        }
    }

    /// How many ranks share one batch.
    fn ranks_per_copy(self) -> u64 {
        match self {
            Self::DeepSpeed { tensor, pipeline } => tensor.saturating_mul(pipeline).max(1),
            Self::Nobody | Self::Megatron => 1,
        }
    }
}

impl Configuration {
    pub(crate) fn read(order: &LaunchOrder<'_>, settings: &Settings<'_>) -> Result<Self, LaunchRefusal> {
        let division = Division::of(order);
        let data_parallel = order.world() / division.ranks_per_copy();
        let (batch, batch_note) = Wanted::read(settings)?.resolve(data_parallel.max(1), USUAL_BATCH)?;
        let (precision, precision_note) = Precision::read(settings, order, Precision::Fp16)?;
        let (zero, zero_note) = Zero::read(settings, order)?;
        let learning_rate = settings.number("learningRate")?.unwrap_or(USUAL_LEARNING_RATE);
        Ok(Self {
            batch,
            precision,
            division,
            gradient_clipping: settings.number("gradientClipping")?.unwrap_or(1.0),
            steps_per_print: settings.count("stepsPerPrint")?.unwrap_or(10),
            optimizer: optimizer(settings, order, learning_rate)?,
            scheduler: scheduler(settings, learning_rate)?,
            profile: settings.flag("profile")?.unwrap_or(false),
            zero,
            notes: [batch_note, precision_note, zero_note].into_iter().flatten().collect(),
        })
    }

    /// As a part of Megatron, which divides the model, brings the optimizer and knows the batch itself. Optimizer and
    /// scheduler are written only where the user named them.
    pub(crate) fn within_megatron(mut self, batch: Batch, precision: Precision, settings: &Settings<'_>) -> Self {
        self.batch = batch;
        if self.division != Division::Nobody {
            self.division = Division::Megatron;
        }
        if !settings.has("precision") {
            self.precision = precision;
        }
        self.optimizer = self.optimizer.filter(|_| settings.has("optimizer"));
        self.scheduler = self.scheduler.filter(|_| settings.has("scheduler"));
        self
    }

    /// The whole file.
    pub(crate) fn json(&self, order: &LaunchOrder<'_>) -> Value {
        let mut json = Map::new();
        json.insert("zero_optimization".into(), self.zero.json());
        match self.precision {
            Precision::Fp16 => {
                json.insert(
                    "fp16".into(),
                    json!({
                        "enabled": true, "loss_scale": 0, "loss_scale_window": 1000,
                        "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1,
                    }),
                );
            }
            Precision::Bf16 => {
                json.insert("bf16".into(), json!({"enabled": true}));
            }
            Precision::Fp32 => {
                json.insert("fp16".into(), json!({"enabled": false}));
            }
        }
        json.extend(self.optimizer.clone().map(|optimizer| ("optimizer".to_owned(), optimizer)));
        json.extend(self.scheduler.clone().map(|scheduler| ("scheduler".to_owned(), scheduler)));
        json.insert("gradient_accumulation_steps".into(), self.batch.accumulation.into());
        json.insert("gradient_clipping".into(), self.gradient_clipping.into());
        json.insert("steps_per_print".into(), self.steps_per_print.into());
        // With a model that is itself divided, the engine multiplies with the ranks that share data, which it knows
        // only once the model is there; so it is left to find the product.
        if self.division == Division::Nobody {
            json.insert("train_batch_size".into(), self.batch.global.into());
        }
        json.insert("train_micro_batch_size_per_gpu".into(), self.batch.micro.into());
        json.insert("wall_clock_breakdown".into(), self.profile.into());
        if self.profile {
            json.extend(profiling());
        }
        if let Division::DeepSpeed { tensor, pipeline } = self.division {
            json.extend((tensor > 1).then(|| ("tensor_parallel".to_owned(), json!({"autotp_size": tensor}))));
            json.extend((pipeline > 1).then(|| ("pipeline".to_owned(), json!({"stages": pipeline}))));
        }
        let distributed = json!({"world_size": order.world(), "nodes": order.ranks.node_count()});
        json.insert("distributed".into(), distributed);
        Value::Object(json)
    }
}

/// Flops and communication of a few steps, in the log.
fn profiling() -> [(String, Value); 2] {
    let flops = json!({
        "enabled": true, "profile_step": 5, "module_depth": -1, "top_modules": 3, "detailed": true, "output_file": null,
    });
    let comms = json!({"enabled": true, "verbose": false, "prof_all": true, "debug": false});
    [("flops_profiler".into(), flops), ("comms_logger".into(), comms)]
}

fn optimizer(settings: &Settings<'_>, order: &LaunchOrder<'_>, lr: f64) -> Result<Option<Value>, LaunchRefusal> {
    let kinds = ["AdamW", "Adam", "SGD", "Lamb", "OneBitAdam", "Lion", "Adagrad", "Muon", "none"];
    let kind = settings.choice("optimizer", &kinds)?.unwrap_or("AdamW");
    let mut params = Map::new();
    params.insert("lr".into(), lr.into());
    let decay = settings.number("weightDecay")?.unwrap_or(3e-7);
    let betas = settings.pair("betas")?.unwrap_or([0.8, 0.999]);
    let eps = settings.number("eps")?.unwrap_or(1e-8);
    match kind {
        "none" => return Ok(None),
        "SGD" | "Adagrad" | "Muon" => {}
        "Lion" => drop(params.insert("betas".into(), betas.into())),
        _ => {
            params.insert("betas".into(), betas.into());
            params.insert("eps".into(), eps.into());
        }
    }
    params.insert("weight_decay".into(), decay.into());
    if matches!(kind, "AdamW" | "Adam") && !order.on_gpus() && settings.word("offloadOptimizer")?.is_none() {
        // The fused one is built for CUDA when it is first used; on CPU torch's own does the same.
        params.insert("torch_adam".into(), true.into());
    }
    Ok(Some(json!({"type": kind, "params": params})))
}

fn scheduler(settings: &Settings<'_>, lr: f64) -> Result<Option<Value>, LaunchRefusal> {
    let kinds = ["WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "none"];
    let kind = settings.choice("scheduler", &kinds)?.unwrap_or("WarmupLR");
    let warmup = settings.count_from("warmupSteps", 0)?.unwrap_or(500);
    let total = settings.count("totalSteps")?;
    let without_total = || LaunchRefusal::Rule {
        key: settings.key("totalSteps"),
        text: Text::new(format!("{kind} 需要总步数"), format!("{kind} needs the number of steps in all")),
        hint: Text::new("填写 totalSteps，或使用 WarmupLR", "give totalSteps, or take WarmupLR"),
    };
    let params = match kind {
        "none" => return Ok(None),
        "WarmupDecayLR" => {
            let total = total.ok_or_else(without_total)?;
            json!({"warmup_min_lr": 0, "warmup_max_lr": lr, "warmup_num_steps": warmup, "total_num_steps": total})
        }
        "WarmupCosineLR" => {
            let total = total.ok_or_else(without_total)?;
            json!({"warmup_min_ratio": 0, "warmup_num_steps": warmup, "total_num_steps": total})
        }
        _ => json!({"warmup_min_lr": 0, "warmup_max_lr": lr, "warmup_num_steps": warmup}),
    };
    Ok(Some(json!({"type": kind, "params": params})))
}
