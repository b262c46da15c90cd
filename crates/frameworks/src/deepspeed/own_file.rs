//! A DeepSpeed JSON of the user's own (the setting `config`): it holds, and the settings that are given go over it.

use fermi_domain::language::Text;
use serde_json::{Map, Value, json};

use super::{optimizer, scheduler};

/// Where a setting stands in the JSON.
const PLACES: &[(&str, &[&[&str]])] = &[
    ("zeroStage", &[&["zero_optimization", "stage"]]),
    ("offloadOptimizer", &[&["zero_optimization", "offload_optimizer"]]),
    ("offloadParam", &[&["zero_optimization", "offload_param"]]),
    ("allgatherBucketSize", &[&["zero_optimization", "allgather_bucket_size"]]),
    ("reduceBucketSize", &[&["zero_optimization", "reduce_bucket_size"]]),
    ("overlapComm", &[&["zero_optimization", "overlap_comm"]]),
    ("gradientClipping", &[&["gradient_clipping"]]),
    ("stepsPerPrint", &[&["steps_per_print"]]),
    ("optimizer", &[&["optimizer"]]),
    ("learningRate", &[&["optimizer", "params", "lr"], &["scheduler", "params", "warmup_max_lr"]]),
    ("betas", &[&["optimizer", "params", "betas"]]),
    ("eps", &[&["optimizer", "params", "eps"]]),
    ("weightDecay", &[&["optimizer", "params", "weight_decay"]]),
    (
        "pinMemory",
        &[
            &["zero_optimization", "offload_optimizer", "pin_memory"],
            &["zero_optimization", "offload_param", "pin_memory"],
        ],
    ),
    (
        "nvmePath",
        &[
            &["zero_optimization", "offload_optimizer", "nvme_path"],
            &["zero_optimization", "offload_param", "nvme_path"],
        ],
    ),
    ("scheduler", &[&["scheduler"]]),
    ("warmupSteps", &[&["scheduler", "params", "warmup_num_steps"]]),
    ("warmupType", &[&["scheduler", "params", "warmup_type"]]),
    ("totalSteps", &[&["scheduler", "params", "total_num_steps"]]),
    ("profile", &[&["flops_profiler"], &["comms_logger"], &["wall_clock_breakdown"]]),
];

