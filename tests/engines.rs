//! The real engines train the examples of this repository: through agents, under `fermi run --framework`, and by the
//! launcher that each engine brings along, where the same steps end at the same parameters. And each engine takes every
//! file that was generated for it.
//!
//! They need the interpreter that `make venv` makes. What cannot be installed is named in FERMI_LEAVE_OUT (deepspeed,
//! jax, megatron, mpirun) and said aloud; otherwise its absence fails these tests.

mod generated;
pub mod job;
mod more;
pub mod said;

use std::path::Path;

use crate::support::{Place, is_left_out, torch_python};
use job::{Fate, Job, SharedMemory, Storage, beside_python, free_port, has};
use said::{End, last_line, numbers};
use serde_json::{Value, json};

const TORCHRUN: [&str; 7] = ["--standalone", "--nproc-per-node", "2", "--redirects", "3", "--log-dir", "logs"];

fn job(framework: &'static str, script: &'static str, words: &'static [&'static str], settings: Value) -> Job {
    Job { framework, python: torch_python(), script, words, settings, tensor_parallel: 1 }
}

/// 2,048 samples in batches of 32: 32 steps an epoch on two ranks, 21 on three, 16 on four.
fn ddp(words: &'static [&'static str]) -> Job {
    job("pytorch-ddp", "train_ddp.py", words, json!({}))
}

#[test]
fn ddp_with_two_ranks_ends_alike_through_agents_after_a_kill_and_by_torchrun() {
    let (job, place) = (ddp(&["--epochs", "3"]), Place::new());
    let theirs = job.by_launcher(&beside_python("torchrun"), &TORCHRUN, &[]);
    assert_eq!(theirs.step, 3.0 * 32.0);
    job.under_run(&place, 2, Fate::DiesAt(40, 32)).is_as(&theirs);
    assert!(place.run_folder().join("launch/pytorch_ddp_config.yaml").is_file());
    job.through_agents(&[1, 1], Fate::Undisturbed, Storage::Own).is_as(&theirs);
}

/// The last rank is killed at step 150 of 320, 22 steps behind the checkpoint of step 128, in whatever way it is started.
fn ddp_goes_on_on_two_nodes(under_run: Storage, through_agents: Storage) {
    let job = ddp(&[]);
    let alone = job.under_run(&Place::new(), 2, Fate::Undisturbed);
    job.under_run_on_two_nodes(Fate::DiesAt(150, 128), under_run).is_as(&alone);
    job.through_agents(&[1, 1], Fate::DiesAt(150, 128), through_agents).is_as(&alone);
}

#[test]
fn ddp_on_two_nodes_goes_on_from_one_step_with_a_shared_folder_and_without() {
    ddp_goes_on_on_two_nodes(Storage::Own, Storage::Shared);
}

/// Whichever rank is killed, wherever the nodes then are in their saving.
#[test]
fn ddp_on_unequal_nodes_without_a_shared_folder_goes_on_after_a_killed_rank() {
    let end = ddp(&["--epochs", "20"]).through_agents(&[2, 1], Fate::KilledAfter("epoch 2/20"), Storage::Own);
    assert_eq!(end.step, 20.0 * 21.0);
}

fn fsdp(words: &'static [&'static str]) -> Job {
    let settings = json!({"shardingStrategy": "FULL_SHARD"});
    job("pytorch-fsdp", "train_fsdp.py", words, settings)
}

/// No rank holds more than this share of the parameters.
fn is_sharded(end: &End, share: f64) {
    for log in &end.logs {
        let (held, whole) = (numbers(last_line(log), "holds ")[0], numbers(last_line(log), " of ")[0]);
        assert!(held < share * whole, "holds {held} of {whole}");
    }
}

#[test]
fn fsdp_with_two_ranks_ends_alike_after_a_kill_and_by_torchrun() {
    let job = fsdp(&["--steps", "40", "--save-every", "10"]);
    let theirs = job.by_launcher(&beside_python("torchrun"), &TORCHRUN, &[]);
    let ours = job.under_run(&Place::new(), 2, Fate::DiesAt(25, 20));
    ours.is_as(&theirs);
    is_sharded(&ours, 0.6);
    job.through_agents(&[1, 1], Fate::DiesAt(25, 20), Storage::Own).is_as(&theirs);
}

