//! Megatron: the command's own words count, rules hold for the result, and only what is missing is appended.

use fermi_domain::{framework::Framework, language::Explained, launch::TaskLaunch};
use fermi_frameworks::LaunchRefusal;
use serde_json::json;

use crate::machines::{Gpus, Node, Scene, file, variable};

const EIGHT: [Node; 1] = [("gn6", 8, "北京可用区A")];

fn scene(line: &str) -> Scene {
    let words: Vec<&str> = line.split(' ').collect();
    Scene::new(Framework::MegatronLm, &EIGHT, Gpus::OnePerRank).argv(&words)
}

/// The words that were put behind the user's own.
fn appended(launch: &TaskLaunch, line: &str) -> String {
    let shown: Vec<String> = launch.argv().map(|word| word.shown()).collect();
    let own = line.split(' ').count();
    // The interpreter and its -u come before a script.
    shown[own + 2..].join(" ")
}

fn refused(scene: &Scene) -> LaunchRefusal {
    scene.launch().unwrap_err()
}

#[test]
fn what_the_command_says_is_kept_and_not_said_again() {
    let line = "pretrain_gpt.py --micro-batch-size 4 --global-batch-size=64 --tensor-model-parallel-size 2 --fp16 \
                --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --save-interval 100";
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let launch = scene(&line).launch().unwrap();
    assert_eq!(
        appended(&launch, &line),
        "--pipeline-model-parallel-size 1 --max-position-embeddings 2048 --sequence-parallel --distributed-backend nccl \
         --save <checkpointFolder> --load <checkpointFolder>"
    );
    // Two ranks hold one copy, so four share the data, and each takes four passes of four.
    assert_eq!(variable(&launch, "FERMI_TENSOR_PARALLEL").as_deref(), Some("2"));
    assert_eq!(variable(&launch, "FERMI_DATA_PARALLEL").as_deref(), Some("4"));
    assert_eq!(variable(&launch, "FERMI_GRADIENT_ACCUMULATION_STEPS").as_deref(), Some("4"));
    let arguments = file(&launch, "megatron_args.txt");
    for line in ["--micro-batch-size 4\n", "--global-batch-size 64\n", "--fp16\n", "--num-layers 24\n"] {
        assert!(arguments.contains(line), "{arguments}");
    }
    assert!(!arguments.contains("--bf16"), "{arguments}");
}

#[test]
fn a_setting_or_strategy_that_differs_is_refused_with_both_places() {
    let cases = [
        (scene("t.py --micro-batch-size 4").set("microBatchSize", 2), "4 and microBatchSize=2"),
        (scene("t.py --tensor-model-parallel-size=4").strategy(4, 1, 2), "4 and strategy.tensorParallel=2"),
        (scene("t.py --pipeline-model-parallel-size 2").strategy(8, 1, 1), "2 and strategy.pipelineParallel=1"),
        (scene("t.py --fp16").set("precision", "bf16"), "fp16 and precision=bf16"),
        (scene("t.py --fp16").set("deepspeed", json!({"precision": "bf16"})), "fp16 and deepspeed.precision=bf16"),
        (scene("t.py --fp16 --bf16"), "fp16 and --bf16"),
        (scene("t.py --lr 1e-4").set("learningRate", 3e-4), "0.0001 and learningRate=0.0003"),
        (scene("t.py --sequence-parallel").set("sequenceParallel", false), "true and sequenceParallel=false"),
        (scene("t.py --recompute-activations").set("recompute", "full"), "selective and recompute=full"),
        (scene("t.py --train-samples 100").set("trainIters", 10), "100 and trainIters=10"),
        (
            scene("t.py --global-batch-size 64 --micro-batch-size 1").set("gradientAccumulationSteps", 4),
            "64 and 1 × 8 × gradientAccumulationSteps=32",
        ),
        (scene("t.py --zero-stage 1").set("deepspeed", json!({"zeroStage": 2})), "1 and deepspeed.zeroStage=2"),
    ];
    for (scene, places) in cases {
        let refusal = refused(&scene);
        assert_eq!(
            (refusal.id(), refusal.field().unwrap().as_str()),
            ("setting_contradiction", "command.argv"),
            "{refusal}"
        );
        assert!(refusal.text().en.ends_with(places), "{refusal} does not end with {places}");
    }
    let twice = scene("t.py").set("precision", "fp16").set("deepspeed", json!({"precision": "bf16"}));
    assert_eq!(refused(&twice).field().unwrap(), "options.framework.precision");
}

