//! A training.yaml, and a DeepSpeed file of the user's own, under the settings of a task.

use std::{fs, path::Path};

use fermi_domain::framework::Framework;
use fermi_domain::language::Explained;
use fermi_frameworks::training_yaml::sections;
use serde_json::{Map, Value, json};

use crate::machines::{Gpus, ONE, Scene, TWO_ZONES, file, variable};

fn shipped(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

fn zero(stage: u32) -> Map<String, Value> {
    serde_json::from_str(&shipped(&format!("configs/deepspeed/zero{stage}.json"))).unwrap()
}

/// A task on eight GPUs that trains by this file.
fn scene(framework: Framework, yaml: &str) -> Scene {
    let mut scene = Scene::new(framework, &TWO_ZONES, Gpus::OnePerRank);
    scene.spec.options.training = Some(sections(yaml.as_bytes()).unwrap());
    scene
}

fn ds_config(scene: &Scene) -> Value {
    serde_json::from_str(&file(&scene.launch().unwrap(), "ds_config.json")).unwrap()
}

fn notes(scene: &Scene) -> Vec<String> {
    scene.launch().unwrap().notes.into_iter().map(|note| note.en.into_owned()).collect()
}

#[test]
fn the_shipped_files_launch_and_say_what_they_decided() {
    let ddp = scene(Framework::PytorchDdp, &shipped("config_distributed_example.yaml"));
    let deepspeed = scene(Framework::Deepspeed, &shipped("config_deepspeed_example.yaml")).set("config", zero(2));
    insta::assert_snapshot!(format!("{}\n\n{}", notes(&ddp).join("\n"), notes(&deepspeed).join("\n")));
    assert!(file(&ddp.launch().unwrap(), "pytorch_ddp_config.yaml").contains("mixed_precision: bf16"));
    let launch = deepspeed.launch().unwrap();
    assert_eq!(variable(&launch, "FERMI_TRAINING_FILE").unwrap(), "<launchFolder>/training.json");
    let back: Value = serde_json::from_str(&file(&launch, "training.json")).unwrap();
    assert_eq!(back["training"]["gradient_accumulation_steps"], 8, "the script reads what was decided");
}

#[test]
fn the_yaml_goes_over_deepspeeds_file_and_says_so() {
    let yaml = "training: {distributed_strategy: deepspeed, deepspeed: {config_path: zero3.json}, max_grad_norm: 0.5, \
                per_device_train_batch_size: 1, gradient_accumulation_steps: 16, learning_rate: 1e-4, bf16: true}";
    let scene = scene(Framework::Deepspeed, yaml).set("config", zero(3));
    insta::assert_snapshot!(format!(
        "{}\n{}",
        serde_json::to_string_pretty(&ds_config(&scene)).unwrap(),
        notes(&scene).join("\n")
    ));
}

#[test]
fn a_file_of_ones_own_holds_where_nothing_is_set() {
    let own = json!({
        "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3, "bf16": {"enabled": true},
        "zero_optimization": {"stage": 1, "my_key": 7}, "optimizer": {"type": "ZeroOneAdam", "params": {"lr": 0.1}},
        "data_types": {"grad_accum_dtype": "fp32"},
    });
    let scene = Scene::new(Framework::Deepspeed, &ONE, Gpus::OnePerRank).set("config", own.clone());
    let mut wanted = own;
    wanted["train_batch_size"] = json!(12);
    assert_eq!(ds_config(&scene), wanted);
    assert_eq!(notes(&scene), ["effective batch 12 = 2 x 2 ranks x 3 accumulation steps"]);
}

#[test]
fn settings_go_over_a_file_of_ones_own() {
    let scene = Scene::new(Framework::Deepspeed, &TWO_ZONES, Gpus::OnePerRank).set("config", zero(2));
    let json = ds_config(&scene.set("zero_stage", 3).set("learningRate", 0.001).set("offloadOptimizer", "cpu"));
    assert_eq!(json["zero_optimization"]["stage"], 3);
    assert_eq!(json["zero_optimization"]["offload_optimizer"]["device"], "cpu");
    assert_eq!(json["optimizer"]["params"]["lr"], 0.001);
    assert_eq!(json["optimizer"]["params"]["betas"], zero(2)["optimizer"]["params"]["betas"]);
    assert_eq!(json["scheduler"]["params"]["warmup_max_lr"], 0.001);
}

#[test]
fn transformers_fills_in_the_auto_of_a_file() {
    let own = json!({
        "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": "auto",
        "optimizer": {"type": "AdamW", "params": {"lr": "auto", "weight_decay": "auto"}},
        "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"},
    });
    let scene = || Scene::new(Framework::Deepspeed, &ONE, Gpus::OnePerRank).set("config", own.clone());
    let kept = ds_config(&scene().set("integration", "transformers"));
    assert_eq!(kept, own);
    let resolved = ds_config(&scene());
    assert!(!resolved.to_string().contains("auto"), "{resolved}");
    assert_eq!((&resolved["train_batch_size"], &resolved["optimizer"]["params"]["lr"]), (&json!(2), &json!(3e-5)));
}

