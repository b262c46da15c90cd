//! The built-in trainer under `fermi run`: it learns, all ranks hold the same model, and a fault changes nothing.

use std::fs;

use crate::support::{Ended, Place, Run};
use serde_json::Value;

fn train(place: &Place, options: &[&str], arguments: &[&str]) -> Ended {
    let mut command = place.run(options);
    command.args(["--no-python", "fermi", "trainer", "--global-batch", "8", "--seq-len", "32"]).args(arguments);
    Run::whole(&mut command).expect(0)
}

/// The losses that rank 0 reported in an attempt, by step.
fn losses(place: &Place, attempt: u32) -> Vec<(u64, f64)> {
    let text = place.rank_text(attempt, 0, "progress.ndjson");
    let value = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    text.lines().map(value).map(|line| (line["step"].as_u64().unwrap(), line["loss"].as_f64().unwrap())).collect()
}

/// The checksum of the parameters with which a rank ended.
fn checksum(place: &Place, attempt: u32, rank: u32) -> String {
    let text = place.rank_text(attempt, rank, "stdout.log");
    let last = text.lines().rfind(|line| line.contains("parameters ")).unwrap_or_else(|| panic!("{text}"));
    last.rsplit("parameters ").next().unwrap().trim().to_owned()
}

#[test]
fn the_same_global_batch_gives_the_same_losses_on_one_two_and_four_ranks() {
    const STEPS: usize = 40;
    let runs: Vec<Vec<(u64, f64)>> = ["1", "2", "4"]
        .into_iter()
        .map(|ranks| {
            let place = Place::new();
            train(&place, &["-n", ranks], &["--steps", &STEPS.to_string()]);
            let ranks: u32 = ranks.parse().unwrap();
            for rank in 1..ranks {
                assert_eq!(
                    checksum(&place, 0, rank),
                    checksum(&place, 0, 0),
                    "rank {rank} of {ranks} has another model"
                );
            }
            losses(&place, 0)
        })
        .collect();
    for losses in &runs {
        assert_eq!(losses.len(), STEPS);
        let (first, last) = (losses[0].1, losses[STEPS - 1].1);
        assert!(last < first * 0.8, "the loss falls: {first} to {last}");
        for (one, other) in runs[0].iter().zip(losses) {
            assert_eq!(one.0, other.0);
            // Sums over ranks are rounded in another order.
            assert!((one.1 - other.1).abs() <= 2e-3 * one.1, "step {}: {} and {}", one.0, one.1, other.1);
        }
    }
}

#[test]
fn a_rank_that_aborts_costs_no_step_and_no_digit_after_the_restart() {
    const ARGUMENTS: [&str; 4] = ["--steps", "50", "--checkpoint-every", "10"];
    let undisturbed = Place::new();
    train(&undisturbed, &["-n", "2"], &ARGUMENTS);
    let disturbed = Place::new();
    let arguments = [&ARGUMENTS[..], &["--fault", "1:34:abort"]].concat();
    let ended = train(&disturbed, &["-n", "2", "--max-restarts", "1"], &arguments);
    ended.says(&["rank 1 on", "restarting: attempt 2, restart 1 of 1"]);

    let resumed = losses(&disturbed, 1);
    assert_eq!(resumed.first().map(|(step, _)| *step), Some(31), "it goes on behind the checkpoint of step 30");
    assert_eq!(resumed.last().map(|(step, _)| *step), Some(50));
    assert_eq!(checksum(&disturbed, 1, 0), checksum(&undisturbed, 0, 0));
    assert_eq!(checksum(&disturbed, 1, 1), checksum(&undisturbed, 0, 0));
    let checkpoints = fs::read_dir(disturbed.run_folder().join("outputs/checkpoints")).unwrap().count();
    assert!(checkpoints > 0);
}

/// Started without a launcher, with what one would have set in part.
#[test]
fn what_is_wrong_with_a_trainer_is_said_in_the_readers_language() {
    let place = Place::new();
    let trainer = |language: &str, words: &[&str], variables: &[(&str, &str)]| {
        let mut command = place.fermi(["trainer"].iter().chain(words));
        Run::whole(command.env("FERMI_LANG", language).envs(variables.iter().copied())).expect(2)
    };
    let lone = [("WORLD_SIZE", "2")];
    trainer("en", &[], &lone).says(&["error: RANK must be a number, it is not set", "hint: start it with fermi run"]);
    trainer("zh", &[], &lone).says(&["错误：RANK 必须是数字，现在没有设置", "提示：用 fermi run 启动"]);
    trainer("en", &["--steps", "0"], &[]).says(&["error: 0 steps train nothing", "hint: ask for at least 1"]);
    trainer("zh", &["--steps", "0"], &[]).says(&["错误：0 步训练不了什么", "提示：至少为 1"]);
    trainer("en", &["--preset", "huge"], &[]).says(&["use tiny, small or base"]);
    trainer("zh", &["--preset", "huge"], &[]).says(&["tiny、small、base"]);
}

#[test]
fn accumulation_of_small_batches_ends_at_the_same_loss() {
    let (whole, parts) = (Place::new(), Place::new());
    train(&whole, &["-n", "2"], &["--steps", "15"]);
    train(&parts, &["-n", "2"], &["--steps", "15", "--micro-batch", "1"]);
    let (whole, parts) = (losses(&whole, 0), losses(&parts, 0));
    assert!((whole[14].1 - parts[14].1).abs() <= 2e-3 * whole[14].1, "{whole:?} {parts:?}");
}
