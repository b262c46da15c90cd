//! Settings files as people write them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers beside the tests are tests too"
)]

use std::{fs, path::Path};

use fermi_domain::{framework::Framework, language::Language};
use fermi_frameworks::training_yaml::{Facts, Resolved, ResolvedStrategy, read, schema};
use serde_json::{Map, Value};

const FOUR_GPUS: Facts<'_> = Facts { ranks: 4, on_gpus: true, model_parameters: None, deepspeed_file: None };

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn resolved(text: &str) -> Resolved {
    read(text).unwrap().resolve(FOUR_GPUS).unwrap()
}

fn refused(text: &str) -> Vec<String> {
    let file = read(text).and_then(|file| file.resolve(FOUR_GPUS));
    file.unwrap_err().lines(Language::En)
}

#[test]
fn every_block_of_the_specification_is_read() {
    let mut files: Vec<_> =
        fs::read_dir(folder("tests/training_yaml/blocks")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 18);
    let mut page = String::new();
    for file in files {
        let resolved = resolved(&fs::read_to_string(&file).unwrap());
        page += &format!("{}\n", file.file_name().unwrap().to_string_lossy());
        for line in resolved.lines() {
            page += &format!("  {}\n", line.en);
        }
        page += &format!("  {}\n", Value::Object(resolved.settings().clone()));
    }
    insta::assert_snapshot!(page);
}

#[test]
fn the_shipped_files_are_read() {
    for name in ["config_distributed_example.yaml", "config_deepspeed_example.yaml"] {
        let text = fs::read_to_string(folder("../..").join(name)).unwrap();
        let zero2 = fs::read_to_string(folder("../../configs/deepspeed/zero2.json")).unwrap();
        let zero2: Map<String, Value> = serde_json::from_str(&zero2).unwrap();
        let facts = Facts { deepspeed_file: Some(&zero2), ..FOUR_GPUS };
        let resolved = read(&text).unwrap().resolve(facts).unwrap();
        assert!(resolved.warnings.is_empty(), "{name}: {:?}", resolved.warnings);
    }
}

#[test]
fn auto_follows_the_models_size() {
    let cases = [
        ("350M", ResolvedStrategy::Ddp),
        ("999_999_999", ResolvedStrategy::Ddp),
        ("1B", ResolvedStrategy::DeepSpeed { stage: Some(2) }),
        ("7B", ResolvedStrategy::DeepSpeed { stage: Some(2) }),
        ("7.1B", ResolvedStrategy::DeepSpeed { stage: Some(3) }),
        ("70e9", ResolvedStrategy::DeepSpeed { stage: Some(3) }),
    ];
    for (size, strategy) in cases {
        let size = size.replace('_', "");
        let file = format!("model: {{parameters: {size}}}\ntraining: {{distributed_strategy: auto}}");
        assert_eq!(resolved(&file).strategy, strategy, "{size}");
    }
    let unknown = resolved("training: {distributed_strategy: auto}");
    assert_eq!((unknown.strategy, unknown.warnings.len()), (ResolvedStrategy::Ddp, 1));
    let elsewhere = Facts { model_parameters: Some(13_000_000_000), ..FOUR_GPUS };
    let file = read("training: {distributed_strategy: auto}").unwrap().resolve(elsewhere).unwrap();
    assert_eq!(file.strategy.framework(), Framework::Deepspeed);
}