#[test]
fn the_same_value_in_two_places_is_no_contradiction() {
    let line = "t.py --micro-batch-size 4 --tensor-model-parallel-size 2 --bf16 --distributed-backend nccl";
    let mut scene = scene(line).strategy(4, 1, 2).set("microBatchSize", 4).set("precision", "bf16");
    scene.spec.options.backend = Some("nccl".into());
    assert!(scene.launch().is_ok());
}

#[test]
fn rules_hold_for_numbers_of_the_command() {
    let cases = [
        ("t.py --num-layers 7 --hidden-size 10 --num-attention-heads 3", "--hidden-size"),
        ("t.py --num-layers 7 --pipeline-model-parallel-size 2", "--num-layers"),
        ("t.py --num-attention-heads 6 --tensor-model-parallel-size 4", "--num-attention-heads"),
        ("t.py --num-attention-heads 8 --group-query-attention --num-query-groups 3", "--num-attention-heads"),
        ("t.py --seq-length 1022 --tensor-model-parallel-size 4 --sequence-parallel", "--seq-length"),
        ("t.py --seq-length 1022 --context-parallel-size 4", "--seq-length"),
        ("t.py --num-experts 6 --expert-model-parallel-size 4", "--num-experts"),
        ("t.py --seq-length 2048 --max-position-embeddings 1024", "--max-position-embeddings"),
        ("t.py --num-virtual-stages-per-pipeline-rank 2", "--num-virtual-stages-per-pipeline-rank"),
        ("t.py --context-parallel-size 3", "--context-parallel-size"),
    ];
    for (line, flag) in cases {
        let refusal = refused(&scene(line));
        assert_eq!(
            (refusal.id(), refusal.field().unwrap().as_str()),
            ("engine_rule", "command.argv"),
            "{line}: {refusal}"
        );
        let (LaunchRefusal::Indivisible { key, .. } | LaunchRefusal::Rule { key, .. }) = &refusal else {
            panic!("{line}: {refusal:?}")
        };
        assert_eq!(key, flag, "{line}");
    }
    assert_eq!(refused(&scene("t.py --tensor-model-parallel-size 3")).id(), "layout_mismatch");
    assert_eq!(refused(&scene("t.py --micro-batch-size 3 --global-batch-size 64")).id(), "batch_invalid");
}

#[test]
fn rules_give_way_where_megatrons_do() {
    for line in [
        "t.py --hidden-size 10 --num-attention-heads 3 --kv-channels 4",
        "t.py --num-layers 7 --pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 3",
        "t.py --num-layers 7 --pipeline-model-parallel-size 2 --account-for-embedding-in-pipeline-split",
        // A number that is not used without its switch.
        "t.py --num-attention-heads 8 --num-query-groups 3",
    ] {
        assert!(scene(line).launch().is_ok(), "{line}");
    }
    // Sequence parallelism is only a default here.
    let launch = scene("t.py --seq-length 1022 --tensor-model-parallel-size 4").launch().unwrap();
    assert!(!file(&launch, "megatron_args.txt").contains("--sequence-parallel"));
}

#[test]
fn a_folder_for_checkpoints_never_comes_without_an_interval() {
    let arguments = |line: &str| file(&scene(line).launch().unwrap(), "megatron_args.txt");
    assert!(arguments("t.py").contains("--save-interval 500\n"));
    assert!(arguments("t.py --persistent-save-interval 20").contains("--persistent-save-interval 20\n"));
    let own = arguments("t.py --save /ckpt");
    assert!(own.contains("--save-interval 500\n") && !own.contains("--save ") && !own.contains("--load "), "{own}");
    let loads = arguments("t.py --load /ckpt");
    assert!(!loads.contains("--save"), "{loads}");
}

#[test]
fn arguments_go_behind_python_only() {
    for line in ["bash run.sh --micro-batch-size 4", "./run.sh", "python3 -c pass"] {
        let launch = scene(line).launch().unwrap();
        assert_eq!(launch.argv().count(), line.split(' ').count(), "{line}");
        assert!(launch.notes.iter().any(|note| note.en.contains("megatron_args.txt")), "{line}: {:?}", launch.notes);
        assert!(file(&launch, "megatron_args.txt").contains("--micro-batch-size"), "{line}");
    }
    for line in ["python -m pkg.pretrain", "-m pkg.pretrain", "/opt/bin/python3 -u t.py"] {
        assert!(scene(line).launch().unwrap().argv().count() > 10, "{line}");
    }
    let kept = scene("t.py").set("appendArguments", false).launch().unwrap();
    assert_eq!(kept.argv().count(), 3);
}