#[test]
fn the_engines_rules_hold_for_a_file_of_ones_own() {
    let own = json!({"zero_optimization": {"stage": 1, "offload_param": {"device": "cpu"}}});
    let refused = Scene::new(Framework::Deepspeed, &ONE, Gpus::OnePerRank).set("config", own).launch().unwrap_err();
    assert_eq!(refused.text().en, "Offloading parameters needs ZeRO-3");
    let half = Scene::new(Framework::Deepspeed, &ONE, Gpus::None).set("config", json!({"fp16": {"enabled": true}}));
    assert_eq!(ds_config(&half)["fp16"]["enabled"], false);
    assert!(notes(&half).iter().any(|note| note.contains("precision is \"fp32\", not \"fp16\"")), "{:?}", notes(&half));
    let refused = Scene::new(Framework::Deepspeed, &ONE, Gpus::None).set("config", "zero2.json").launch().unwrap_err();
    assert_eq!(refused.field().unwrap(), "options.framework.config");
}

#[test]
fn what_the_task_sets_itself_wins() {
    let yaml = "training: {distributed_strategy: fsdp, per_device_train_batch_size: 4, bf16: true}";
    let scene = scene(Framework::PytorchFsdp, yaml).set("micro_batch_size", 2).set("precision", "fp32");
    let launch = scene.launch().unwrap();
    assert_eq!(variable(&launch, "FERMI_MICRO_BATCH_SIZE").unwrap(), "2");
    assert_eq!(variable(&launch, "ACCELERATE_MIXED_PRECISION").unwrap(), "no");
    assert!(notes(&scene).iter().all(|note| !note.contains("bf16")), "{:?}", notes(&scene));
}

#[test]
fn what_only_a_script_can_obey_is_named_once_and_not_to_a_recipe() {
    let yaml = "experiment_name: a\ntraining: {save_steps: 5, report_to: none, resume_from_checkpoint: true}";
    let mut own = scene(Framework::PytorchDdp, yaml);
    let about = |scene: &Scene| notes(scene).into_iter().filter(|note| note.contains("save_steps")).collect::<Vec<_>>();
    assert_eq!(
        about(&own),
        [
            "experiment_name, save_steps, report_to, resume_from_checkpoint: for your script to obey (FERMI_TRAINING_FILE \
          has them); fermi train does"
        ]
    );
    own.spec.work = serde_json::from_value(json!({"kind": "recipe", "name": "sft"})).unwrap();
    assert!(about(&own).is_empty());
}

