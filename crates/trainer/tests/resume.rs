//! A training that stopped goes on as if it had not.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "the helpers beside the tests are tests too")]

mod ranks;

use std::fs;
use std::path::Path;

use fermi_trainer::{TrainError, TrainerConfig};
use ranks::{losses, train_each, train_on};

fn config(folder: &Path) -> TrainerConfig {
    TrainerConfig {
        steps: 30,
        global_batch: 4,
        seq_len: Some(32),
        warmup: 5,
        checkpoint_dir: Some(folder.join("checkpoints")),
        checkpoint_every: 15,
        progress_file: Some(folder.join("progress.jsonl")),
        ..TrainerConfig::default()
    }
}

/// A run of 30 steps, as if it had been cut off after step 15.
fn cut_off_at_15(world_size: usize) -> (tempfile::TempDir, Vec<f64>, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut configs = vec![TrainerConfig { progress_file: None, ..config(folder.path()) }; world_size];
    configs[0] = config(folder.path());
    let outcome = train_each(&configs).remove(0);
    let curve = losses(&folder.path().join("progress.jsonl"));
    fs::remove_dir_all(folder.path().join("checkpoints/step-30")).unwrap();
    fs::remove_file(folder.path().join("progress.jsonl")).unwrap();
    (folder, curve, outcome.result.unwrap().parameter_checksum)
}

#[test]
fn a_resumed_run_ends_with_the_same_bits_as_one_that_never_stopped() {
    let (folder, straight, checksum) = cut_off_at_15(1);
    let again = train_on(1, &TrainerConfig { resume: true, ..config(folder.path()) }).remove(0);
    let summary = again.result.unwrap();
    assert_eq!((summary.resumed_from, summary.steps), (Some(15), 30));
    assert_eq!(f64::from(summary.first_loss) as f32, straight[0] as f32);
    assert_eq!(losses(&folder.path().join("progress.jsonl")), straight[15..]);
    assert_eq!(summary.parameter_checksum, checksum);
    assert!(again.output.contains("\nresumed from step 15\n"), "{}", again.output);
}

#[test]
fn ranks_without_the_disk_of_rank_0_resume_too_and_their_number_may_change() {
    let (folder, straight, _) = cut_off_at_15(2);
    let first = TrainerConfig { resume: true, ..config(folder.path()) };
    let other = TrainerConfig { checkpoint_dir: Some("/nowhere".into()), progress_file: None, ..first.clone() };
    let outcomes = train_each(&[first, other.clone(), other.clone(), other]);
    assert!(outcomes.iter().all(|outcome| outcome.result.as_ref().unwrap().resumed_from == Some(15)));
    for (resumed, straight) in losses(&folder.path().join("progress.jsonl")).iter().zip(&straight[15..]) {
        assert!((resumed - straight).abs() / straight < 1e-4, "{resumed} and {straight}");
    }
}

#[test]
fn a_damaged_checkpoint_costs_a_warning_and_not_the_run() {
    let (folder, _, checksum) = cut_off_at_15(1);
    fs::create_dir(folder.path().join("checkpoints/step-20")).unwrap();
    fs::write(folder.path().join("checkpoints/step-20/header.json"), "{").unwrap();
    let again = train_on(1, &TrainerConfig { resume: true, ..config(folder.path()) }).remove(0);
    assert!(again.output.contains("step-20 is not usable (header.json: "), "{}", again.output);
    let summary = again.result.unwrap();
    assert_eq!((summary.resumed_from, summary.parameter_checksum), (Some(15), checksum));
}

#[test]
fn a_checkpoint_of_another_training_is_refused_on_every_rank_with_the_reason() {
    let (folder, _, _) = cut_off_at_15(1);
    let different = TrainerConfig { resume: true, seq_len: Some(16), ..config(folder.path()) };
    for outcome in train_on(2, &different) {
        let sentence = outcome.result.unwrap_err().to_string();
        assert!(sentence.contains("it has sequence length 32, and this run asks for 16"), "{sentence}");
    }
}

#[test]
fn a_finished_run_has_nothing_left_to_do_and_still_knows_its_losses() {
    let folder = tempfile::tempdir().unwrap();
    let done = train_on(1, &config(folder.path())).remove(0).result.unwrap();
    let again = train_on(1, &TrainerConfig { resume: true, ..config(folder.path()) }).remove(0).result.unwrap();
    assert_eq!((again.first_loss, again.last_loss), (done.first_loss, done.last_loss));
    assert_eq!((again.resumed_from, again.parameter_checksum), (Some(30), done.parameter_checksum));
}

#[test]
fn resuming_with_no_checkpoint_yet_starts_at_the_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let config = TrainerConfig { steps: 2, resume: true, ..config(folder.path()) };
    let summary = train_on(2, &config).remove(0).result.unwrap();
    assert_eq!((summary.resumed_from, summary.steps), (None, 2));
}

#[test]
fn a_fresh_run_does_not_mix_with_an_earlier_one() {
    let (folder, _, _) = cut_off_at_15(1);
    let error = train_on(1, &config(folder.path())).remove(0).result.unwrap_err();
    assert!(matches!(error, TrainError::Checkpoint(_)), "{error:?}");
}

#[test]
fn a_progress_file_that_cannot_be_written_costs_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let config = TrainerConfig {
        steps: 2,
        checkpoint_dir: None,
        progress_file: Some(folder.path().join("missing/progress.jsonl")),
        ..config(folder.path())
    };
    let outcome = train_on(1, &config).remove(0);
    assert!(outcome.result.is_ok());
    assert!(outcome.output.contains("warning: the progress file cannot be written ("), "{}", outcome.output);
}
