//! What cannot run is refused before anything starts, with a sentence in both languages.

use fermi_domain::framework::Framework;
use fermi_domain::language::{Explained, FrontEnd};
use fermi_frameworks::settings_of;
use serde_json::json;

use crate::machines::{Gpus, ONE, Scene, TWO_ZONES, UNEQUAL};

fn deepspeed() -> Scene {
    Scene::new(Framework::Deepspeed, &ONE, Gpus::OnePerRank)
}

fn megatron() -> Scene {
    Scene::new(Framework::MegatronLm, &TWO_ZONES, Gpus::OnePerRank)
}

#[test]
fn every_mistake_has_its_sentence() {
    let wire = |change: fn(&mut Scene)| {
        let mut scene = deepspeed();
        change(&mut scene);
        scene
    };
    let cases = [
        deepspeed().set("zeroStge", 2),
        deepspeed().set("colour", "red"),
        deepspeed().set("trainBatchSize", 64),
        deepspeed().set("microBatchSize", 1e20),
        deepspeed().set("betas", "0.9,0.95"),
        deepspeed().set("betas", json!([0.9, 5])),
        deepspeed().set("profile", "maybe"),
        deepspeed().set("optimizer", "OneBitAdam"),
        deepspeed().set("optimizer", "Lamb").set("offloadOptimizer", "cpu"),
        Scene::new(Framework::Deepspeed, &ONE, Gpus::None).set("optimizer", "Lion"),
        Scene::new(Framework::PytorchFsdp, &ONE, Gpus::OnePerRank).set("wrapPolicy", "layers"),
        Scene::new(Framework::PytorchFsdp, &ONE, Gpus::OnePerRank).set("transformerLayers", json!(["A", 1])),
        deepspeed().set("zeroStage", 4),
        deepspeed().set("zeroStage", "two"),
        deepspeed().set("zeroStage", 2).set("zero_stage", 2),
        deepspeed().set("microBatchSize", 0),
        deepspeed().set("globalBatchSize", 7),
        deepspeed().set("globalBatchSize", 10).set("microBatchSize", 4),
        deepspeed().set("microBatchSize", 1_u64 << 40).set("gradientAccumulationSteps", 1_u64 << 40),
        deepspeed().set("offloadParam", "cpu"),
        deepspeed().set("zeroStage", 3).set("offloadParam", "nvme"),
        deepspeed().set("zeroStage", 0).set("offloadOptimizer", "cpu"),
        deepspeed().set("scheduler", "WarmupDecayLR"),
        deepspeed().set("zeroStage", 3).strategy(1, 1, 2),
        Scene::new(Framework::Deepspeed, &ONE, Gpus::None).set("precision", "fp16"),
        Scene::new(Framework::PytorchFsdp, &UNEQUAL, Gpus::OnePerRank).set("shardingStrategy", "HYBRID_SHARD"),
        Scene::new(Framework::PytorchFsdp, &ONE, Gpus::OnePerRank).set("shardingStrategy", "NO_SHARD"),
        Scene::new(Framework::Command, &ONE, Gpus::OnePerRank).set("zeroStage", 1),
        megatron().strategy(2, 4, 8),
        megatron().strategy(2, 4, 1).set("numLayers", 30),
        megatron().strategy(2, 1, 4).set("numAttentionHeads", 6),
        megatron().set("hiddenSize", 1000).set("numAttentionHeads", 16),
        megatron().strategy(2, 1, 4).set("seqLength", 1022).set("sequenceParallel", true),
        megatron().set("globalBatchSize", 12).set("microBatchSize", 1),
        megatron().set("contextParallel", 3),
        megatron().set("layersPerVirtualStage", 2),
        megatron().strategy(1, 4, 2).set("layersPerVirtualStage", 2).set("numLayers", 24).set("globalBatchSize", 6),
        megatron().strategy(4, 1, 2).argv(&["pretrain_gpt.py", "--tensor-model-parallel-size=4"]),
        megatron().set("deepspeed", json!({"zeroStag": 1})),
        deepspeed().argv(&[]),
        wire(|scene| scene.spec.options.backend = Some("ncll".into())),
        wire(|scene| scene.spec.options.interface = Some("eth0 eth1".into())),
        wire(|scene| scene.spec.options.timeout = Some(0)),
        wire(|scene| scene.spec.options.nccl_debug = Some("foo".into())),
    ];
    let mut page = String::new();
    for scene in cases {
        let refusal = scene.launch().unwrap_err();
        let (text, hint) = (refusal.text(), refusal.hint().unwrap().spelled(FrontEnd::Api));
        assert!([&text.zh, &text.en, &hint.zh, &hint.en].iter().all(|sentence| !sentence.is_empty()), "{refusal:?}");
        page += &format!("{} {}\n", refusal.id(), refusal.field().unwrap());
        page += &format!("  {}\n  hint: {}\n  {}\n  提示：{}\n", text.en, hint.en, text.zh, hint.zh);
    }
    insta::assert_snapshot!(page);
}

#[test]
fn every_setting_that_is_listed_is_known_and_explained() {
    for framework in Framework::ALL {
        for setting in settings_of(framework) {
            assert!(!setting.about().zh.is_empty() && !setting.about().en.is_empty());
            // A null says nothing, so only the key is looked at.
            let scene = Scene::new(framework, &ONE, Gpus::OnePerRank).set(setting.name, serde_json::Value::Null);
            assert!(scene.launch().is_ok(), "{framework} {}", setting.name);
        }
    }
}