/// Follow from the ranks, so they are always ours.
const BATCH: [&str; 3] = ["train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "train_batch_size"];

/// How many take part; where the file says so, it may have been written for others.
const WORLD: [&[&str]; 2] = [&["distributed", "world_size"], &["distributed", "nodes"]];

/// What the file says, as settings, so that the engine's rules are checked on it too.
pub(super) fn as_settings(file: &Map<String, Value>, on_gpus: bool) -> Map<String, Value> {
    let at = |path: &[&str]| path.iter().try_fold(file, |section, name| section.get(*name)?.as_object());
    let value = |path: &[&str], key: &str| at(path)?.get(key).filter(|value| !is_auto(value)).cloned();
    let device = |section: &str| value(&["zero_optimization", section], "device");
    let whole = |key: &str| value(&[], key).filter(|value| value.as_u64().is_some_and(|number| number > 0));
    let (micro, passes) = (whole(BATCH[0]), whole(BATCH[1]));
    // Three numbers that agree hold for one number of ranks only.
    let global = whole(BATCH[2]).filter(|_| micro.is_none() || passes.is_none());
    // Types that the table does not have go to DeepSpeed as they are.
    let known = |section: &str, kinds: &[&str]| {
        let is_known =
            |kind: &Value| kind.as_str().is_some_and(|kind| kinds.iter().any(|one| one.eq_ignore_ascii_case(kind)));
        value(&[section], "type").filter(is_known)
    };
    let found = [
        ("zeroStage", Some(value(&["zero_optimization"], "stage").unwrap_or_else(|| 0.into()))),
        ("offloadOptimizer", Some(device("offload_optimizer").unwrap_or_else(|| "none".into()))),
        ("offloadParam", Some(device("offload_param").unwrap_or_else(|| "none".into()))),
        ("nvmePath", value(&["zero_optimization", "offload_optimizer"], "nvme_path")),
        ("nvmePath", value(&["zero_optimization", "offload_param"], "nvme_path")),
        ("reduceBucketSize", value(&["zero_optimization"], "reduce_bucket_size")),
        // Without GPUs fp16 does not train; the file shall serve there too.
        ("precision", Some(if on_gpus || precision_of(file) != "fp16" { precision_of(file) } else { "fp32" }.into())),
        ("microBatchSize", micro),
        ("gradientAccumulationSteps", passes),
        ("globalBatchSize", global),
        ("optimizer", known("optimizer", &optimizer::KINDS)),
        ("learningRate", value(&["optimizer", "params"], "lr")),
        ("betas", value(&["optimizer", "params"], "betas")),
        ("eps", value(&["optimizer", "params"], "eps")),
        ("weightDecay", value(&["optimizer", "params"], "weight_decay")),
        ("scheduler", known("scheduler", &scheduler::KINDS)),
        ("warmupSteps", value(&["scheduler", "params"], "warmup_num_steps")),
        ("totalSteps", value(&["scheduler", "params"], "total_num_steps")),
    ];
    found.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Where the user gives the whole batch, the file's parts of it stay only as far as they fit.
pub(super) fn under_whole_batch(mut file: Map<String, Value>, whole: Option<u64>, ranks: u64) -> Map<String, Value> {
    let Some(whole) = whole else { return file };
    file.remove("gradientAccumulationSteps");
    let fits = |micro: &Value| micro.as_u64().is_some_and(|micro| whole.is_multiple_of(micro.saturating_mul(ranks)));
    if !file.get("microBatchSize").is_some_and(fits) {
        file.remove("microBatchSize");
    }
    file
}

/// The number format that the file turns on.
pub(crate) fn precision_of(file: &Map<String, Value>) -> &'static str {
    let is_on = |name: &str| file.get(name).and_then(|section| section.get("enabled")) == Some(&Value::Bool(true));
    match (is_on("bf16"), is_on("fp16")) {
        (true, _) => "bf16",
        (_, true) => "fp16",
        _ => "fp32",
    }
}

/// The file with what the user set, with batch sizes for this world, and without `auto`, which DeepSpeed itself does not
/// know; and what was changed. `made` is what would have been written without a file.
pub(super) fn under(file: &Map<String, Value>, set: &[String], made: &Value, keeps_auto: bool) -> (Value, Vec<Text>) {
    let mut json = file.clone();
    let mut notes = Vec::new();
    let was_set = |name: &str| set.iter().any(|known| known == name);
    for (name, paths) in PLACES.iter().filter(|(name, _)| was_set(name)) {
        let mut found = false;
        for path in *paths {
            found |= is_for(made, &json, path) && put(&mut json, path, at(made, path), &mut notes);
        }
        if !found {
            notes.push(without_place(name));
        }
    }
    for key in BATCH {
        if !(keeps_auto && file.get(key).is_some_and(is_auto)) {
            put(&mut json, &[key], at(made, &[key]), &mut notes);
        }
    }
    for path in WORLD {
        if at(&Value::Object(file.clone()), path).is_some() {
            put(&mut json, path, at(made, path), &mut notes);
        }
    }
    let wanted = made.as_object().map_or("fp32", precision_of);
    if wanted != precision_of(file) {
        if file.contains_key("fp16") || file.contains_key("bf16") {
            notes.push(changed("precision", &wanted.into(), &precision_of(file).into()));
        }
        for name in ["fp16", "bf16"] {
            let section = json.entry(name).or_insert_with(|| json!({}));
            if let Some(section) = section.as_object_mut() {
                section.insert("enabled".to_owned(), (wanted == name).into());
            }
        }
    }
    warmup_of_no_steps(file, was_set("warmupSteps"), made, &mut json, &mut notes);
    of_the_optimizer(made, &mut json, &mut notes);
    if !keeps_auto {
        without_auto(&mut json, Some(made));
    }
    (Value::Object(json), notes)
}

/// DeepSpeed refuses a warm-up of no steps: the schedule that means it stands in `made`, or none does.
fn warmup_of_no_steps(
    file: &Map<String, Value>,
    was_set: bool,
    made: &Value,
    json: &mut Map<String, Value>,
    notes: &mut Vec<Text>,
) {
    let Some(section) = file.get("scheduler") else { return };
    let is_known = section["type"].as_str().is_some_and(|kind| scheduler::KINDS.contains(&kind));
    let none_in_file = section["params"]["warmup_num_steps"] == 0;
    let none_is_set = was_set && made.get("scheduler").is_none();
    if is_known && (none_in_file && !was_set || none_is_set) {
        put(json, &["scheduler"], made.get("scheduler"), notes);
    }
}

/// What DeepSpeed wants to be told about the optimizer that the file has: torch's own Adam on CPU, since the fused one is
/// built for CUDA; that ZeRO shall take it; and that ZeRO-3 shall not divide the gradients of Muon.
fn of_the_optimizer(made: &Value, json: &mut Map<String, Value>, notes: &mut Vec<Text>) {
    let kind = |section: Option<&Value>| section?.get("type")?.as_str().map(str::to_ascii_lowercase);
    if kind(made.get("optimizer")) != kind(json.get("optimizer")) {
        return;
    }
    let told: [&[&str]; 3] = [
        &["optimizer", "params", "torch_adam"],
        &["zero_allow_untested_optimizer"],
        &["zero_optimization", "reduce_scatter"],
    ];
    for path in told {
        let value = at(made, path).filter(|value| path[0] != "zero_optimization" || **value == Value::Bool(false));
        if value.is_some() {
            put(json, path, value, notes);
        }
    }
}

fn at<'a>(json: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(json, |section, name| section.get(*name))
}

