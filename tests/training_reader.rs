//! The Python reader of training.yaml comes to the same as Fermi's own: in every shared case, for every key with every
//! spelling of a value, for every misspelled key, and in every decision.
//!
//! It runs in the interpreter that `make venv` made, which has PyYAML.

#[path = "training/outcome.rs"]
mod training;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Place, Run, torch_python};
use fermi_frameworks::training_yaml::keys::KEYS;
use serde_json::{Value, json};
use training::{cases, outcome};

/// Values as people write them, one in each line.
const SPELLINGS: &str = include_str!("training/spellings.txt");

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap().join(path)
}

fn python() -> Command {
    let mut command = Command::new(torch_python());
    command.env("PYTHONPATH", root("python")).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("WORLD_SIZE");
    command
}

/// What the Python reader makes of all of these, in one process.
fn played(given: &[Value]) -> Vec<Value> {
    let mut child = python()
        .arg(root("tests/training/play.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the interpreter of make venv starts");
    // It reads all of it before it writes anything.
    child.stdin.take().unwrap().write_all(json!(given).to_string().as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "the Python reader itself has failed: {}", out.status);
    serde_json::from_slice(&out.stdout).unwrap()
}

fn assert_same<'a>(pairs: impl Iterator<Item = (String, &'a Value, &'a Value)>) {
    let differ: Vec<String> = pairs
        .filter(|(_, ours, theirs)| ours != theirs)
        .map(|(name, ours, theirs)| format!("{name}\n  Fermi  {ours}\n  Python {theirs}"))
        .collect();
    assert!(differ.is_empty(), "{} differ, such as\n{}", differ.len(), differ[..differ.len().min(10)].join("\n"));
}

/// Both readers on texts, under these facts.
fn assert_agreed(texts: &[(String, Value)]) {
    let given: Vec<Value> = texts.iter().map(|(text, facts)| json!({"text": text, "facts": facts})).collect();
    let theirs = played(&given);
    let ours: Vec<Value> = texts.iter().map(|(text, facts)| outcome(text.as_bytes(), facts)).collect();
    assert_eq!(ours.len(), theirs.len());
    assert_same(
        texts.iter().zip(&ours).zip(&theirs).map(|((given, ours), theirs)| (format!("{given:?}"), ours, theirs)),
    );
}

fn four_gpus() -> Value {
    json!({"ranks": 4, "gpus": true})
}

#[test]
fn every_shared_case_comes_out_as_it_says() {
    let cases = cases();
    assert!(cases.len() > 100, "only {} cases were found", cases.len());
    let given: Vec<Value> = cases.iter().map(|case| json!({"path": case.yaml, "facts": case.facts})).collect();
    let theirs = played(&given);
    assert_same(cases.iter().zip(&theirs).map(|(case, theirs)| (case.name.clone(), &case.expected, theirs)));
}

#[test]
fn every_key_takes_and_refuses_the_same_spellings() {
    let texts: Vec<(String, Value)> = KEYS
        .iter()
        .flat_map(|key| SPELLINGS.lines().map(|spelling| (format!("{}: {spelling}\n", key.path), four_gpus())))
        .collect();
    assert_agreed(&texts);
}

#[test]
fn every_misspelled_key_has_the_same_suggestion() {
    let mut texts = Vec::new();
    for key in KEYS {
        let alone = key.path.rsplit('.').next().unwrap();
        for (at, letter) in key.path.char_indices() {
            let (before, after) = (&key.path[..at], &key.path[at + letter.len_utf8()..]);
            texts.push(format!("{before}{after}: 1"));
            texts.push(format!("{before}{letter}{letter}{after}: 1"));
        }
        for name in
            [alone.to_uppercase(), alone.replace('_', ""), alone.replace('_', "-"), alone.chars().rev().collect()]
        {
            texts.push(format!("{name}: 1"));
            texts.push(format!("training: {{{name}: 1}}"));
            texts.push(format!("dataloader: {{{name}: 1}}"));
            texts.push(format!("model: {{{name}: 1}}"));
        }
    }
    let texts: Vec<(String, Value)> = texts.into_iter().map(|text| (text, four_gpus())).collect();
    assert_agreed(&texts);
}

