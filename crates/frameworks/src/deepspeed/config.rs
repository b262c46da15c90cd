//! `ds_config.json`: DeepSpeed's own keys.

use fermi_domain::language::Text;
use serde_json::{Map, Value, json};

use super::{
    integration::{self, Integration},
    optimizer::Optimizer,
    own_file, scheduler,
    zero::Zero,
};
use crate::{
    batch::{Batch, Wanted},
    order::LaunchOrder,
    precision::Precision,
    refusal::LaunchRefusal,
    settings::Settings,
};

/// What a micro-batch and the accumulation are when nobody says.
pub(crate) const USUAL_BATCH: (u64, u64) = (4, 8);
const USUAL_LEARNING_RATE: f64 = 3e-5;

/// Everything that the JSON says, decided.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    pub batch: Batch,
    pub precision: Precision,
    pub zero: Zero,
    pub notes: Vec<Text>,
    /// Said where nobody gave a batch.
    usual_batch: Option<Text>,
    integration: Integration,
    /// The settings that somebody gave, the user's own file included.
    given: Vec<String>,
    division: Division,
    gradient_clipping: f64,
    steps_per_print: u64,
    optimizer: Optimizer,
    scheduler: Option<Value>,
    profile: bool,
    own_file: Option<OwnFile>,
}

/// The user's own JSON, and the settings that go over it.
#[derive(Clone, Debug)]
struct OwnFile {
    json: Map<String, Value>,
    set: Vec<String>,
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
        let own = settings.section("config")?;
        let in_own = own.map(|file| own_file::as_settings(file, order.on_gpus())).unwrap_or_default();
        let division = Division::of(order);
        let data_parallel = order.world() / division.ranks_per_copy();
        let in_own = own_file::under_whole_batch(in_own, settings.count("globalBatchSize")?, data_parallel.max(1));
        let given = settings;
        let settings = &settings.with_usual(&in_own);
        let integration = Integration::read(settings)?;
        let usual_batch = if own.is_some() { (1, 1) } else { USUAL_BATCH };
        let wanted = Wanted::read(settings)?;
        let (batch, batch_note) = wanted.resolve(data_parallel.max(1), usual_batch)?;
        let own_file = own.map(|json| OwnFile { json: json.clone(), set: given.names().map(str::to_owned).collect() });
        let (precision, precision_note) = Precision::read(settings, order, Precision::Fp16)?;
        let (zero, zero_note) = Zero::read(settings, order)?;
        let learning_rate = settings.number("learningRate")?.unwrap_or(USUAL_LEARNING_RATE);
        let (scheduler, scheduler_note) = scheduler::read(settings, integration, learning_rate)?;
        let optimizer = Optimizer::read(settings, order, &zero, integration, learning_rate)?;
        // What transformers decides is not ours to talk about.
        let ours = integration != Integration::Transformers;
        let offload_note = zero.usual_offload(settings);
        let notes =
            [batch_note, precision_note.filter(|_| ours), zero_note.filter(|_| ours), offload_note, scheduler_note];
        let scripts_own = (integration == Integration::Accelerate && optimizer.json.is_none()).then(scripts_own);
        Ok(Self {
            batch,
            precision,
            division,
            gradient_clipping: settings.number("gradientClipping")?.unwrap_or(1.0),
            steps_per_print: settings.count("stepsPerPrint")?.unwrap_or(10),
            optimizer,
            scheduler,
            profile: settings.flag("profile")?.unwrap_or(false),
            zero,
            own_file,
            notes: notes.into_iter().flatten().chain(scripts_own).collect(),
            usual_batch: (!wanted.is_given() && ours).then(|| usual_batch_note(usual_batch)),
            integration,
            given: settings.names().map(str::to_owned).collect(),
        })
    }

    /// Whether a setting's value stands in the file; what nobody set is left to transformers where that reads it.
    pub(crate) fn decides(&self, setting: &str) -> bool {
        self.integration != Integration::Transformers || self.given.iter().any(|name| name == setting)
    }

    /// What is to be said about the batch.
    pub(crate) fn batch_notes(&self, ranks: u64) -> Vec<Text> {
        if !["microBatchSize", "gradientAccumulationSteps"].iter().all(|setting| self.decides(setting)) {
            let zh = "批次未全部给出：auto，由 transformers 的 TrainingArguments 决定";
            return vec![Text::new(zh, "the batch is not given in full: auto, as transformers' TrainingArguments say")];
        }
        self.usual_batch.iter().cloned().chain([self.batch.text_of(ranks)]).collect()
    }

    /// As a part of Megatron, which divides the model, brings the optimizer and knows the batch itself. Optimizer and
    /// scheduler are written only where the user named them.
    pub(crate) fn within_megatron(mut self, batch: Batch, precision: Precision, settings: &Settings<'_>) -> Self {
        self.batch = batch;
        self.usual_batch = None;
        self.integration = Integration::Nothing;
        if self.division != Division::Nobody {
            self.division = Division::Megatron;
        }
        if !settings.has("precision") {
            self.precision = precision;
        }
        if !settings.has("optimizer") {
            self.optimizer = Optimizer::of_the_script();
        }
        self.scheduler = self.scheduler.filter(|_| settings.has("scheduler"));
        self
    }

    /// The whole file, and what it changes of the user's own.
    pub(crate) fn file(&self, order: &LaunchOrder<'_>) -> (Value, Vec<Text>) {
        let made = self.made(order);
        match &self.own_file {
            Some(own) => own_file::under(&own.json, &own.set, &made, self.integration.fills_auto()),
            None => (made, Vec::new()),
        }
    }

    fn made(&self, order: &LaunchOrder<'_>) -> Value {
        let mut json = Map::new();
        let mut zero = self.zero.json();
        if let Some(zero) = zero.as_object_mut().filter(|_| self.optimizer.needs_whole_gradients) {
            zero.insert("reduce_scatter".into(), false.into());
        }
        json.insert("zero_optimization".into(), zero);
        match self.precision {
            Precision::Fp16 => {
                json.insert("fp16".into(), half_precision(true.into()));
            }
            Precision::Bf16 => {
                json.insert("bf16".into(), json!({"enabled": true}));
            }
            Precision::Fp32 => {
                json.insert("fp16".into(), json!({"enabled": false}));
            }
        }
        json.extend(self.optimizer.json.clone().map(|optimizer| ("optimizer".to_owned(), optimizer)));
        if self.optimizer.untested_with_zero {
            json.insert("zero_allow_untested_optimizer".into(), true.into());
        }
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
        let mut json = Value::Object(json);
        if self.integration == Integration::Transformers {
            integration::leave_open(&mut json, self.zero.stage, |name| self.decides(name));
        }
        json
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

/// fp16 with a loss scale that finds its own value.
pub(super) fn half_precision(enabled: Value) -> Value {
    json!({
        "enabled": enabled, "loss_scale": 0, "loss_scale_window": 1000,
        "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1,
    })
}

fn usual_batch_note((micro, accumulation): (u64, u64)) -> Text {
    Text::new(
        format!("未给出批次：每个 rank {micro}，累积 {accumulation}"),
        format!("no batch was given: {micro} of each rank, {accumulation} accumulation steps"),
    )
}

fn scripts_own() -> Text {
    Text::new("integration 为 accelerate：优化器由脚本提供", "integration is accelerate: the optimizer is the script's")
}
