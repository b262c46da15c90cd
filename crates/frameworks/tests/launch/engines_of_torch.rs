//! What DeepSpeed, FSDP, accelerate and transformers take, and what they would refuse.

use fermi_domain::framework::Framework;
use fermi_domain::language::Explained;
use fermi_frameworks::training_yaml::sections;
use serde_json::{Value, json};

use crate::machines::{Gpus, ONE, Scene, TWO_ZONES, UNEQUAL, file, variable};

fn deepspeed(gpus: Gpus) -> Scene {
    Scene::new(Framework::Deepspeed, &ONE, gpus)
}

fn json_of(scene: &Scene, name: &str) -> Value {
    serde_json::from_str(&file(&scene.launch().unwrap(), name)).unwrap()
}

fn ds_config(scene: &Scene) -> Value {
    json_of(scene, "ds_config.json")
}

fn notes(scene: &Scene) -> String {
    scene.launch().unwrap().notes.iter().map(|note| note.en.to_string() + "\n").collect()
}

fn trained_by(scene: Scene, yaml: &str) -> Scene {
    let mut scene = scene;
    scene.spec.options.training = Some(sections(yaml.as_bytes()).unwrap());
    scene
}

#[test]
fn transformers_decides_what_nobody_set() {
    let open = deepspeed(Gpus::OnePerRank).set("integration", "transformers");
    let json = ds_config(&open);
    let auto = json!("auto");
    for key in
        ["train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "train_batch_size", "gradient_clipping"]
    {
        assert_eq!(json[key], auto, "{key}");
    }
    for key in ["lr", "betas", "eps", "weight_decay"] {
        assert_eq!(json["optimizer"]["params"][key], auto, "{key}");
    }
    assert_eq!((&json["fp16"]["enabled"], &json["bf16"]["enabled"]), (&auto, &auto));
    assert_eq!(json.get("scheduler"), None, "the Trainer has a schedule of its own");
    let launch = open.launch().unwrap();
    for name in ["FERMI_MICRO_BATCH_SIZE", "FERMI_GRADIENT_ACCUMULATION_STEPS", "ACCELERATE_MIXED_PRECISION"] {
        assert_eq!(variable(&launch, name), None, "{name}");
    }
    assert!(!notes(&open).contains("effective batch"), "{}", notes(&open));
}

#[test]
fn what_is_set_holds_beside_transformers() {
    let scene = deepspeed(Gpus::OnePerRank).set("integration", "transformers").set("zeroStage", 3);
    let scene = scene.set("microBatchSize", 2).set("learningRate", 0.01).set("precision", "bf16");
    let scene = scene.set("scheduler", "WarmupDecayLR").set("reduceBucketSize", 1000);
    let json = ds_config(&scene);
    let (auto, params) = (json!("auto"), &json["scheduler"]["params"]);
    assert_eq!((&json["train_micro_batch_size_per_gpu"], &json["gradient_accumulation_steps"]), (&json!(2), &auto));
    assert_eq!((&json["optimizer"]["params"]["lr"], &params["warmup_max_lr"]), (&json!(0.01), &json!(0.01)));
    assert_eq!((&params["warmup_num_steps"], &params["total_num_steps"]), (&auto, &auto));
    assert_eq!((&json["bf16"], json.get("fp16")), (&json!({"enabled": true}), None));
    let zero = &json["zero_optimization"];
    assert_eq!((&zero["reduce_bucket_size"], &zero["stage3_prefetch_bucket_size"]), (&json!(1000), &auto));
}

#[test]
fn scripts_of_accelerate_bring_optimizer_and_schedule() {
    let scene = || deepspeed(Gpus::OnePerRank).set("integration", "accelerate");
    let json = ds_config(&scene());
    assert_eq!((json.get("optimizer"), json.get("scheduler")), (None, None));
    let json = ds_config(&scene().set("optimizer", "AdamW").set("scheduler", "WarmupLR"));
    assert_eq!((&json["optimizer"]["type"], &json["scheduler"]["type"]), (&json!("AdamW"), &json!("WarmupLR")));
}

#[test]
fn optimizers_that_zero_does_not_know_are_allowed() {
    for (kind, stage, allowed) in [("SGD", 2, true), ("Lamb", 1, true), ("SGD", 0, false), ("AdamW", 2, false)] {
        let scene = deepspeed(Gpus::OnePerRank).set("optimizer", kind).set("zeroStage", stage);
        let flag = ds_config(&scene).get("zero_allow_untested_optimizer").cloned();
        assert_eq!(flag, allowed.then_some(json!(true)), "{kind} with ZeRO-{stage}");
    }
    let muon = |stage: u64| ds_config(&deepspeed(Gpus::OnePerRank).set("optimizer", "Muon").set("zeroStage", stage));
    assert_eq!(muon(3)["zero_optimization"]["reduce_scatter"], false);
    assert_eq!(muon(2)["zero_optimization"]["reduce_scatter"], true);
    let own = json!({"zero_optimization": {"stage": 2}, "optimizer": {"type": "sgd", "params": {"lr": 0.1}}});
    assert_eq!(ds_config(&deepspeed(Gpus::OnePerRank).set("config", own))["zero_allow_untested_optimizer"], true);
}

#[test]
fn optimizers_run_where_they_can() {
    let refused = |scene: Scene| scene.launch().unwrap_err().text().en.into_owned();
    assert_eq!(refused(deepspeed(Gpus::None).set("optimizer", "Lamb")), "Lamb needs a GPU under every rank");
    assert_eq!(refused(deepspeed(Gpus::None).set("optimizer", "Lion")), "Lion needs a GPU under every rank");
    assert!(deepspeed(Gpus::None).set("optimizer", "Lion").set("offloadOptimizer", "cpu").launch().is_ok());
    let lamb = deepspeed(Gpus::OnePerRank).set("optimizer", "Lamb").set("offloadOptimizer", "cpu");
    assert_eq!(refused(lamb), "Lamb does not go with an offloaded optimizer");
    assert!(refused(deepspeed(Gpus::OnePerRank).set("optimizer", "OneBitAdam")).contains("OneBitAdam"));
    assert!(refused(deepspeed(Gpus::OnePerRank).set("betas", json!([0.9, 5]))).contains("betas"));
}

#[test]
fn no_warmup_is_no_schedule_or_one_step() {
    let scene = || deepspeed(Gpus::OnePerRank).set("warmupSteps", 0);
    assert_eq!(ds_config(&scene()).get("scheduler"), None);
    assert!(notes(&scene()).contains("no scheduler is written"));
    let cosine = ds_config(&scene().set("scheduler", "WarmupCosineLR").set("totalSteps", 100));
    assert_eq!(cosine["scheduler"]["params"]["warmup_num_steps"], 1);
    let own = |steps: u64| json!({"scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": steps}}});
    assert_eq!(ds_config(&scene().set("config", own(7))).get("scheduler"), None);
    assert_eq!(ds_config(&deepspeed(Gpus::OnePerRank).set("config", own(0))).get("scheduler"), None);
    let kept = ds_config(&deepspeed(Gpus::OnePerRank).set("config", own(7)));
    assert_eq!(kept["scheduler"]["params"]["warmup_num_steps"], 7);
}

