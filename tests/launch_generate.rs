//! `fermi launch generate` as people read it: what it writes and says, and what it refuses, in both languages.

use std::fs;

use crate::support::{Place, Run};

const ANSWERED: [&[&str]; 6] = [
    &["--framework", "pytorch-ddp", "--", "train.py"],
    &[
        "--framework",
        "deepspeed",
        "--node",
        "gn6:2:10.0.0.6",
        "--node",
        "gn7:4:10.0.0.7",
        "--set",
        "zeroStage=3",
        "--set",
        "globalBatchSize=48",
        "--",
        "train.py",
        "--epochs",
        "3",
    ],
    &["--framework", "pytorch-fsdp", "--cpu", "--set", "shardingStrategy=SHARD_GRAD_OP", "--", "train.py"],
    &[
        "--framework",
        "megatron-lm",
        "--node",
        "gn6:4:10.0.0.6:北京可用区A",
        "--node",
        "gn7:4:10.0.0.7:深圳可用区C",
        "--tensor-parallel",
        "4",
        "--data-parallel",
        "2",
        "--",
        "pretrain_gpt.py",
    ],
    &["--framework", "horovod", "--cpu", "--", "torchrun", "train.py"],
    &["--config", "training.yaml", "--", "train.py"],
];

const REFUSED: [&[&str]; 10] = [
    &["--framework", "deepsped"],
    &["--framework", "deepspeed", "--set", "zeroStge=3"],
    &["--framework", "deepspeed", "--set", "zeroStage=4"],
    &["--framework", "deepspeed", "--set", "zeroStage"],
    &["--framework", "deepspeed", "--node", "gn6:5", "--set", "globalBatchSize=48", "--set", "microBatchSize=4"],
    &["--framework", "pytorch-fsdp", "--node", "gn6:1", "--node", "gn7:2", "--set", "shardingStrategy=HYBRID_SHARD"],
    &["--framework", "megatron-lm", "--node", "gn6:6", "--tensor-parallel", "4"],
    &["--framework", "jax", "--node", "gn6:none"],
    &["--framework", "jax", "--backend", "smoke"],
    &["--config", "missing.yaml"],
];

/// Everything that is said, one after the other.
fn said(questions: &[&[&str]], language: &str, code: i32) -> String {
    let place = Place::new();
    place.file("training.yaml", "model:\n  parameters: 7B\ntraining:\n  distributed: true\n  distributed_strategy: auto\n  per_device_train_batch_size: 4\n");
    let mut all = String::new();
    for words in questions {
        let mut command = place.fermi(["launch", "generate", "--out", "launch"]);
        let ended = Run::whole(command.args(*words).env("FERMI_LANG", language)).expect(code);
        all += &format!("$ fermi launch generate --out launch {}\n{}{}\n", words.join(" "), ended.err(), ended.out());
        if code != 0 {
            assert!(!place.work().join("launch").exists(), "{words:?} has written something");
        }
    }
    all
}

#[test]
fn it_says_what_was_decided_and_what_was_written() {
    insta::assert_snapshot!("written_english", said(&ANSWERED, "en", 0));
    insta::assert_snapshot!("written_chinese", said(&ANSWERED, "zh", 0));
}

#[test]
fn refusals_have_a_sentence_and_a_hint_and_write_nothing() {
    insta::assert_snapshot!("refused_english", said(&REFUSED, "en", 2));
    insta::assert_snapshot!("refused_chinese", said(&REFUSED, "zh", 2));
}

#[test]
fn an_output_folder_that_cannot_be_written_is_named() {
    let place = Place::new();
    place.file("taken", "a file");
    let mut command = place.fermi(["launch", "generate", "--framework", "jax", "--out", "taken", "--", "train.py"]);
    Run::whole(&mut command).expect(2).says(&["cannot write taken", "give another folder with --out"]);
}

#[test]
fn strange_words_stay_as_they_are_in_the_written_launch() {
    let place = Place::new();
    let strange = "训练 'a' \"b\" $HOME `x` <launchFolder> \\";
    let mut command = place.fermi(["launch", "generate", "--framework", "jax", "--out", "launch", "--"]);
    Run::whole(command.args(["train.py", strange])).expect(0);
    let text = fs::read(place.work().join("launch/launch.json")).unwrap();
    let launch: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(launch["argv"][3], strange);
}
