//! What each framework gets on one node, on three unequal ones, and over two zones.

use fermi_domain::framework::Framework;

use crate::machines::{Gpus, Node, ONE, Scene, TWO_ZONES, UNEQUAL, shown, variable};

fn check(framework: Framework) {
    let scenes: [(&str, &[Node]); 3] = [("one_node", &ONE), ("three_unequal", &UNEQUAL), ("two_zones", &TWO_ZONES)];
    for (name, nodes) in scenes {
        let launch = Scene::new(framework, nodes, Gpus::OnePerRank).launch().unwrap();
        insta::assert_snapshot!(format!("{framework}_{name}"), shown(&launch));
    }
}

#[test]
fn pytorch_ddp() {
    check(Framework::PytorchDdp);
}

#[test]
fn pytorch_fsdp() {
    check(Framework::PytorchFsdp);
}

#[test]
fn deepspeed() {
    check(Framework::Deepspeed);
}

#[test]
fn horovod() {
    check(Framework::Horovod);
}

#[test]
fn megatron_lm() {
    check(Framework::MegatronLm);
}

#[test]
fn jax() {
    check(Framework::Jax);
}

#[test]
fn command() {
    check(Framework::Command);
}

#[test]
fn builtin() {
    check(Framework::Builtin);
}

#[test]
fn every_framework_without_gpus() {
    for framework in Framework::ALL {
        let mut scene = Scene::new(framework, &ONE, Gpus::None);
        scene.spec.options.backend = Some("nccl".into());
        insta::assert_snapshot!(format!("{framework}_cpu"), shown(&scene.launch().unwrap()));
    }
}

#[test]
fn options_of_the_wire() {
    let mut scene = Scene::new(Framework::Horovod, &TWO_ZONES, Gpus::OnePerRank);
    let options = &mut scene.spec.options;
    options.interface = Some("eth0".into());
    options.timeout = Some(1800);
    options.infiniband = Some(true);
    options.p2p = Some(false);
    options.nccl_debug = Some("INFO".into());
    options.torch_debug = Some("DETAIL".into());
    options.cuda_launch_blocking = Some(true);
    insta::assert_snapshot!(shown(&scene.launch().unwrap()));
}

#[test]
fn deepspeed_stages_offload_and_profiling() {
    let scene = |stage: u64| Scene::new(Framework::Deepspeed, &UNEQUAL, Gpus::OnePerRank).set("zeroStage", stage);
    insta::assert_snapshot!("deepspeed_zero1", shown(&scene(1).launch().unwrap()));
    insta::assert_snapshot!("deepspeed_zero3", shown(&scene(3).set("hiddenSize", 4096).launch().unwrap()));
    let kept = scene(3).set("integration", "transformers").set("precision", "bf16");
    insta::assert_snapshot!("deepspeed_zero3_auto", shown(&kept.launch().unwrap()));
    let nvme = scene(3).set("offload_optimizer", "nvme").set("offload_param", "nvme").set("nvme_path", "/local_nvme");
    let nvme = nvme.set("profile", true).set("scheduler", "WarmupDecayLR").set("totalSteps", 10_000);
    insta::assert_snapshot!("deepspeed_nvme_profile", shown(&nvme.launch().unwrap()));
}

#[test]
fn megatron_from_a_strategy_with_deepspeed() {
    let scene = Scene::new(Framework::MegatronLm, &TWO_ZONES, Gpus::OnePerRank).strategy(2, 2, 2);
    let scene = scene.set("numLayers", 24).set("hiddenSize", 1024).set("numAttentionHeads", 16).set("seqLength", 2048);
    let scene = scene.set("microBatchSize", 4).set("globalBatchSize", 64).set("recompute", "full");
    let scene = scene.set("deepspeed", serde_json::json!({"zeroStage": 1}));
    let scene = scene.argv(&["pretrain_gpt.py", "--micro-batch-size", "4", "--data-path", "/data/my corpus"]);
    insta::assert_snapshot!(shown(&scene.launch().unwrap()));
}

#[test]
fn the_example_of_the_specification_runs_data_parallel() {
    let scene = Scene::new(Framework::Deepspeed, &UNEQUAL, Gpus::OnePerRank).strategy(2, 4, 8);
    let launch = scene.launch().unwrap();
    assert!(launch.notes.iter().any(|note| note.en.contains("needs 64 ranks and there are 14")), "{:?}", launch.notes);
    let degrees = ["DATA", "PIPELINE", "TENSOR"].map(|degree| variable(&launch, &format!("FERMI_{degree}_PARALLEL")));
    assert_eq!(degrees.map(Option::unwrap), ["14", "1", "1"], "the script hears what is started");
}

#[test]
fn fsdp_over_equal_nodes_may_be_hybrid() {
    let scene =
        Scene::new(Framework::PytorchFsdp, &TWO_ZONES, Gpus::OnePerRank).set("shardingStrategy", "hybrid_shard");
    let scene = scene.set("transformerLayers", "LlamaDecoderLayer").set("offloadParams", true).set("precision", "fp16");
    insta::assert_snapshot!(shown(&scene.launch().unwrap()));
}
