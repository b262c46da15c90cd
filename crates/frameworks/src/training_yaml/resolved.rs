//! What a file means for a number of ranks.

use fermi_domain::{
    auto::AutoStrategy,
    framework::Framework,
    language::{Explained, Text},
};
use serde_json::{Map, Value};

use super::{
    engine_settings,
    mistake::{Mistake, Mistakes},
    model_size,
    reader::TrainingYaml,
    schedule::Schedule,
};
use crate::{
    batch::{Batch, Wanted},
    deepspeed,
};

/// What the file does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts<'a> {
    pub ranks: u32,
    pub on_gpus: bool,
    /// Where the model is known elsewhere; the file's own `model.parameters` wins.
    pub model_parameters: Option<u64>,
    /// The JSON that `deepspeed.config_path` names; it decides what the file leaves open.
    pub deepspeed_file: Option<&'a Map<String, Value>>,
}

impl Facts<'_> {
    fn in_deepspeed(&self, key: &str) -> Option<&Value> {
        self.deepspeed_file?.get(key)
    }

    /// The number format that DeepSpeed's file turns on.
    fn deepspeed_precision(&self) -> Option<&'static str> {
        self.deepspeed_file.map(deepspeed::precision_of)
    }
}

/// How the ranks train together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolvedStrategy {
    /// One process.
    Single,
    Ddp,
    /// DeepSpeed; the stage is the JSON's own business where a JSON is named.
    DeepSpeed {
        stage: Option<u8>,
    },
    Fsdp,
}

/// The file's meaning, ready to be printed and to be launched.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    pub strategy: ResolvedStrategy,
    /// Why this strategy, where the file said `auto`.
    pub reason: Option<Text>,
    pub batch: Batch,
    /// `fp32`, `fp16` or `bf16`.
    pub precision: &'static str,
    /// After scaling, where the file asks for it.
    pub learning_rate: Option<f64>,
    pub backend: &'static str,
    pub deepspeed_config: Option<String>,
    pub warnings: Vec<Text>,
    settings: Map<String, Value>,
    /// What a launch says besides; scripts that read the file themselves need not hear it.
    notes: Vec<Text>,
}

impl ResolvedStrategy {
    pub fn framework(self) -> Framework {
        match self {
            Self::Single | Self::Ddp => Framework::PytorchDdp,
            Self::DeepSpeed { .. } => Framework::Deepspeed,
            Self::Fsdp => Framework::PytorchFsdp,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Single => "single process".to_owned(),
            Self::Ddp => "DDP".to_owned(),
            Self::DeepSpeed { stage: Some(stage) } => format!("DeepSpeed ZeRO-{stage}"),
            Self::DeepSpeed { stage: None } => "DeepSpeed".to_owned(),
            Self::Fsdp => "FSDP".to_owned(),
        }
    }
}

impl Resolved {
    /// `options.framework` of a task that trains by this file.
    pub fn settings(&self) -> &Map<String, Value> {
        &self.settings
    }

    /// What is to be said when it is launched.
    pub(super) fn notes(&self) -> &[Text] {
        &self.notes
    }

    /// What people shall see before anything starts.
    pub fn lines(&self) -> Vec<Text> {
        let mut lines = vec![self.strategy_line(), self.batch.text(), self.precision_line()];
        lines.extend(self.rate_line());
        lines.extend(self.warnings.iter().map(|w| Text::new(format!("注意：{}", w.zh), format!("warning: {}", w.en))));
        lines
    }

    pub(super) fn strategy_line(&self) -> Text {
        let name = self.strategy.name();
        match &self.reason {
            Some(reason) => Text::new(format!("策略 {name}：{}", reason.zh), format!("strategy {name}: {}", reason.en)),
            None => Text::new(format!("策略 {name}"), format!("strategy {name}")),
        }
    }

    fn precision_line(&self) -> Text {
        Text::new(
            format!("精度 {}，后端 {}", self.precision, self.backend),
            format!("precision {}, backend {}", self.precision, self.backend),
        )
    }

    pub(super) fn rate_line(&self) -> Option<Text> {
        let rate = self.learning_rate?;
        Some(Text::new(format!("学习率 {rate}"), format!("learning rate {rate}")))
    }
}

impl TrainingYaml {
    /// The framework that trains by this file, on any number of ranks.
    pub fn framework(&self) -> Framework {
        self.strategy(Facts::default(), &mut Vec::new()).0.framework()
    }

    /// The DeepSpeed JSON that it names.
    pub fn deepspeed_file(&self) -> Option<&str> {
        self.word("training.deepspeed.config_path")
    }