#[test]
fn the_fork_gets_its_own_names() {
    let deepspeed = |line: &str, section: serde_json::Value| scene(line).set("deepspeed", section);
    let launch = deepspeed("t.py --num-attention-heads 16", json!({"zeroStage": 2})).set("numQueryGroups", 4).launch();
    let arguments = file(&launch.unwrap(), "megatron_args.txt");
    assert!(arguments.contains("--num-key-value-heads 4\n") && arguments.contains("--no-pipeline-parallel\n"));
    assert!(!arguments.contains("query"), "{arguments}");
    let pipelines = deepspeed("t.py --pipeline-model-parallel-size 2", json!({})).launch().unwrap();
    let arguments = file(&pipelines, "megatron_args.txt");
    assert!(arguments.contains("--zero-stage 1\n") && !arguments.contains("--no-pipeline-parallel"), "{arguments}");
    assert_eq!(refused(&deepspeed("t.py", json!({})).set("contextParallel", 2)).id(), "engine_rule");
    assert_eq!(
        refused(&deepspeed("t.py --pipeline-model-parallel-size 2", json!({"zeroStage": 2}))).id(),
        "engine_rule"
    );
    let own =
        scene("t.py --deepspeed --deepspeed_config my.json --zero-stage 3 --ds-sequence-parallel-size 2").launch();
    let own = own.unwrap();
    assert!(own.argv().any(|word| word.shown() == "--no-pipeline-parallel"));
    assert!(own.files.iter().all(|file| file.path != "ds_config.json"));
    assert_eq!(variable(&own, "FERMI_GRADIENT_ACCUMULATION_STEPS").as_deref(), Some("1"));
    assert!(file(&own, "megatron_args.txt").contains("--global-batch-size 4\n"));
}

#[test]
fn deepspeeds_section_decides_the_precision_of_both() {
    for section in [json!({"precision": "fp16"}), json!({"config": {"fp16": {"enabled": true}}})] {
        let launch = scene("t.py").set("deepspeed", section).launch().unwrap();
        let arguments = file(&launch, "megatron_args.txt");
        assert!(arguments.contains("--fp16\n") && !arguments.contains("--bf16"), "{arguments}");
        let json: serde_json::Value = serde_json::from_str(&file(&launch, "ds_config.json")).unwrap();
        assert_eq!(json["fp16"]["enabled"], true);
    }
}

#[test]
fn fully_sharded_engines_get_no_single_queue() {
    for flag in ["--use-megatron-fsdp", "--use-torch-fsdp2"] {
        let launch = scene(&format!("t.py {flag}")).launch().unwrap();
        assert_eq!(variable(&launch, "CUDA_DEVICE_MAX_CONNECTIONS"), None, "{flag}");
        assert!(launch.notes.iter().any(|note| note.en.contains(flag)), "{:?}", launch.notes);
    }
    assert_eq!(variable(&scene("t.py").launch().unwrap(), "CUDA_DEVICE_MAX_CONNECTIONS").as_deref(), Some("1"));
}

#[test]
fn only_backends_that_megatron_takes() {
    for backend in ["mpi", "ucc", "cpu:gloo,cuda:nccl"] {
        let mut scene = scene("t.py");
        scene.spec.options.backend = Some(backend.into());
        let refusal = refused(&scene);
        assert_eq!(
            (refusal.id(), refusal.field().unwrap().as_str()),
            ("option_invalid", "options.backend"),
            "{backend}"
        );
    }
    let gloo = scene("t.py --distributed-backend gloo").launch().unwrap();
    assert_eq!(variable(&gloo, "FERMI_BACKEND").as_deref(), Some("gloo"));
    let mut cpu =
        Scene::new(Framework::MegatronLm, &EIGHT, Gpus::None).argv(&["t.py", "--distributed-backend", "nccl"]);
    assert_eq!(refused(&cpu).id(), "engine_rule");
    cpu = cpu.argv(&["t.py", "--fp16"]);
    assert_eq!((refused(&cpu).id(), refused(&cpu).field().unwrap().as_str()), ("precision_invalid", "command.argv"));
}
