//! A DeepSpeed JSON of the user's own, made to agree with the file that names it.

use fermi_domain::language::Text;
use serde_json::{Map, Value, json};

use super::{reader::TrainingYaml, resolved::Resolved};

/// The JSON that starts, and what was changed on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Overridden {
    pub json: Value,
    pub notes: Vec<Text>,
}

impl TrainingYaml {
    /// Puts this file's values over those of the JSON that `deepspeed.config_path` names, recomputes the whole batch for
    /// the world, and resolves `auto`, which DeepSpeed itself does not know.
    pub fn over_deepspeed(&self, resolved: &Resolved, file: &Map<String, Value>) -> Overridden {
        let mut json = file.clone();
        let mut notes = Vec::new();
        let mut put = |section: &mut Map<String, Value>, key: &str, value: Value| match section.get(key) {
            Some(old) if same(old, &value) => {}
            Some(old) => {
                notes.push(Text::new(
                    format!("{key} 使用 training.yaml 的 {value}，而非 DeepSpeed 配置的 {old}"),
                    format!("{key} is {value} by training.yaml, not {old} as in DeepSpeed's file"),
                ));
                section.insert(key.to_owned(), value);
            }
            None => drop(section.insert(key.to_owned(), value)),
        };
        let said = |path: &str| self.get(path).is_some();
        let own = |key: &str| file.get(key).and_then(Value::as_u64);
        let micro =
            if said("training.per_device_train_batch_size") { None } else { own("train_micro_batch_size_per_gpu") };
        let accumulation =
            if said("training.gradient_accumulation_steps") { None } else { own("gradient_accumulation_steps") };
        let micro = micro.unwrap_or(resolved.batch.micro);
        let accumulation = accumulation.unwrap_or(resolved.batch.accumulation);
        put(&mut json, "train_micro_batch_size_per_gpu", micro.into());
        put(&mut json, "gradient_accumulation_steps", accumulation.into());
        let whole = micro.saturating_mul(accumulation).saturating_mul(resolved.batch.data_parallel);
        put(&mut json, "train_batch_size", whole.into());
        if let Some(norm) = self.get("training.max_grad_norm") {
            put(&mut json, "gradient_clipping", norm.clone());
        }
        if let Some(rate) = resolved.learning_rate {
            params(&mut json, "optimizer", |params| put(params, "lr", rate.into()));
            params(&mut json, "scheduler", |params| {
                if params.contains_key("warmup_max_lr") {
                    put(params, "warmup_max_lr", rate.into());
                }
            });
        }
        if let Some(steps) = self.get("training.warmup_steps") {
            params(&mut json, "scheduler", |params| put(params, "warmup_num_steps", steps.clone()));
        }
        if ["training.mixed_precision", "training.fp16", "training.bf16"].iter().any(|path| said(path)) {
            precision(&mut json, resolved.precision);
        }
        resolve_auto(&mut json);
        Overridden { json: Value::Object(json), notes }
    }
}

/// Numbers are the same however they are written.
fn same(a: &Value, b: &Value) -> bool {
    a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a == b)
}

fn params(json: &mut Map<String, Value>, section: &str, change: impl FnOnce(&mut Map<String, Value>)) {
    let params = json.get_mut(section).and_then(|section| section.get_mut("params")).and_then(Value::as_object_mut);
    if let Some(params) = params {
        change(params);
    }
}

fn precision(json: &mut Map<String, Value>, precision: &str) {
    for name in ["fp16", "bf16"] {
        let section = json.entry(name).or_insert_with(|| json!({}));
        if let Some(section) = section.as_object_mut() {
            section.insert("enabled".to_owned(), (precision == name).into());
        }
    }
}

/// Sizes that stand for `auto` in the ZeRO section; any other `auto` is left out, so that DeepSpeed's own value holds.
fn resolve_auto(json: &mut Map<String, Value>) {
    let sizes = [
        ("reduce_bucket_size", 500_000_000_u64),
        ("stage3_prefetch_bucket_size", 50_000_000),
        ("stage3_param_persistence_threshold", 1_000_000),
    ];
    if let Some(zero) = json.get_mut("zero_optimization").and_then(Value::as_object_mut) {
        for (key, size) in sizes {
            if zero.get(key).is_some_and(is_auto) {
                zero.insert(key.to_owned(), size.into());
            }
        }
    }
    leave_out_auto(json);
}

fn leave_out_auto(section: &mut Map<String, Value>) {
    section.retain(|_, value| !is_auto(value));
    section.values_mut().filter_map(Value::as_object_mut).for_each(leave_out_auto);
}

fn is_auto(value: &Value) -> bool {
    value == "auto"
}