#[test]
fn the_schedule_of_a_training_yaml_is_deepspeeds_or_the_scripts() {
    let scene = |lines: &str| {
        let yaml = format!("training: {{distributed_strategy: deepspeed, learning_rate: 1e-3, {lines}}}");
        trained_by(deepspeed(Gpus::OnePerRank), &yaml)
    };
    let cosine = ds_config(&scene("lr_scheduler_type: cosine, warmup_ratio: 0.1, max_steps: 205"));
    let params =
        json!({"warmup_min_ratio": 0, "warmup_num_steps": 21, "warmup_type": "linear", "total_num_steps": 205});
    assert_eq!(cosine["scheduler"], json!({"type": "WarmupCosineLR", "params": params}));
    let linear = ds_config(&scene("lr_scheduler_type: linear, warmup_steps: 10, max_steps: 200"));
    assert_eq!(linear["scheduler"]["type"], "WarmupDecayLR");
    assert_eq!(linear["scheduler"]["params"]["warmup_num_steps"], 10);
    let constant = ds_config(&scene("lr_scheduler_type: constant_with_warmup, warmup_steps: 10"));
    assert_eq!(constant["scheduler"]["type"], "WarmupLR");
    for lines in ["lr_scheduler_type: cosine, warmup_ratio: 0.1", "lr_scheduler_type: polynomial, max_steps: 200"] {
        assert_eq!(ds_config(&scene(lines)).get("scheduler"), None, "{lines}");
        assert!(notes(&scene(lines)).contains("so the script schedules"), "{}", notes(&scene(lines)));
    }
    let own = json!({
        "optimizer": {"type": "AdamW", "params": {"lr": 0.1}},
        "scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 0.1, "warmup_num_steps": 500}},
    });
    let over = scene("lr_scheduler_type: cosine, warmup_ratio: 0.1, max_steps: 205").set("config", own.clone());
    assert_eq!(ds_config(&over)["scheduler"], cosine["scheduler"]);
    assert!(notes(&over).contains("scheduler is \"WarmupCosineLR\", not \"WarmupLR\" as in the DeepSpeed file"));
    let script = scene("lr_scheduler_type: cosine, warmup_ratio: 0.1").set("config", own);
    assert_eq!(ds_config(&script).get("scheduler"), None);
}

