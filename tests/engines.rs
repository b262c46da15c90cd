//! The real engines train the examples of this repository: through agents from a task's framework, and under
//! `fermi run --framework`. And each engine takes every file that was generated for it.
//!
//! They need the interpreter that `make venv` makes. What cannot be installed is named in FERMI_LEAVE_OUT (deepspeed,
//! jax, megatron) and said aloud; otherwise its absence fails these tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "the helpers beside the tests are tests too"
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use support::{Fleet, Place, Run, eventually, is_left_out, signal, torch_python};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn example(name: &str) -> String {
    repository().join("examples").join(name).to_str().unwrap().to_owned()
}

/// The folder of programs beside the interpreter first: DeepSpeed asks for ninja. What it compiles on first use lies
/// in the environment too. One thread each, since all nodes are this one machine.
fn engine_variables() -> [(&'static str, String); 3] {
    let bin = torch_python().parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let extensions = bin.with_file_name("torch_extensions").display().to_string();
    [("PATH", path), ("TORCH_EXTENSIONS_DIR", extensions), ("OMP_NUM_THREADS", "1".to_owned())]
}

/// Whether to go on: no, said aloud, where the engine was left out.
fn has(part: &str, module: &str) -> bool {
    if is_left_out(part) {
        return false;
    }
    let question = format!("import importlib.util as u; exit(u.find_spec('{module}') is None)");
    let found = Command::new(torch_python()).args(["-c", &question]).status().is_ok_and(|status| status.success());
    assert!(
        found,
        "there is no {module} beside torch: run `make venv`, or name it as left out: FERMI_LEAVE_OUT={part}"
    );
    true
}

/// Every number behind this word.
fn numbers(text: &str, word: &str) -> Vec<f64> {
    let behind = text.split(word).skip(1);
    let digits = |rest: &str| rest.chars().take_while(|c| c.is_ascii_digit() || "-.".contains(*c)).collect::<String>();
    behind.filter_map(|rest| digits(rest).trim_end_matches('.').parse().ok()).collect()
}

/// The steps that rank 0 has told, one line each.
fn steps(log: &str) -> Vec<f64> {
    log.lines().filter(|line| line.contains(" loss ")).map(|line| numbers(line, "step ")[0]).collect()
}

/// The line with which a rank of the examples ends.
fn last_line(text: &str) -> &str {
    text.lines().find(|line| line.contains("] done: step ")).unwrap_or_else(|| panic!("no last line in\n{text}"))
}

/// The step and the sum of all parameters at the end, the same on every rank; the loss that rank 0 saw fell.
fn trained_alike(logs: &[String]) -> (f64, f64) {
    let ends: Vec<(f64, f64)> = logs
        .iter()
        .map(|log| (numbers(last_line(log), "step ")[0], numbers(last_line(log), "parameters ")[0]))
        .collect();
    for end in &ends {
        assert_eq!(end, &ends[0], "the ranks disagree: {ends:?}");
    }
    let losses = numbers(&logs[0], " loss ");
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    assert!(last < 0.8 * first, "the loss did not fall: {losses:?}");
    ends[0]
}

// Through agents.

/// A task on all agents of the fleet; the checkpoints are on a disk that they share, as in a cluster.
fn create(fleet: &Fleet, framework: &str, script: &[&str], settings: Value, strategy: Value) -> String {
    let mut argv = vec![example(script[0])];
    argv.extend(script[1..].iter().map(|word| (*word).to_owned()));
    let mut env: serde_json::Map<String, Value> =
        engine_variables().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    env.insert("FERMI_CHECKPOINT_DIR".into(), fleet.place.path().join("shared").to_str().into());
    fleet.create(json!({
        "taskName": framework,
        "command": { "argv": argv, "env": env, "interpreter": torch_python() },
        "options": { "framework": settings },
        "policies": { "restart": { "maxRestarts": 1 } },
        "distributedConfig": { "framework": framework, "strategy": strategy },
    }))
}

/// Waits until rank 0 has passed a checkpoint, kills the last rank, and sees the next attempt go on from it to the end.
fn kill_and_resume(fleet: &Fleet, id: &str, ranks: u32, when: &str) -> f64 {
    fleet.says(id, 1, 0, when);
    let pid = eventually("the last rank to have a number", || {
        let known = fleet.get(&format!("/training-tasks/{id}/ranks"));
        known["items"].as_array()?.iter().find(|rank| rank["rank"] == ranks - 1)?["pid"].as_i64()
    });
    signal(pid as i32, libc::SIGKILL);
    fleet.says(id, 2, 0, "resumes at step ");
    fleet.says(id, 2, 0, "] done: step ");
    let task = fleet.task_is(id, "succeeded");
    let attempts = task["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2, "{attempts:#?}");
    let headline = attempts[0]["verdict"]["headline"]["en"].as_str().unwrap();
    assert!(headline.starts_with(&format!("rank {} on ", ranks - 1)) && headline.ends_with("SIGKILL"), "{headline}");

    let reached = steps(&fleet.log(id, 1, 0)).into_iter().fold(0.0, f64::max);
    let again = fleet.log(id, 2, 0);
    let resumed = numbers(&again, "resumes at step ")[0];
    assert!(resumed > 0.0 && resumed <= reached, "resumed at {resumed}, had reached {reached}");
    let next = steps(&again)[0];
    assert!(next > resumed, "step {next} was done twice: {again}");
    let mut logs: Vec<String> = (0..ranks).map(|rank| whole_log(fleet, id, 2, rank)).collect();
    logs[0].insert_str(0, &fleet.log(id, 1, 0));
    let (step, _) = trained_alike(&logs);
    assert!(step > resumed);
    fleet.assert_idle();
    step
}

fn whole_log(fleet: &Fleet, id: &str, attempt: u32, rank: u32) -> String {
    fleet.says(id, attempt, rank, "] done: step ");
    eventually("the end of the last line", || {
        Some(fleet.log(id, attempt, rank)).filter(|log| log.split("] done: step ").nth(1).unwrap().contains('\n'))
    })
}

#[test]
fn ddp_on_unequal_nodes_goes_on_after_a_killed_rank() {
    let fleet = Fleet::of(&[("small", 1), ("big", 2)]);
    let id = create(&fleet, "pytorch-ddp", &["train_ddp.py", "--epochs", "12"], json!({}), Value::Null);
    // 2,048 samples in batches of 32 on three ranks: 21 steps an epoch.
    assert_eq!(kill_and_resume(&fleet, &id, 3, "epoch 2/12"), 12.0 * 21.0);
}

#[test]
fn fsdp_over_two_nodes_goes_on_from_its_sharded_checkpoint() {
    let fleet = Fleet::of(&[("one", 1), ("two", 1)]);
    let script = ["train_fsdp.py", "--steps", "200", "--save-every", "20"];
    let id = create(&fleet, "pytorch-fsdp", &script, json!({"shardingStrategy": "FULL_SHARD"}), Value::Null);
    assert_eq!(kill_and_resume(&fleet, &id, 2, "step 40/200"), 200.0);
}

/// Small batches and a learning rate that shows within seconds.
fn deepspeed_settings(stage: u32) -> Value {
    json!({"zeroStage": stage, "learningRate": 0.003, "scheduler": "none", "microBatchSize": 16, "gradientAccumulationSteps": 1})
}

#[test]
fn deepspeed_zero_2_over_two_nodes_goes_on_from_its_checkpoint() {
    if !has("deepspeed", "deepspeed") {
        return;
    }
    let fleet = Fleet::of(&[("one", 1), ("two", 1)]);
    let script = ["train_deepspeed.py", "--steps", "200", "--save-every", "20"];
    let id = create(&fleet, "deepspeed", &script, deepspeed_settings(2), Value::Null);
    assert_eq!(kill_and_resume(&fleet, &id, 2, "step 40/200"), 200.0);
    assert!(fleet.log(&id, 2, 0).contains(", ZeRO-2, batch 32"), "the generated file was not the one that was read");
}

#[test]
fn jax_finds_its_processes_without_an_argument_and_goes_on_after_a_killed_one() {
    if !has("jax", "jax") {
        return;
    }
    let fleet = Fleet::of(&[("one", 1), ("two", 1)]);
    let script = ["train_jax.py", "--steps", "3000", "--save-every", "100"];
    let id = create(&fleet, "jax", &script, json!({}), Value::Null);
    assert_eq!(kill_and_resume(&fleet, &id, 2, "step 300/3000"), 3000.0);
    assert!(fleet.log(&id, 2, 1).contains("of 2 processes"));
}

/// megatron-core has no CPU of its own: the example replaces two of its calls where there is no CUDA (`shim_for_cpu`),
/// so this shows the layout and the launch, not Megatron-LM's own training loop.
#[test]
fn megatron_core_with_the_cpu_shim_divides_a_tiny_gpt_and_goes_on_after_a_killed_rank() {
    if !has("megatron", "megatron.core") {
        return;
    }
    let fleet = Fleet::of(&[("one", 2)]);
    let settings = json!({
        "numLayers": 2, "hiddenSize": 32, "numAttentionHeads": 4, "seqLength": 16, "microBatchSize": 4,
        "trainIters": 100, "saveInterval": 10, "learningRate": 0.01,
    });
    let strategy = json!({"dataParallel": 1, "pipelineParallel": 1, "tensorParallel": 2});
    let id = create(&fleet, "megatron-lm", &["train_megatron.py"], settings, strategy);
    assert_eq!(kill_and_resume(&fleet, &id, 2, "step 30/100"), 100.0);
    // Two layers of 12 x 32 x 32 and an embedding of 128 x 32: each part holds little more than half.
    let (held, whole) = (numbers(&fleet.log(&id, 2, 0), "holds ")[0], f64::from(2 * 12 * 32 * 32 + 128 * 32));
    assert!(held < 0.7 * whole, "rank 0 holds {held} of about {whole} parameters: nothing was divided");
}

// Under `fermi run`.

/// Runs an example and answers with what each rank wrote.
fn run(place: &Place, ranks: u32, options: &[&str], script: &[&str]) -> Vec<String> {
    let count = ranks.to_string();
    let mut command = place.run(["-n", &count]);
    command.args(options).arg(example(script[0])).args(&script[1..]).env("PYTHON_EXEC", torch_python());
    command.envs(engine_variables());
    Run::whole(&mut command).expect(0);
    place.assert_empty();
    (0..ranks).map(|rank| place.rank_text(0, rank, "stdout.log")).collect()
}

#[test]
fn ddp_with_four_ranks_under_fermi_run() {
    let place = Place::new();
    let logs = run(&place, 4, &["--framework", "pytorch-ddp"], &["train_ddp.py", "--epochs", "6"]);
    assert_eq!(trained_alike(&logs).0, 6.0 * 16.0);
    assert!(place.run_folder().join("launch/pytorch_ddp_config.yaml").is_file());
}

#[test]
fn fsdp_with_four_ranks_under_fermi_run_really_shards() {
    let options = ["--framework", "pytorch-fsdp", "--set", "shardingStrategy=FULL_SHARD"];
    let logs = run(&Place::new(), 4, &options, &["train_fsdp.py", "--steps", "60"]);
    trained_alike(&logs);
    for log in &logs {
        let (held, whole) = (numbers(last_line(log), "holds ")[0], numbers(last_line(log), " of ")[0]);
        assert!(held < 0.3 * whole, "holds {held} of {whole}");
    }
}

#[test]
fn deepspeed_zero_1_and_zero_3_under_fermi_run_end_at_the_same_parameters() {
    if !has("deepspeed", "deepspeed") {
        return;
    }
    let end = |stage: u32| {
        let settings = deepspeed_settings(stage);
        let set: Vec<String> = settings
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, value)| format!("{key}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            .collect();
        let options: Vec<&str> =
            ["--framework", "deepspeed"].into_iter().chain(set.iter().flat_map(|pair| ["--set", pair])).collect();
        let logs = run(&Place::new(), 2, &options, &["train_deepspeed.py", "--steps", "60"]);
        assert!(last_line(&logs[0]).ends_with(&format!("ZeRO-{stage}, batch 32")), "{}", last_line(&logs[0]));
        trained_alike(&logs)
    };
    let (one, three) = (end(1), end(3));
    assert!((one.1 - three.1).abs() < 1e-3, "ZeRO-1 ended at {one:?}, ZeRO-3 at {three:?}");
}

#[test]
fn jax_without_an_argument_under_fermi_run() {
    if !has("jax", "jax") {
        return;
    }
    let logs = run(&Place::new(), 2, &["--framework", "jax"], &["train_jax.py", "--steps", "100"]);
    assert_eq!(trained_alike(&logs).0, 100.0);
    assert!(last_line(&logs[1]).contains("of 2 processes"));
}

// What is generated.

/// One node, three unequal ones, two zones; GPUs under every rank.
const SCENES: [(&str, &[&str], u32); 3] = [
    ("one", &["gn6:4:10.0.0.6"], 4),
    ("three", &["gn6:2:10.0.0.6", "gn7:4:10.0.0.7", "gn8:8:10.0.0.8"], 14),
    ("zones", &["gn6:4:10.0.0.6:北京可用区A", "gn7:4:10.0.0.7:深圳可用区C"], 8),
];

/// Settings by which the files differ, for each framework that has files an engine reads.
const VARIANTS: [(&str, &str, &[&str]); 13] = [
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
    ("pytorch-fsdp", "full", &["--set", "shardingStrategy=FULL_SHARD", "--set", "precision=bf16"]),
    ("pytorch-fsdp", "grad-op", &["--set", "shardingStrategy=SHARD_GRAD_OP", "--set", "offloadParams=true"]),
    ("pytorch-fsdp", "cpu", &["--cpu"]),
    ("megatron-lm", "tp2", &["--tensor-parallel", "2", "--set", "sequenceParallel=true"]),
    ("megatron-lm", "pp2", &["--pipeline-parallel", "2", "--set", "globalBatchSize=56"]),
    ("megatron-lm", "with-deepspeed", &["--tensor-parallel", "2", "--set", "deepspeed={\"zeroStage\":1}"]),
];

fn generate(place: &Place, out: &Path) {
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
fn accepted(place: &Place, folder: &Path, without: &[&str]) -> support::Ended {
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
    let scenes = SCENES.len();
    // Seven DeepSpeed variants have a JSON and a host file each, Megatron's three a host file and one a JSON.
    assert_eq!(count("deepspeed"), if has_deepspeed { scenes * (7 * 2 + 3 + 1) } else { 0 }, "{said}");
    assert_eq!(count("accelerate"), scenes * (7 + 3), "{said}");
    assert_eq!(count("megatron"), if has_megatron { scenes * 3 } else { 0 }, "{said}");
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