#[test]
fn a_file_may_serve_other_engines_unless_it_names_one() {
    let open = "training: {per_device_train_batch_size: 4, gradient_accumulation_steps: 2, ddp_bucket_cap_mb: 25}";
    let launch = scene(Framework::Horovod, open).launch().unwrap();
    assert_eq!(variable(&launch, "FERMI_MICRO_BATCH_SIZE").unwrap(), "4");
    let named = format!("{}, distributed_strategy: ddp}}", open.trim_end_matches('}'));
    let refused = scene(Framework::Horovod, &named).launch().unwrap_err();
    assert_eq!(refused.field().unwrap(), "options.training.training.distributed_strategy");
    assert!(refused.text().en.contains("is ddp, but framework is horovod"), "{}", refused.text().en);
    assert!(scene(Framework::Command, &named).launch().is_ok());
    let mistaken = scene(Framework::PytorchDdp, "training: {save_stps: 5}").launch().unwrap_err();
    assert_eq!(
        (mistaken.id(), mistaken.field().unwrap().as_str()),
        ("training_invalid", "options.training.training.save_stps")
    );
}

/// What a framework takes of a file that names no strategy, by its launch as a whole.
#[test]
fn a_file_without_a_strategy_gives_every_framework_its_own_keys() {
    let yaml = "training: {learning_rate: 1e-4, max_grad_norm: 0.5, weight_decay: 0.1, bf16: true, max_steps: 70, \
                deepspeed: {zero_stage: 3}, fsdp: {sharding_strategy: SHARD_GRAD_OP}, ddp_bucket_cap_mb: 17}";
    let json = ds_config(&scene(Framework::Deepspeed, yaml));
    assert_eq!((&json["optimizer"]["params"]["lr"], &json["gradient_clipping"]), (&json!(1e-4), &json!(0.5)));
    assert_eq!((&json["zero_optimization"]["stage"], &json["bf16"]["enabled"]), (&json!(3), &json!(true)));
    let fsdp = scene(Framework::PytorchFsdp, yaml).launch().unwrap();
    assert!(file(&fsdp, "fsdp_config.json").contains("SHARD_GRAD_OP"));
    let ddp = scene(Framework::PytorchDdp, yaml).launch().unwrap();
    assert!(file(&ddp, "pytorch_ddp_config.yaml").contains("17"));
    let megatron = file(&scene(Framework::MegatronLm, yaml).launch().unwrap(), "megatron_args.txt");
    for line in ["--lr 0.0001", "--clip-grad 0.5", "--train-iters 70", "--bf16"] {
        assert!(megatron.contains(line), "{line} is not in\n{megatron}");
    }
}

/// The notes, the engine's file and what the script reads say the same, whoever said it last.
#[test]
fn what_the_task_says_is_what_everybody_hears() {
    let yaml = "training: {distributed_strategy: deepspeed, per_device_train_batch_size: 4, learning_rate: 1e-4, \
                lr_scaling: linear, fp16: true, gradient_accumulation_steps: 3}";
    let scene = scene(Framework::Deepspeed, yaml).set("zeroStage", 3).set("learningRate", 0.5);
    let scene = scene.set("precision", "bf16").set("globalBatchSize", 64).set("offloadParam", "none");
    let said = notes(&scene);
    for line in ["strategy DeepSpeed ZeRO-3", "precision bf16", "learning rate 0.5"] {
        assert!(said.iter().any(|note| note == line), "{line}: {said:?}");
    }
    let json = ds_config(&scene);
    let number = |key: &str| json[key].as_u64().unwrap();
    assert_eq!((number("train_micro_batch_size_per_gpu"), number("gradient_accumulation_steps")), (4, 2));
    assert_eq!((number("train_batch_size"), &json["optimizer"]["params"]["lr"]), (64, &json!(0.5)));
    let script: Value = serde_json::from_str(&file(&scene.launch().unwrap(), "training.json")).unwrap();
    let wanted = json!({
        "distributed_strategy": "deepspeed", "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2,
        "learning_rate": 0.5, "mixed_precision": "bf16", "deepspeed": {"zero_stage": 3},
    });
    assert_eq!(script, json!({ "training": wanted }));
}