#[test]
fn every_decision_is_the_same() {
    let strategies = ["", "ddp", "deepspeed", "fsdp", "auto"].map(|word| said("distributed_strategy", word));
    let alone = ["", "true", "false"].map(|word| said("distributed", word));
    let mixed = ["", "no", "fp32", "fp16", "bf16"].map(|word| said("mixed_precision", word));
    let flags = |name: &str| ["", "true", "false"].map(|word| said(name, word));
    let scalings = ["", "linear", "sqrt"].map(|word| said("learning_rate: 3e-4\nlr_scaling", word));
    let backends = ["", "nccl", "gloo"].map(|word| said("distributed_backend", word));
    let sizes = ["", "model: {parameters: 1B}\n", "model: {parameters: 70e9}\n"].map(str::to_owned);
    let stages = ["", "1", "300"].map(|word| said("deepspeed: {config_path: x.json}\ndeepspeed.zero_stage", word));
    let texts = [
        product(&[&strategies, &alone, &stages, &sizes]),
        product(&[&mixed, &flags("fp16"), &flags("bf16")]),
        product(&[&scalings, &backends]),
    ]
    .concat();
    let files = [
        Value::Null,
        json!({}),
        json!({"zero_optimization": {"stage": 1}, "fp16": {"enabled": true}, "train_micro_batch_size_per_gpu": 3}),
        json!({"zero_optimization": 3, "bf16": {"enabled": true}, "gradient_accumulation_steps": 1.5}),
    ];
    let mut all = Vec::new();
    for text in &texts {
        for (ranks, gpus) in [(1, true), (7, true), (7, false)] {
            for file in &files {
                let mut facts = json!({"ranks": ranks, "gpus": gpus});
                if !file.is_null() {
                    facts["deepspeed_file"] = file.clone();
                }
                all.push((text.clone(), facts));
            }
        }
    }
    assert_agreed(&all);
}

/// A line of the file, or none for an empty word.
fn said(key: &str, word: &str) -> String {
    if word.is_empty() { String::new() } else { format!("{key}: {word}\n") }
}

/// Every way to take one line of each list.
fn product(lists: &[&[String]]) -> Vec<String> {
    lists.iter().fold(vec![String::new()], |texts, list| {
        texts.iter().flat_map(|text| list.iter().map(move |line| format!("{text}{line}"))).collect()
    })
}

#[test]
fn the_python_readers_own_tests_pass() {
    let place = Place::new();
    let mut command = python();
    command.args(["-m", "unittest", "discover", "-s"]).arg(root("python/tests")).current_dir(place.path());
    Run::whole(&mut command).expect(0);
}

#[test]
fn the_package_can_be_installed_and_says_what_a_file_means() {
    let place = Place::new();
    // pip builds in the folder that it is given, so it gets a copy.
    let copy = place.path().join("python");
    let package = copy.join("fermi_training");
    std::fs::create_dir_all(&package).unwrap();
    for folder in ["python", "python/fermi_training"] {
        for entry in std::fs::read_dir(root(folder)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                let to = place.path().join(folder).join(entry.file_name());
                std::fs::copy(entry.path(), to).unwrap();
            }
        }
    }
    let installed = place.path().join("installed");
    let mut pip = Command::new(torch_python());
    pip.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target"])
        .args([&installed, &copy]);
    Run::whole(&mut pip).expect(0);
    let mut command = Command::new(torch_python());
    command
        .env("PYTHONPATH", &installed)
        .current_dir(place.path())
        .args(["-m", "fermi_training"])
        .arg(root("config_distributed_example.yaml"))
        .args(["--ranks", "4", "--gpus"]);
    let out = Run::whole(&mut command).expect(0).out();
    assert_eq!(out.lines().nth(1), Some("effective batch 32 = 4 x 4 ranks x 2 accumulation steps"), "{out}");
}