/// Small batches and a learning rate that shows within seconds.
fn deepspeed(stage: u32, words: &'static [&'static str]) -> Job {
    let settings = json!({
        "zeroStage": stage, "learningRate": 0.003, "scheduler": "none", "microBatchSize": 16,
        "gradientAccumulationSteps": 1,
    });
    job("deepspeed", "train_deepspeed.py", words, settings)
}

/// The generated file was the one that was read.
fn is_of_stage(end: &End, stage: u32) {
    for log in &end.logs {
        assert!(last_line(log).ends_with(&format!("ZeRO-{stage}, batch 32")), "{}", last_line(log));
    }
}

#[test]
fn zero_2_ends_alike_after_a_kill_and_by_deepspeeds_launcher() {
    if !has("deepspeed", "deepspeed") {
        return;
    }
    let (job, place, port) = (deepspeed(2, &["--steps", "40", "--save-every", "10"]), Place::new(), free_port());
    let ours = job.under_run(&place, 2, Fate::DiesAt(25, 20));
    is_of_stage(&ours, 2);
    let _left = SharedMemory(&port);
    let options = ["--num_gpus", "2", "--master_port", &port, "--enable_each_rank_log", "logs"];
    let config = place.run_folder().join("launch/ds_config.json");
    let words = ["--deepspeed_config", config.to_str().unwrap()];
    job.by_launcher(&beside_python("deepspeed"), &options, &words).is_as(&ours);
}

/// Killed while it saves, more often than not.
fn zero_2_goes_on_on_two_nodes(storage: Storage) {
    if !has("deepspeed", "deepspeed") {
        return;
    }
    let job = deepspeed(2, &["--steps", "200", "--save-every", "20"]);
    let end = job.through_agents(&[1, 1], Fate::KilledAfter("step 40/200"), storage);
    assert_eq!(end.step, 200.0);
    is_of_stage(&end, 2);
}

#[test]
fn zero_2_goes_on_from_a_checkpoint_that_all_ranks_have_written() {
    zero_2_goes_on_on_two_nodes(Storage::Own);
}

#[test]
fn jax_without_an_argument_ends_alike_after_a_killed_process_and_by_mpirun() {
    if !has("jax", "jax") {
        return;
    }
    let job = job("jax", "train_jax.py", &["--steps", "60", "--save-every", "10"], json!({}));
    let ours = job.under_run(&Place::new(), 2, Fate::DiesAt(35, 30));
    assert_eq!(ours.step, 60.0);
    let theirs = job.through_agents(&[1, 1], Fate::DiesAt(35, 30), Storage::Own);
    theirs.is_as(&ours);
    assert!(last_line(&theirs.logs[1]).contains("of 2 processes"));
    if !is_left_out("mpirun") {
        let loopback = ["--allow-run-as-root", "--oversubscribe", "--mca", "oob_tcp_if_include", "lo"];
        let mut options = loopback.to_vec();
        options.extend(["-np", "2", "--output-filename", "logs", torch_python().to_str().unwrap()]);
        job.by_launcher(Path::new("mpirun"), &options, &[]).is_as(&ours);
    }
}

/// megatron-core has no CPU of its own: the example replaces two of its calls where there is no CUDA (`shim_for_cpu`),
/// so this shows the layout and the launch, not Megatron-LM's own training loop.
fn megatron() -> Job {
    let settings = json!({
        "numLayers": 2, "hiddenSize": 32, "numAttentionHeads": 4, "seqLength": 16, "microBatchSize": 4,
        "trainIters": 40, "saveInterval": 10, "learningRate": 0.01,
    });
    Job { tensor_parallel: 2, ..job("megatron-lm", "train_megatron.py", &[], settings) }
}

/// Two layers of 12 x 32 x 32 and an embedding of 128 x 32: each part holds little more than half.
fn is_divided(end: &End) {
    let whole = f64::from(2 * 12 * 32 * 32 + 128 * 32);
    for log in &end.logs {
        let held = numbers(last_line(log), "holds ")[0];
        assert!(held < 0.65 * whole, "a tensor parallel part holds {held} of about {whole}");
    }
}

#[test]
fn megatron_core_with_the_cpu_shim_ends_alike_after_a_kill_and_by_torchrun() {
    if !has("megatron", "megatron.core") {
        return;
    }
    let job = megatron();
    let ours = job.under_run(&Place::new(), 2, Fate::DiesAt(25, 20));
    is_divided(&ours);
    let words = ["--tensor-model-parallel-size", "2", "--train-iters", "40", "--save-interval", "10"];
    job.by_launcher(&beside_python("torchrun"), &TORCHRUN, &words).is_as(&ours);
}
