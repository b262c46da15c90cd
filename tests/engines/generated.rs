//! Each engine takes every file that was generated for it, by its own classes.

use std::fs;
use std::path::Path;

use super::job::{engine_variables, has, repository};
use super::said::numbers;
use crate::support::{Ended, Place, Run, torch_python};

/// One node, three unequal ones, two zones; GPUs under every rank.
const SCENES: [(&str, &[&str], u32); 3] = [
    ("one", &["gn6:4:10.0.0.6"], 4),
    ("three", &["gn6:2:10.0.0.6", "gn7:4:10.0.0.7", "gn8:8:10.0.0.8"], 14),
    ("zones", &["gn6:4:10.0.0.6:北京可用区A", "gn7:4:10.0.0.7:深圳可用区C"], 8),
];

/// Settings by which the files differ, for each framework that has files an engine reads.
const VARIANTS: [(&str, &str, &[&str]); 17] = [
    ("deepspeed", "zero0", &["--set", "zeroStage=0"]),
    ("deepspeed", "zero1", &["--set", "zeroStage=1", "--set", "precision=bf16"]),
    ("deepspeed", "zero2", &["--set", "zeroStage=2", "--set", "offloadOptimizer=cpu"]),
    ("deepspeed", "zero2-cpu", &["--cpu", "--set", "zeroStage=2", "--set", "optimizer=Adam"]),
    ("deepspeed", "zero3", &["--set", "zeroStage=3", "--set", "hiddenSize=1024"]),
    (
        "deepspeed",
        "zero3-nvme",
        &[
            "--set",
            "zeroStage=3",
            "--set",
            "offloadOptimizer=nvme",
            "--set",
            "offloadParam=nvme",
            "--set",
            "nvmePath=/local_nvme",
            "--set",
            "profile=true",
        ],
    ),
    (
        "deepspeed",
        "decay",
        &[
            "--set",
            "scheduler=WarmupDecayLR",
            "--set",
            "totalSteps=1000",
            "--set",
            "microBatchSize=3",
            "--set",
            "gradientAccumulationSteps=5",
        ],
    ),
    ("deepspeed", "sgd", &["--set", "optimizer=SGD"]),
    ("deepspeed", "accelerate", &["--set", "integration=accelerate"]),
    ("deepspeed", "own", &["--set", "config=@own.json", "--set", "microBatchSize=2"]),
    ("deepspeed", "yaml", &["--config", "training.yaml"]),
    ("pytorch-fsdp", "full", &["--set", "shardingStrategy=FULL_SHARD", "--set", "precision=bf16"]),
    ("pytorch-fsdp", "grad-op", &["--set", "shardingStrategy=SHARD_GRAD_OP", "--set", "offloadParams=true"]),
    ("pytorch-fsdp", "cpu", &["--cpu"]),
    ("megatron-lm", "tp2", &["--tensor-parallel", "2", "--set", "sequenceParallel=true"]),
    ("megatron-lm", "pp2", &["--pipeline-parallel", "2", "--set", "globalBatchSize=56"]),
    ("megatron-lm", "with-deepspeed", &["--tensor-parallel", "2", "--set", "deepspeed={\"zeroStage\":1}"]),
];

fn generate(place: &Place, out: &Path) {
    for (name, source) in [("own.json", "configs/deepspeed/zero3.json"), ("zero2.json", "configs/deepspeed/zero2.json")]
    {
        place.file(name, fs::read_to_string(repository().join(source)).unwrap());
    }
    let yaml = "training: {distributed_strategy: deepspeed, deepspeed: {config_path: zero2.json}, max_steps: 100, \
                lr_scheduler_type: cosine, warmup_ratio: 0.1, learning_rate: 1e-4, per_device_train_batch_size: 2}";
    place.file("training.yaml", yaml);
    for (scene, nodes, ranks) in SCENES {
        for (framework, name, options) in VARIANTS {
            let mut command = place.fermi(["launch", "generate", "--framework", framework]);
            command.args(nodes.iter().flat_map(|node| ["--node", node])).args(options);
            if framework == "megatron-lm" {
                let copies = (ranks / 2).to_string();
                let shape = ["numLayers=4", "hiddenSize=64", "numAttentionHeads=8", "seqLength=128"];
                command.args(["--data-parallel", &copies]).args(shape.iter().flat_map(|pair| ["--set", pair]));
            }
            command.arg("--out").arg(out.join(format!("{scene}-{framework}-{name}"))).args(["--", "train.py"]);
            Run::whole(&mut command).expect(0);
        }
    }
}

/// What the engines say to the files: one line each.
fn accepted(place: &Place, folder: &Path, without: &[&str]) -> Ended {
    let mut command = place.program(torch_python());
    command.arg(repository().join("tests/engines/accept.py")).arg(folder).args(["--without", &without.join(",")]);
    command.envs(engine_variables());
    Run::whole(&mut command)
}

#[test]
fn the_engines_accept_every_generated_file() {
    let (has_deepspeed, has_megatron) = (has("deepspeed", "deepspeed"), has("megatron", "megatron.core"));
    let mut without = Vec::new();
    without.extend((!has_deepspeed).then_some("deepspeed"));
    without.extend((!has_megatron).then_some("megatron"));
    let place = Place::new();
    let out = place.path().join("launches");
    generate(&place, &out);
    let said = accepted(&place, &out, &without).expect(0).out();
    let count = |engine: &str| said.lines().filter(|line| line.contains(&format!("({engine})"))).count();
    let made = |framework: &str| VARIANTS.iter().filter(|(known, ..)| *known == framework).count();
    let (deepspeed, fsdp, megatron) = (made("deepspeed"), made("pytorch-fsdp"), made("megatron-lm"));
    let scenes = SCENES.len();
    // A JSON and a host file each; Megatron has a host file, and one of its variants DeepSpeed's JSON too.
    let wanted = if has_deepspeed { scenes * (deepspeed * 2 + megatron + 1) } else { 0 };
    assert_eq!(count("deepspeed"), wanted, "{said}");
    // accelerate's launcher cannot start nodes that differ, so there is no file for them.
    assert_eq!(count("accelerate"), (scenes - 1) * (deepspeed + fsdp), "{said}");
    assert_eq!(count("megatron"), if has_megatron { scenes * megatron } else { 0 }, "{said}");
}

#[test]
fn a_file_that_an_engine_rejects_is_found() {
    if !has("deepspeed", "deepspeed") {
        return;
    }
    let place = Place::new();
    let out = place.path().join("launches");
    let mut command = place.fermi(["launch", "generate", "--framework", "deepspeed", "--out"]);
    Run::whole(command.arg(out.join("x")).args(["--", "train.py"])).expect(0);
    let path = out.join("x/ds_config.json");
    let text = fs::read_to_string(&path).unwrap();
    let batch = numbers(&text, "\"train_batch_size\": ")[0];
    fs::write(&path, text.replace(&format!("\"train_batch_size\": {batch}"), "\"train_batch_size\": 7")).unwrap();
    let said = accepted(&place, &out, &[]).expect(1).out();
    assert!(said.contains("REFUSED x/ds_config.json (deepspeed)"), "{said}");
}
