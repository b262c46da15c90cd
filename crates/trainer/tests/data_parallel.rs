//! Any number of ranks computes the same training.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "the helpers beside the tests are tests too")]

mod ranks;

use fermi_trainer::{Fault, FaultKind, TrainError, TrainerConfig};
use ranks::{losses, train_each, train_on};

fn short() -> TrainerConfig {
    TrainerConfig { steps: 20, global_batch: 8, seq_len: Some(32), warmup: 5, ..TrainerConfig::default() }
}

/// The losses that a world reports, after a look at what all its ranks must agree on.
fn curve(world_size: usize, micro_batch: Option<usize>) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let file = |rank: usize| folder.path().join(format!("rank-{rank}.jsonl"));
    let configs: Vec<TrainerConfig> =
        (0..world_size).map(|rank| TrainerConfig { micro_batch, progress_file: Some(file(rank)), ..short() }).collect();
    let summaries: Vec<_> = train_each(&configs).into_iter().map(|outcome| outcome.result.unwrap()).collect();
    assert!(summaries.iter().all(|summary| summary.parameter_checksum == summaries[0].parameter_checksum));
    let curve = losses(&file(0));
    assert_eq!(curve.len(), 20);
    assert!((1..world_size).all(|rank| losses(&file(rank)) == curve), "every rank reports the global loss");
    assert!((curve[19] - f64::from(summaries[0].last_loss)).abs() < 1e-6);
    curve
}

fn assert_same(left: &[f64], right: &[f64], what: &str) {
    for (step, (left, right)) in left.iter().zip(right).enumerate() {
        assert!((left - right).abs() / left < 1e-4, "{what}, step {}: {left} and {right}", step + 1);
    }
}

#[test]
fn one_two_and_four_ranks_compute_the_same_losses() {
    let alone = curve(1, None);
    assert!(alone[19] < alone[0] - 0.5, "the loss falls: {alone:?}");
    assert_same(&alone, &curve(2, None), "2 ranks");
    assert_same(&alone, &curve(4, None), "4 ranks");
}

#[test]
fn accumulation_on_one_rank_computes_what_four_ranks_compute() {
    let four_ranks = curve(4, Some(2));
    assert_same(&curve(1, Some(2)), &four_ranks, "1 rank with 4 micro-batches");
    assert_same(&curve(2, Some(1)), &four_ranks, "2 ranks with 4 micro-batches each");
}

#[test]
fn rank_0_tells_the_story_and_the_others_come_and_go() {
    let outcomes = train_on(2, &TrainerConfig { log_every: 10, ..short() });
    let lines: Vec<&str> = outcomes[0].output.lines().collect();
    let starts =
        ["training the tiny model (", "step  1/20  loss 5.", "step 10/20  loss ", "step 20/20  loss ", "done: loss 5."];
    assert_eq!(lines.len(), starts.len(), "{lines:?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
    let checksum = &outcomes[0].result.as_ref().unwrap().parameter_checksum;
    assert_eq!(outcomes[1].output, format!("rank 1 of 2 starting\nrank 1 done, parameters {checksum}\n"));
}

#[test]
fn a_batch_that_cannot_be_shared_is_refused_on_every_rank() {
    for outcome in train_on(3, &short()) {
        let sentence = outcome.result.unwrap_err().to_string();
        assert_eq!(sentence, "a global batch of 8 samples cannot be shared evenly by 3 ranks; 6 or 9 would work");
    }
}

#[test]
fn a_rank_that_fails_says_so_and_the_others_name_it() {
    let fault = Some(Fault { rank: 1, step: 3, kind: FaultKind::Error });
    let mut outcomes = train_on(2, &TrainerConfig { fault, ..short() });
    let failed = outcomes.remove(1).result.unwrap_err();
    assert!(matches!(failed, TrainError::InjectedFault { rank: 1, step: 3 }), "{failed:?}");
    match outcomes.remove(0).result.unwrap_err() {
        TrainError::Collective { step: 3, source } => assert_eq!(source.rank(), 1),
        other => panic!("{other:?}"),
    }
}

#[test]
fn ranks_that_trained_on_different_things_are_found_out() {
    let odd = TrainerConfig { weight_decay: 0.5, ..short() };
    for outcome in train_each(&[short(), odd]) {
        let error = outcome.result.unwrap_err();
        assert!(matches!(error, TrainError::RanksDisagree { .. }), "{error:?}");
    }
}

#[test]
fn a_learning_rate_that_explodes_is_an_error_and_not_a_model() {
    let outcomes = train_on(1, &TrainerConfig { lr: Some(1e30), clip: 1e30, warmup: 0, ..short() });
    let error = outcomes[0].result.as_ref().unwrap_err();
    assert!(matches!(error, TrainError::Diverged { .. }), "{error:?}");
}