#[test]
fn a_batch_that_nobody_gave_is_left_to_the_script() {
    let launch = scene(Framework::PytorchDdp, "training: {learning_rate: 1e-4}").launch().unwrap();
    assert_eq!(variable(&launch, "FERMI_MICRO_BATCH_SIZE"), None);
}

#[test]
fn a_deepspeed_file_that_did_not_come_along_is_asked_for() {
    let yaml = "training: {distributed_strategy: deepspeed, deepspeed: {config_path: zero3.json}}";
    let refused = scene(Framework::Deepspeed, yaml).launch().unwrap_err();
    assert_eq!(refused.field().unwrap(), "options.training.training.deepspeed.config_path");
    assert!(refused.text().en.contains("options.framework.config"), "{}", refused.text().en);
    let other = scene(Framework::PytorchDdp, "training: {deepspeed: {config_path: zero3.json}}");
    assert!(other.launch().is_ok(), "no business of DDP's");
}

#[test]
fn a_setting_for_which_a_file_of_ones_own_has_no_place_is_named() {
    let own = json!({"scheduler": {"type": "OneCycle", "params": {"cycle_max_lr": 0.1}}});
    let scene = Scene::new(Framework::Deepspeed, &ONE, Gpus::OnePerRank).set("config", own).set("warmupSteps", 7);
    let scene = scene.set("learningRate", 0.5);
    assert_eq!(ds_config(&scene)["scheduler"]["params"], json!({"cycle_max_lr": 0.1}));
    for name in ["warmupSteps", "learningRate"] {
        let said = notes(&scene);
        assert!(said.iter().any(|note| note.contains(&format!("no place for {name}"))), "{name}: {said:?}");
    }
}

#[test]
fn the_optimizer_of_a_file_is_deepspeeds_or_the_scripts() {
    let kind = |optim: &str| {
        let scene = scene(Framework::Deepspeed, &format!("training: {{optim: {optim}}}"));
        (ds_config(&scene)["optimizer"]["type"].clone(), notes(&scene).join("; ").contains("the script brings its own"))
    };
    assert_eq!(kind("sgd"), (json!("SGD"), false));
    assert_eq!(kind("adamw_torch_fused"), (json!("AdamW"), false));
    assert_eq!(kind("adamw_8bit"), (Value::Null, true));
    assert_eq!(kind("adafactor"), (Value::Null, true));
}

#[test]
fn auto_decides_stage_and_framework_together() {
    let yaml = "model: {parameters: 13B}\ntraining: {distributed_strategy: auto}";
    let mut auto = scene(Framework::Deepspeed, yaml);
    auto.spec.distributed.framework = None;
    assert_eq!(ds_config(&auto)["zero_optimization"]["stage"], 3);
    assert!(
        notes(&auto).contains(&"strategy DeepSpeed ZeRO-3: more than 7B parameters".to_owned()),
        "{:?}",
        notes(&auto)
    );
    let fsdp = notes(&scene(Framework::PytorchFsdp, yaml));
    assert!(fsdp.contains(&"strategy FSDP".to_owned()), "{fsdp:?}");
}

#[test]
fn auto_knows_a_model_by_its_name_and_tells_the_script() {
    let yaml = "model: {name_or_path: meta-llama/Llama-2-13b-hf}\ntraining: {distributed_strategy: auto}";
    let mut auto = scene(Framework::Deepspeed, yaml);
    auto.spec.distributed.framework = None;
    assert_eq!(ds_config(&auto)["zero_optimization"]["stage"], 3);
    assert!(notes(&auto).contains(&"strategy DeepSpeed ZeRO-3: more than 7B parameters".to_owned()));
    let script: Value = serde_json::from_str(&file(&auto.launch().unwrap(), "training.json")).unwrap();
    assert_eq!(script["model"]["parameters"], json!(13_000_000_000_u64));
    let unknown = scene(Framework::PytorchDdp, &yaml.replace("Llama-2-13b-hf", "mine"));
    assert!(notes(&unknown).iter().any(|note| note.contains("the model's size is not known")));
}
