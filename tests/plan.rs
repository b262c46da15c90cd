//! `fermi plan` as people read it: plans, scaling tables and refusals, in both languages.

use std::fs;

use crate::support::{Place, Run};

/// Words of a question, and whether it has an answer.
const ANSWERED: [&[&str]; 8] = [
    &["--model", "gpt2", "--gpus", "8xA100-80G"],
    &["--model", "llama2-7b", "--gpus", "4x8xA100-80G", "--network", "100Gbps", "--top", "3"],
    &["--model", "llama3-70b", "--gpus", "8xRTX-4090"],
    &["scale", "--nodes-list", "2", "4"],
    &["scale", "--model", "llama2-7b", "--gpus", "8xH100", "--sharding", "fsdp_full", "--nodes-list", "2"],
    &["--model", "gpt2", "--gpus", "8xV100", "--global-batch", "100", "--top", "1"],
    &["--model", "gpt2", "--gpus", "64xH100", "--top", "1"],
    &["--model", "gpt2", "--gpus", "8xA100-80G", "--global-batch", "1099511627776", "--top", "1"],
];

const REFUSED: [&[&str]; 32] = [
    &[],
    &["--model", "gtp2"],
    &["--model", "gpt2", "--gpus", "0xA100"],
    &["--model", "gpt2", "--gpus", "-8xA100"],
    &["--model", "gpt2", "--gpus", "8xFOO"],
    &["--model", "gpt2", "--gpus", ""],
    &["--model", "gpt2", "--gpus", "99999999x8xA100"],
    &["--model", "gpt2", "--seq-len", "0"],
    &["--model", "gpt2", "--seq-len", "long"],
    &["--model", "gpt2", "--global-batch", "0"],
    &["--model", "gpt2", "--precision", "int3"],
    &["--model", "gpt2", "--optimizer", "magic"],
    &["--model", "gpt2", "--network", "fast"],
    &["--model", "gpt2", "--gpus", "8xNew", "--gpu-tflops", "nan", "--gpu-memory", "80"],
    &["--model", "gpt2", "--model", "gpt2-xl"],
    &["--layers", "24", "--hidden", "1000", "--heads", "7"],
    &["--layers", "18446744073709551615", "--hidden", "64", "--heads", "1"],
    &["--model-config", "missing.json"],
    &["--model-config", "."],
    &["--model-config", "broken.json"],
    &["--model-config", "latin1.json"],
    &["predict", "--runs", "broken.json"],
    &["scale", "--gbps-list", "0", "--nodes-list", "2"],
    &["calibrate", "--runs", "empty.json"],
    &["--model", "gpt2", "--layers", "3"],
    &["--model", "gpt2", "--gpus", "8xA100", "--precision", "fp8"],
    &["scale", "--model", "gpt2", "--global-batch", "64"],
    &["--layers", "-3", "--hidden", "64", "--heads", "1"],
    &["--model", "gpt2", "--gpu-memory", "0"],
    &["--model", "gpt2", "--gpu-memory", "nan"],
    &["--model", "gpt2", "--zone-rtt", "1e300"],
    &["calibrate", "--runs", "absurd.json"],
];

fn prepared() -> Place {
    let place = Place::new();
    place.file("broken.json", "{\"rows\": [");
    place.file("empty.json", "{\"rows\": []}");
    let run = r#"{"model_name": "gpt2", "seq_len": 1024, "gpu": "A100-80", "gpus": 8, "micro_batch": 1, "step_time_s": 1e-7}"#;
    place.file("absurd.json", format!("{{\"rows\": [{run}]}}"));
    let latin1 = place.file("latin1.json", "");
    fs::write(latin1, b"{\"model_type\": \"caf\xe9\"}").unwrap();
    place
}

/// Everything that is said to these questions, one after the other.
fn said(questions: &[&[&str]], language: &str, code: i32) -> String {
    let place = prepared();
    let mut all = String::new();
    for words in questions {
        let mut command = place.fermi(["plan"]);
        let ended = Run::whole(command.args(*words).env("FERMI_LANG", language).env("COLUMNS", "100")).expect(code);
        let text = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
        let text: Vec<&str> = text.lines().map(str::trim_end).collect();
        all += &format!("$ fermi plan {}\n{}\n\n", words.join(" "), text.join("\n").trim());
    }
    all
}

#[test]
fn plans_read_well_in_english() {
    insta::assert_snapshot!("plans_english", said(&ANSWERED, "en", 0));
}

#[test]
fn plans_read_well_in_chinese() {
    insta::assert_snapshot!("plans_chinese", said(&ANSWERED, "zh", 0));
}

#[test]
fn refusals_read_well_in_english() {
    insta::assert_snapshot!("refusals_english", said(&REFUSED, "en", 2));
}

#[test]
fn refusals_read_well_in_chinese() {
    insta::assert_snapshot!("refusals_chinese", said(&REFUSED, "zh", 2));
}

#[test]
fn a_chart_is_drawn_in_both_languages() {
    for (language, words) in [("en", "speed-up over one GPU"), ("zh", "相对单卡的加速比")] {
        let place = prepared();
        let path = place.path().join("chart.svg");
        let mut command = place.fermi(["plan", "scale", "--nodes-list", "2", "4", "--chart"]);
        Run::whole(command.arg(&path).env("FERMI_LANG", language)).expect(0);
        let drawn = fs::read_to_string(path).unwrap();
        assert!(drawn.starts_with("<svg") && drawn.contains(words) && !drawn.contains("NaN"), "{drawn}");
    }
}

#[test]
fn every_row_is_answered_in_its_place() {
    let place = prepared();
    let rows = r#"{"rows": [{"model_name": "gpt2", "seq_len": "1024", "gpu": "H100"}, 7, {"model_name": "gpt2", "gpu": null}]}"#;
    let path = place.file("rows.json", rows);
    let mut command = place.fermi(["plan", "predict", "--json", "--runs"]);
    let ended = Run::whole(command.arg(path)).expect(0);
    let answer: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    let rows = answer["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert!(rows[0]["step_time_s"].is_f64() && rows[1]["reason"].is_string() && rows[2]["reason"].is_string());
}
