//! `fermi train`: recipes run as ranks of a run, what cannot be is said before any of them starts, and a killed training
//! goes on. All of it needs an interpreter with torch and transformers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Fleet, Place, Run, eventually, torch_python};
use serde_json::{Value, json};

const SETTINGS: &str = "\
model: {name_or_path: preset:tiny, max_length: 32}
data: {train: data.jsonl}
training:
  per_device_train_batch_size: 2
  max_steps: 6
  save_steps: 2
  logging_steps: 1
  experiment_name: tiny
";

fn with_data(place: &Place) {
    let row = |index: u32| format!("{{\"prompt\": \"{index}:\", \"completion\": \"{}\"}}\n", index * 7919);
    place.file("data.jsonl", (0..48).map(row).collect::<String>());
    place.file("training.yaml", SETTINGS);
}

fn train(place: &Place, options: &[&str]) -> Command {
    let mut command = place.fermi(["train", "--config", "training.yaml"]);
    command.args(options).env("PYTHON_EXEC", torch_python()).env("OMP_NUM_THREADS", "1").env("HF_HUB_OFFLINE", "1");
    command.env("GLOO_SOCKET_IFNAME", "lo");
    command
}

/// The step of the newest checkpoint that is whole; others have a longer name while they are written.
fn latest(place: &Place) -> Option<u64> {
    let entries = fs::read_dir(place.work().join("outputs/tiny/checkpoints")).ok()?.flatten();
    let step = |name: std::ffi::OsString| name.to_str()?.strip_prefix("step-")?.parse().ok();
    entries.filter_map(|entry| step(entry.file_name())).max()
}

#[test]
fn two_ranks_learn_and_a_run_that_was_killed_goes_on_where_it_was() {
    let place = Place::new();
    with_data(&place);
    let endless = ["-n", "2", "--set", "training.max_steps=100000", "--set", "training.save_total_limit=2"];
    let run = Run::start(&mut train(&place, &endless));
    eventually("a checkpoint", || latest(&place));
    run.signal(9);
    run.ended();
    // A checkpoint may still be finished until the last of them is gone.
    eventually("the end of all its processes", || place.alive().is_empty().then_some(()));
    let reached = latest(&place).unwrap();

    let last = reached + 2;
    let steps = format!("training.max_steps={last}");
    let more = ["-n", "2", "--set", &steps, "--set", "training.resume_from_checkpoint=latest"];
    Run::whole(&mut train(&place, &more)).expect(0);
    assert_eq!(latest(&place), Some(last));
    assert!(place.work().join("outputs/tiny/model/config.json").is_file());
    // It did not begin again: the first step of the second run is the one behind the checkpoint.
    let folder = place.run_folders().pop().unwrap();
    let progress = fs::read_to_string(folder.join("attempt_0/1/progress.ndjson")).unwrap();
    let lines = progress.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let steps = lines.filter(|line| line["loss"].is_number()).filter_map(|line| line["step"].as_u64());
    assert_eq!(steps.min(), Some(reached + 1), "{progress}");
}

#[test]
fn what_the_recipe_does_not_obey_is_refused_before_any_rank_starts() {
    let place = Place::new();
    with_data(&place);
    for (options, said) in [
        (&["--set", "recipe.num_generations=4"][..], "recipe.num_generations of training.yaml would have no effect"),
        (&["--set", "recipe.bata=1", "--algorithm", "dpo"][..], "did you mean recipe.beta?"),
        (&["--algorithm", "grpo"][..], "there is no reward"),
        (&["--algorithm", "sfx"][..], "there is no algorithm 'sfx'"),
        (&["train.py"][..], "a script of your own is for fermi run"),
        (&["-m"][..], "so that --module would have no effect"),
        (&["--no-python", "prepare"][..], "so that --no-python would have no effect"),
    ] {
        let ended = Run::whole(&mut train(&place, options)).expect(2);
        assert!(ended.err().contains(said), "{options:?}: {}", ended.err());
    }
    assert_eq!(place.run_folders(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_missing_library_is_said_with_the_line_that_brings_it() {
    let place = Place::new();
    with_data(&place);
    // This Python has nothing but its standard library.
    let bare = place.file("bare", format!("#!/bin/sh\nexec {} -S \"$@\"\n", torch_python().display()));
    fs::set_permissions(&bare, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = Run::whole(train(&place, &[]).env("PYTHON_EXEC", &bare)).expect(2);
    ended.says(&["yaml, transformers, pyarrow, numpy", "are not installed", "-m pip install 'PyYAML>=6.0'"]);
    assert!(place.run_folders().is_empty());
}

#[test]
fn a_dry_run_shows_the_ranks_and_the_settings_that_they_read() {
    let place = Place::new();
    with_data(&place);
    let options = ["--algorithm", "sft", "-n", "2", "--dry-run", "--json", "--set", "training.max_steps=9"];
    let ended = Run::whole(&mut train(&place, &options)).expect(0);
    let shown: Value = serde_json::from_str(&ended.out()).unwrap();
    let argv: Vec<&str> = shown["ranks"][1]["argv"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(argv[2].contains("/recipes/") && argv[3..] == ["--algorithm", "sft"], "{argv:?}");
    let files = shown["files"].as_array().unwrap();
    let file = files.iter().find(|file| file["path"].as_str().unwrap().ends_with("training.json")).unwrap();
    let settings: Value = serde_json::from_str(file["text"].as_str().unwrap()).unwrap();
    assert_eq!(settings["training"]["max_steps"], 9);
    assert_eq!(shown["ranks"][0]["env"]["FERMI_TRAINING_FILE"], file["path"]);
}

#[test]
fn a_task_trains_by_a_recipe_on_several_environments() {
    let fleet = Fleet::of(&[("gn6", 1), ("gn7", 1)]);
    let data = fleet.place.file("data.jsonl", "{\"prompt\": \"a:\", \"completion\": \"b\"}\n".repeat(16));
    let variables = json!({"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"});
    let task = fleet.create(json!({
        "taskName": "a recipe",
        "recipe": {"name": "sft", "interpreter": torch_python(), "env": variables},
        "options": {"training": {
            "model": {"name_or_path": "preset:tiny", "max_length": 32},
            "data": {"train": data},
            "training": {"per_device_train_batch_size": 1, "max_steps": 2, "save_strategy": "no"},
        }},
        "distributedConfig": {"framework": "pytorch-ddp"},
    }));
    fleet.task_is(&task, "succeeded");
    let said = fleet.get(&format!("/training-tasks/{task}/logs?rank=0&tail=100")).to_string();
    assert!(said.contains("sft: ddp x 2"), "{said}");
}