#[test]
fn deepspeeds_own_file_decides_what_the_yaml_leaves_open() {
    let json = serde_json::json!({"zero_optimization": {"stage": 3}, "fp16": {"enabled": true},
        "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8});
    let facts = Facts { deepspeed_file: json.as_object(), ..FOUR_GPUS };
    let file = "training: {distributed_strategy: deepspeed, deepspeed: {config_path: x.json}}";
    let resolved = read(file).unwrap().resolve(facts).unwrap();
    assert_eq!(resolved.strategy, ResolvedStrategy::DeepSpeed { stage: Some(3) });
    assert_eq!((resolved.batch.global, resolved.precision), (128, "fp16"));
    let wins = file.replace("x.json}", "x.json}, bf16: true, per_device_train_batch_size: 1");
    let resolved = read(&wins).unwrap().resolve(facts).unwrap();
    assert_eq!((resolved.batch.global, resolved.precision), (32, "bf16"));
}

#[test]
fn mistakes_are_named_all_at_once() {
    let text = "
training:
  distributed_stratgy: ddp
  per_device_train_batch_size: zero
  save_steps: -1
  dataloader: {batch_sise: 4}
  batch_size: 3
colour: red
";
    insta::assert_snapshot!(refused(text).join("\n"));
}

#[test]
fn two_spellings_must_agree() {
    let fine = resolved("training: {per_device_train_batch_size: 4, dataloader: {batch_size: 4}}");
    assert_eq!(fine.batch.global, 16);
    let lines = refused("training: {per_device_train_batch_size: 4, dataloader: {batch_size: 8}}");
    assert!(lines[0].contains("batch_size is 8"), "{lines:?}");
    let lines = refused("training: {mixed_precision: fp16, bf16: true}");
    assert!(lines[0].contains("mixed_precision is fp16, but training.bf16 is true"), "{lines:?}");
    assert!(!refused("training: {seed: 1}\nseed: 2").is_empty());
    assert!(!refused("training: {save_steps: 1}\nsave_steps: 2").is_empty());
}

#[test]
fn what_is_no_yaml_or_no_mapping_is_refused() {
    for text in ["- a\n- b", "just words", "training: [1, 2]", "a: b: c", "x: 1\nx: 2", "training: {fp16: 'yes'}"] {
        assert!(!refused(text).is_empty(), "{text}");
    }
    assert_eq!(resolved("").strategy, ResolvedStrategy::Ddp);
    assert_eq!(resolved("training:\n").batch.global, 4);
}

#[test]
fn rates_and_precision_follow_the_machines() {
    let rate =
        |scaling: &str| resolved(&format!("training: {{learning_rate: 5e-5, lr_scaling: {scaling}}}")).learning_rate;
    assert_eq!((rate("none"), rate("linear"), rate("sqrt")), (Some(5e-5), Some(2e-4), Some(1e-4)));
    let on_cpu = Facts { on_gpus: false, ..FOUR_GPUS };
    let file = read("training: {fp16: true, distributed_backend: nccl}").unwrap().resolve(on_cpu).unwrap();
    assert_eq!((file.precision, file.backend, file.warnings.len()), ("fp32", "gloo", 2));
}

#[test]
fn the_yaml_wins_over_deepspeeds_file_and_says_so() {
    let path = folder("../../configs/deepspeed/zero3.json");
    let json: Map<String, Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let file = read(
        "training: {distributed_strategy: deepspeed, deepspeed: {config_path: configs/deepspeed/zero3.json}, \
                     per_device_train_batch_size: 1, gradient_accumulation_steps: 16, learning_rate: 1e-4, bf16: true}",
    );
    let file = file.unwrap();
    let over = file.over_deepspeed(&file.resolve(FOUR_GPUS).unwrap(), &json);
    assert_eq!(over.json["train_batch_size"], 64);
    assert_eq!(over.json["zero_optimization"]["reduce_bucket_size"], 500_000_000);
    assert_eq!(over.json["bf16"]["enabled"], true);
    assert_eq!(over.json["fp16"]["enabled"], false);
    assert!(!over.json.to_string().contains("auto"));
    let notes: Vec<&str> = over.notes.iter().map(|note| &*note.en).collect();
    insta::assert_snapshot!(notes.join("\n"));
}

#[test]
fn the_schema_is_the_one_that_is_shipped() {
    let path = folder("../../configs/training.schema.json");
    let made = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("FERMI_UPDATE_SCHEMA").is_some() {
        fs::write(&path, &made).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), made, "run the test again with FERMI_UPDATE_SCHEMA=1");
}