    /// Decides what the file leaves open.
    pub fn resolve(&self, facts: Facts<'_>) -> Result<Resolved, Mistakes> {
        let mut warnings = Vec::new();
        let mut problems = Vec::new();
        let precision = self.precision(facts, &mut warnings, &mut problems);
        let (strategy, reason) = self.strategy(facts, &mut warnings);
        // A process that trains alone has its batch to itself.
        let ranks = if strategy == ResolvedStrategy::Single { 1 } else { u64::from(facts.ranks.max(1)) };
        let of_file = |key: &str| facts.in_deepspeed(key).and_then(Value::as_u64).filter(|number| *number > 0);
        let micro =
            self.count("training.per_device_train_batch_size").or_else(|| of_file("train_micro_batch_size_per_gpu"));
        let accumulation =
            self.count("training.gradient_accumulation_steps").or_else(|| of_file("gradient_accumulation_steps"));
        // Of three numbers the whole holds for one number of ranks only; of fewer it holds where it can be shared out.
        let parts = micro.unwrap_or(1).saturating_mul(accumulation.unwrap_or(1)).saturating_mul(ranks);
        let is_open = micro.is_none() || accumulation.is_none();
        let global = of_file("train_batch_size").filter(|global| is_open && global.is_multiple_of(parts));
        let wanted = Wanted { micro, accumulation, global };
        // Nobody has said anything that DeepSpeed would go by, so what it usually gets holds.
        let is_usual = matches!(strategy, ResolvedStrategy::DeepSpeed { .. })
            && self.deepspeed_file().is_none()
            && facts.deepspeed_file.is_none();
        let usual_precision = if is_usual && facts.on_gpus { "fp16" } else { "fp32" };
        let usual = if is_usual { deepspeed::USUAL_BATCH } else { (1, 1) };
        let batch = wanted.resolve(ranks, usual).map(|(batch, _)| batch);
        let batch = batch.map_err(|refusal| Mistake::Unfit {
            path: "training.per_device_train_batch_size".into(),
            text: refusal.text(),
            hint: refusal.hint(),
        });
        let batch = match batch {
            Ok(batch) if problems.is_empty() => batch,
            Ok(_) => return Err(Mistakes(problems)),
            Err(problem) => return Err(Mistakes(problems.into_iter().chain([problem]).collect())),
        };
        let mut resolved = Resolved {
            strategy,
            reason,
            batch,
            precision: precision.unwrap_or(usual_precision),
            learning_rate: self.learning_rate(facts),
            backend: self.backend(facts, &mut warnings),
            deepspeed_config: self.deepspeed_file().map(str::to_owned),
            warnings,
            settings: Map::new(),
            notes: Vec::new(),
        };
        let mut settings = engine_settings::of(self, &resolved);
        // What nobody said is left to the engine, or to the script.
        if !wanted.is_given() {
            settings.retain(|name, _| !["microBatchSize", "gradientAccumulationSteps"].contains(&name.as_str()));
        }
        if precision.is_none() {
            settings.remove("precision");
        }
        if let ResolvedStrategy::DeepSpeed { .. } = strategy {
            let schedule = Schedule::of(self);
            settings.extend(schedule.settings);
            resolved.notes.extend(schedule.note);
            resolved.notes.extend(engine_settings::optimizer(self).filter(|(_, kind)| *kind == "none").map(
                |(name, _)| {
                    Text::new(
                        format!("optim {name}：DeepSpeed 没有此优化器，由脚本提供"),
                        format!("optim {name}: DeepSpeed has no such optimizer, so the script brings its own"),
                    )
                },
            ));
        }
        resolved.settings = settings;
        Ok(resolved)
    }