#[test]
fn a_training_yaml_that_says_nothing_is_deepspeed_as_ever() {
    let silent = trained_by(deepspeed(Gpus::OnePerRank), "training: {distributed_strategy: deepspeed}");
    assert_eq!(ds_config(&silent), ds_config(&deepspeed(Gpus::OnePerRank)));
    assert!(notes(&silent).contains("no batch was given: 4 of each rank, 8 accumulation steps"), "{}", notes(&silent));
    assert!(notes(&silent).contains("precision fp16"), "{}", notes(&silent));
}

#[test]
fn accelerate_finds_its_processes_on_cpu() {
    let launch = Scene::new(Framework::PytorchDdp, &ONE, Gpus::None).launch().unwrap();
    assert_eq!(variable(&launch, "ACCELERATE_USE_CPU").as_deref(), Some("true"));
    let launch = Scene::new(Framework::PytorchDdp, &ONE, Gpus::OnePerRank).launch().unwrap();
    assert_eq!(variable(&launch, "ACCELERATE_USE_CPU"), None);
    assert!(notes(&deepspeed(Gpus::None)).contains("with DeepSpeed on CPU a plain Accelerator() counts one process"));
}

#[test]
fn accelerates_file_is_for_nodes_of_one_size() {
    for (framework, name) in
        [(Framework::Deepspeed, "accelerate_deepspeed.yaml"), (Framework::PytorchFsdp, "accelerate_fsdp.yaml")]
    {
        let scene = Scene::new(framework, &UNEQUAL, Gpus::OnePerRank);
        assert!(scene.launch().unwrap().files.iter().all(|file| file.path != name), "{name}");
        assert!(notes(&scene).contains(name), "{}", notes(&scene));
    }
    let text = file(
        &Scene::new(Framework::Deepspeed, &TWO_ZONES, Gpus::OnePerRank).launch().unwrap(),
        "accelerate_deepspeed.yaml",
    );
    assert!(text.contains("  deepspeed_multinode_launcher: standard\n"), "{text}");
}

#[test]
fn shards_on_the_cpu_have_a_backend_of_their_own() {
    let scene = || Scene::new(Framework::PytorchFsdp, &ONE, Gpus::OnePerRank).set("offloadParams", true);
    let backend = |scene: &Scene| variable(&scene.launch().unwrap(), "FERMI_BACKEND").unwrap();
    assert_eq!(backend(&scene()), "cpu:gloo,cuda:nccl");
    let mut chosen = scene();
    chosen.spec.options.backend = Some("nccl".into());
    assert_eq!(backend(&chosen), "nccl");
    assert!(notes(&chosen).contains("nccl cannot move parameters on the CPU"));
    let yaml = "training: {distributed_strategy: fsdp, fsdp: {offload_params: true}}";
    assert_eq!(
        backend(&trained_by(Scene::new(Framework::PytorchFsdp, &ONE, Gpus::OnePerRank), yaml)),
        "cpu:gloo,cuda:nccl"
    );
}

#[test]
fn fsdp_settings_have_the_names_that_people_know() {
    let scene = || Scene::new(Framework::PytorchFsdp, &ONE, Gpus::OnePerRank);
    let json = json_of(&scene().set("wrapPolicy", "SIZE_BASED_WRAP"), "fsdp_config.json");
    assert_eq!((&json["auto_wrap_policy"], &json["min_num_params"]), (&json!("SIZE_BASED_WRAP"), &json!(100_000_000)));
    let layers = scene().set("transformerLayers", json!(["A", "B"])).set("outputDtype", "fp32");
    let json = json_of(&layers.set("castForwardInputs", "False"), "fsdp_config.json");
    assert_eq!(json["transformer_layer_cls_to_wrap"], json!(["A", "B"]));
    let precision = json!({
        "param_dtype": "bfloat16", "reduce_dtype": "bfloat16", "output_dtype": "float32", "cast_forward_inputs": false,
    });
    assert_eq!(json["mixed_precision"], precision);
    assert!(scene().set("transformerLayers", json!(["A", 1])).launch().is_err());
}

#[test]
fn chosen_gpus_are_named_for_deepspeeds_launcher() {
    let mut scene = deepspeed(Gpus::OnePerRank);
    assert!(!notes(&scene).contains("--include"));
    let mut slots = scene.ranks.slots().to_vec();
    for (slot, gpu) in slots.iter_mut().zip(2..) {
        slot.gpu = Some(gpu);
    }
    scene.ranks = slots.try_into().unwrap();
    assert!(notes(&scene).contains("give --include 192.168.1.10:2,3"), "{}", notes(&scene));
}
