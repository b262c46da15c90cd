//! A file under what its task says itself. The task's words take the place of the file's own, so that everything is decided
//! once: what is said, what is launched, and what the script reads are the same.

use fermi_domain::framework::Framework;
use serde_json::{Map, Value};

use super::{
    keys,
    reader::{TrainingYaml, of_kind},
};
use crate::{batch::Wanted, order::KnownModels, settings::in_camel_case};

/// What a task says beside its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Above<'a> {
    pub framework: Framework,
    pub settings: &'a Map<String, Value>,
    pub backend: Option<&'a str>,
    pub ranks: u64,
}

pub(super) const MICRO: &str = "training.per_device_train_batch_size";
const PASSES: &str = "training.gradient_accumulation_steps";

/// Where a setting stands in the file.
const PLACES: &[(&str, &str)] = &[
    ("microBatchSize", MICRO),
    ("gradientAccumulationSteps", PASSES),
    ("precision", "training.mixed_precision"),
    ("learningRate", "training.learning_rate"),
    ("zeroStage", "training.deepspeed.zero_stage"),
];

/// What says the same as a key in another way, so that it goes when the key is replaced.
const REPLACED: &[(&str, &[&str])] = &[
    ("training.mixed_precision", &["training.fp16", "training.bf16"]),
    ("training.learning_rate", &["training.lr_scaling"]),
];

impl TrainingYaml {
    /// With the size of the task's model, or of one whose name is known, where the file does not say it: it decides `auto`, and the script
    /// that reads the launch's file sees the same.
    #[must_use]
    pub fn knowing(mut self, registered: Option<u64>, known_models: KnownModels) -> Self {
        let path = "model.parameters";
        let is_asked = self.get("training.distributed_strategy").and_then(Value::as_str) == Some("auto");
        if !is_asked || self.get(path).is_some() {
            return self;
        }
        let by_name = || self.get("model.name_or_path").and_then(Value::as_str).and_then(known_models);
        // The task's model wins over the one that the file names.
        if let Some(size) = registered.or_else(by_name) {
            self.put(path, &size.into());
        }
        self
    }

    pub(super) fn under(mut self, above: Above<'_>) -> Self {
        let set =
            |name: &str| above.settings.iter().find(|(key, _)| in_camel_case(key) == name).map(|(_, value)| value);
        self.batch_of(set("globalBatchSize").and_then(Value::as_u64), set, above.ranks);
        for (name, path) in PLACES {
            if let Some(value) = set(name) {
                self.put(path, value);
            }
        }
        // An `auto` that comes to the same keeps its reason.
        if let Some(word) = word_of(above.framework).filter(|_| self.framework() != above.framework) {
            self.put("training.distributed_strategy", &word.into());
        }
        if let Some(backend) = above.backend {
            self.put("training.distributed_backend", &backend.into());
        }
        self
    }

    /// A whole batch that the task gives is shared out; the file's own micro-batch stays where it fits.
    fn batch_of<'a>(&mut self, global: Option<u64>, set: impl Fn(&str) -> Option<&'a Value>, ranks: u64) {
        let Some(global) = global else { return };
        let count = |name: &str| set(name).and_then(Value::as_u64).filter(|number| *number > 0);
        let (micro, accumulation) = (count("microBatchSize"), count("gradientAccumulationSteps"));
        let fits = |micro: &u64| global.is_multiple_of(micro.saturating_mul(ranks));
        let of_file = self.count(MICRO).filter(fits).filter(|_| accumulation.is_none());
        let wanted = Wanted { micro: micro.or(of_file), accumulation, global: Some(global) };
        self.remove(&[MICRO, PASSES]);
        // What cannot be shared out is refused by the engine, in its own words.
        if let Ok((batch, _)) = wanted.resolve(ranks.max(1), (1, 1)) {
            self.put(MICRO, &batch.micro.into());
            self.put(PASSES, &batch.accumulation.into());
        }
    }

    /// Takes a value that its key can hold; any other is refused by the engine, under the name that the task used.
    fn put(&mut self, path: &'static str, value: &Value) {
        let Some(value) = keys::at(path).and_then(|key| of_kind(key.kind, value).ok()) else { return };
        for (_, others) in REPLACED.iter().filter(|(replaced, _)| *replaced == path) {
            self.remove(others);
        }
        self.set(path, value);
    }

    /// The file as its keys are first spelled, section by section.
    pub(super) fn document(&self) -> Map<String, Value> {
        let mut document = Map::new();
        for (path, value) in self.values() {
            put_at(&mut document, path, value);
        }
        document
    }
}

fn put_at(section: &mut Map<String, Value>, path: &str, value: &Value) {
    let Some((name, rest)) = path.split_once('.') else {
        section.insert(path.to_owned(), value.clone());
        return;
    };
    let deeper = section.entry(name).or_insert_with(|| Value::Object(Map::new()));
    if let Some(deeper) = deeper.as_object_mut() {
        put_at(deeper, rest, value);
    }
}

/// The strategy by which a framework trains, where the file has a word for it.
pub(super) fn word_of(framework: Framework) -> Option<&'static str> {
    match framework {
        Framework::PytorchDdp => Some("ddp"),
        Framework::PytorchFsdp => Some("fsdp"),
        Framework::Deepspeed => Some("deepspeed"),
        _ => None,
    }
}