    /// `fp16: true` beside `bf16: true` means bf16; `mixed_precision` against a flag is an error. None where neither this
    /// file nor DeepSpeed's says anything.
    fn precision(
        &self,
        facts: Facts<'_>,
        warnings: &mut Vec<Text>,
        problems: &mut Vec<Mistake>,
    ) -> Option<&'static str> {
        let (fp16, bf16) = (self.flag("training.fp16"), self.flag("training.bf16"));
        let mixed = self.word("training.mixed_precision").map(|word| if word == "no" { "fp32" } else { word });
        if fp16 == Some(true) && bf16 == Some(true) {
            warnings.push(Text::new("fp16 与 bf16 同时为 true：使用 bf16", "fp16 and bf16 are both true: bf16"));
        }
        if self.get("training.fp16_opt_level").is_some() {
            warnings.push(Text::new(
                "fp16_opt_level 属于 Apex，PyTorch 自带的混合精度不使用它",
                "fp16_opt_level is Apex's; torch's own mixed precision does not use it",
            ));
        }
        if let Some(mixed) = mixed {
            for (name, flag) in [("fp16", fp16), ("bf16", bf16)] {
                if flag.is_some_and(|flag| flag != (mixed == name)) {
                    problems.push(Mistake::Disagree {
                        one: ("training.mixed_precision".into(), mixed.into()),
                        other: (format!("training.{name}"), flag.unwrap_or_default().to_string()),
                    });
                }
            }
        }
        let wanted = match (mixed, fp16, bf16) {
            (Some("bf16"), ..) | (None, _, Some(true)) => "bf16",
            (Some("fp16"), ..) | (None, Some(true), _) => "fp16",
            (None, None, None) => facts.deepspeed_precision()?,
            _ => "fp32",
        };
        if wanted == "fp16" && !facts.on_gpus {
            warnings.push(Text::new("没有 GPU：fp16 改为 fp32", "there are no GPUs: fp32 instead of fp16"));
            return Some("fp32");
        }
        Some(wanted)
    }

    fn strategy(&self, facts: Facts<'_>, warnings: &mut Vec<Text>) -> (ResolvedStrategy, Option<Text>) {
        if self.flag("training.distributed") == Some(false) {
            if facts.ranks > 1 {
                let en = "distributed is false, but several ranks are started: each trains alone";
                warnings.push(Text::new("distributed 为 false，但启动了多个 rank：各自训练", en));
            }
            return (ResolvedStrategy::Single, None);
        }
        match self.word("training.distributed_strategy") {
            Some("deepspeed") => (self.deepspeed(facts, 2, warnings), None),
            Some("fsdp") => (ResolvedStrategy::Fsdp, None),
            Some("auto") => self.by_size(facts, warnings),
            _ => (ResolvedStrategy::Ddp, None),
        }
    }

    /// With the file's own stage, else that of DeepSpeed's JSON, else the usual one where there is none.
    fn deepspeed(&self, facts: Facts<'_>, usual: u8, warnings: &mut Vec<Text>) -> ResolvedStrategy {
        let path = self.deepspeed_file();
        if let (Some(path), None) = (path, facts.deepspeed_file) {
            warnings.push(Text::new(
                format!("{path} 未读取：其中的批次与精度未计入"),
                format!("{path} was not read: its batch and precision are not counted in"),
            ));
        }
        let in_file = || facts.in_deepspeed("zero_optimization").and_then(|zero| zero.get("stage")?.as_u64());
        let stage = self.count("training.deepspeed.zero_stage").or_else(in_file);
        let stage = stage.and_then(|stage| u8::try_from(stage).ok());
        ResolvedStrategy::DeepSpeed { stage: stage.or(path.is_none().then_some(usual)) }
    }

    /// What the table of `auto` says for the size of the model.
    fn by_size(&self, facts: Facts<'_>, warnings: &mut Vec<Text>) -> (ResolvedStrategy, Option<Text>) {
        let size = self.get("model.parameters").and_then(model_size::parameters).or(facts.model_parameters);
        let Some(size) = size else {
            warnings.push(Text::new(
                "模型大小未知，auto 使用 DDP；可填写 model.parameters，例如 7B",
                "the model's size is not known, so auto is DDP; give model.parameters, such as 7B",
            ));
            return (ResolvedStrategy::Ddp, None);
        };
        let row = AutoStrategy::of(size);
        let strategy = match row {
            AutoStrategy::Ddp => ResolvedStrategy::Ddp,
            AutoStrategy::Zero2 => self.deepspeed(facts, 2, warnings),
            AutoStrategy::Zero3 => self.deepspeed(facts, 3, warnings),
        };
        (strategy, Some(row.reason()))
    }

    fn backend(&self, facts: Facts<'_>, warnings: &mut Vec<Text>) -> &'static str {
        match (self.word("training.distributed_backend"), facts.on_gpus) {
            (Some("gloo"), _) | (None, false) => "gloo",
            (_, true) => "nccl",
            (Some(_), false) => {
                warnings.push(Text::new("没有 GPU：nccl 改为 gloo", "there are no GPUs: gloo instead of nccl"));
                "gloo"
            }
        }
    }

    fn learning_rate(&self, facts: Facts<'_>) -> Option<f64> {
        let rate = self.number("training.learning_rate")?;
        let ranks = f64::from(facts.ranks.max(1));
        Some(match self.word("training.lr_scaling") {
            Some("linear") => rate * ranks,
            Some("sqrt") => rate * ranks.sqrt(),
            _ => rate,
        })
    }
}
