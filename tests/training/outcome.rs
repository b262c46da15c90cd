//! What the Rust reader makes of a file, in the words of the shared cases.

use std::fs;
use std::path::{Path, PathBuf};

use fermi_domain::language::{Explained, FrontEnd};
use fermi_frameworks::training_yaml::{Facts, Mistakes, Resolved, ResolvedStrategy, TrainingYaml, read};
use serde_json::{Value, json};

/// A file with what it must come to.
pub struct Case {
    /// Folder and name, without an extension.
    pub name: String,
    pub yaml: PathBuf,
    pub facts: Value,
    pub expected: Value,
}

/// All shared cases, in the order of their names.
pub fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/training").canonicalize().unwrap();
    let folders = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> = folders
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    files.into_iter().map(|yaml| case(&root, yaml)).collect()
}

fn case(root: &Path, yaml: PathBuf) -> Case {
    let name = yaml.with_extension("").strip_prefix(root).unwrap().display().to_string();
    let text = fs::read_to_string(yaml.with_extension("json")).unwrap_or_else(|error| panic!("{name}: {error}"));
    let said: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    Case { name, yaml, facts: said["facts"].clone(), expected: said["expected"].clone() }
}

/// Reads a file under these facts.
pub fn outcome(file: &[u8], facts: &Value) -> Value {
    let facts = Facts {
        ranks: facts["ranks"].as_u64().unwrap().try_into().unwrap(),
        on_gpus: facts["gpus"].as_bool().unwrap(),
        model_parameters: facts["model_parameters"].as_u64(),
        deepspeed_file: facts["deepspeed_file"].as_object(),
    };
    match read(file).and_then(|file| Ok((file.resolve(facts)?, file))) {
        Ok((resolved, file)) => settings(&resolved, &file),
        Err(problems) => mistakes(&problems),
    }
}

fn settings(resolved: &Resolved, file: &TrainingYaml) -> Value {
    let (strategy, stage) = match resolved.strategy {
        ResolvedStrategy::Single => ("single", None),
        ResolvedStrategy::Ddp => ("ddp", None),
        ResolvedStrategy::DeepSpeed { stage } => ("deepspeed", stage),
        ResolvedStrategy::Fsdp => ("fsdp", None),
    };
    let batch = resolved.batch;
    let lines: Vec<String> = resolved.lines().into_iter().map(|line| line.en.into()).collect();
    let warnings: Vec<String> = resolved.warnings.iter().map(|warning| warning.en.clone().into()).collect();
    json!({
        "strategy": strategy,
        "stage": stage,
        "reason": resolved.reason.as_ref().map(|reason| reason.en.to_string()),
        "batch": {
            "micro": batch.micro,
            "accumulation": batch.accumulation,
            "data_parallel": batch.data_parallel,
            "effective": batch.global,
        },
        "precision": resolved.precision,
        "learning_rate": resolved.learning_rate,
        "backend": resolved.backend,
        "deepspeed_config": resolved.deepspeed_config,
        "warnings": warnings,
        "values": file.values(),
        "lines": lines,
    })
}

/// What a parser says is its own, so only that it says something is kept.
fn mistakes(problems: &Mistakes) -> Value {
    let mistake = |text: String| if text.starts_with("not YAML: ") { "not YAML".to_owned() } else { text };
    let mistakes: Vec<Value> = problems
        .0
        .iter()
        .map(|problem| {
            let text = mistake(problem.text().en.to_string());
            json!({"path": problem.path(), "text": text, "hint": problem.hint().unwrap().spelled(FrontEnd::CommandLine).en.to_string()})
        })
        .collect();
    json!({ "mistakes": mistakes })
}