/// Puts a value where its section is; nothing is put into a section that the file does not have, but for ZeRO's. No value
/// takes the key away. Says whether there was a place.
fn put(json: &mut Map<String, Value>, path: &[&str], value: Option<&Value>, notes: &mut Vec<Text>) -> bool {
    let Some((key, sections)) = path.split_last() else { return false };
    let mut section = json;
    for name in sections {
        if *name == "zero_optimization" {
            section.entry(*name).or_insert_with(|| json!({}));
        }
        match section.get_mut(*name).and_then(Value::as_object_mut) {
            Some(deeper) => section = deeper,
            None => return false,
        }
    }
    let old = match value {
        Some(value) => section.insert((*key).to_owned(), value.clone()),
        None => section.remove(*key),
    };
    if let (Some(old), Some(value)) = (old, value)
        && !same(&old, value)
        && !is_auto(&old)
    {
        notes.push(changed(key, value, &old));
    }
    true
}

/// Parameters of a schedule are those of its type: they mean nothing to another one.
fn is_for(made: &Value, json: &Map<String, Value>, path: &[&str]) -> bool {
    let ours = at(made, &["scheduler", "type"]);
    path.len() < 2 || path[0] != "scheduler" || ours == json.get("scheduler").and_then(|theirs| theirs.get("type"))
}

fn without_place(setting: &str) -> Text {
    Text::new(
        format!("DeepSpeed 文件中没有 {setting} 的位置，未使用"),
        format!("the DeepSpeed file has no place for {setting}: it is not used"),
    )
}

fn changed(key: &str, value: &Value, old: &Value) -> Text {
    // A whole section would fill the line.
    let short = |value: &Value| value.get("type").unwrap_or(value).clone();
    let (value, old) = (short(value), short(old));
    Text::new(
        format!("{key} 为 {value}，而非 DeepSpeed 文件中的 {old}"),
        format!("{key} is {value}, not {old} as in the DeepSpeed file"),
    )
}

/// Numbers are the same however they are written.
fn same(a: &Value, b: &Value) -> bool {
    a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a == b)
}

/// An `auto` becomes what would have been written, or goes, so that DeepSpeed's own value holds.
fn without_auto(json: &mut Map<String, Value>, made: Option<&Value>) {
    let made_at = |key: &str| made.and_then(|made| made.get(key));
    for (key, value) in json.iter_mut() {
        if is_auto(value)
            && let Some(known) = made_at(key)
        {
            *value = known.clone();
        }
        if let Some(section) = value.as_object_mut() {
            without_auto(section, made_at(key));
        }
    }
    json.retain(|_, value| !is_auto(value));
}

fn is_auto(value: &Value) -> bool {
    value == "auto"
}
