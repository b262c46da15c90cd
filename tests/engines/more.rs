//! Further sizes and stages of what [`super`] trains; `make test-long` runs them.

use super::{
    ddp, ddp_goes_on_on_two_nodes, deepspeed, fsdp, is_divided, is_of_stage, is_sharded,
    job::{Fate, Storage, has},
    megatron, zero_2_goes_on_on_two_nodes,
};
use crate::support::Place;

#[test]
fn ddp_with_four_ranks_ends_alike_through_agents_and_under_fermi_run() {
    let job = ddp(&["--epochs", "6"]);
    let ours = job.under_run(&Place::new(), 4, Fate::Undisturbed);
    assert_eq!(ours.step, 6.0 * 16.0);
    job.through_agents(&[2, 2], Fate::Undisturbed, Storage::Own).is_as(&ours);
}

#[test]
fn ddp_on_unequal_nodes_goes_on_after_a_killed_rank() {
    let end = ddp(&["--epochs", "20"]).through_agents(&[1, 2], Fate::KilledAfter("epoch 2/20"), Storage::Shared);
    assert_eq!(end.step, 20.0 * 21.0);
}

#[test]
fn ddp_on_two_nodes_goes_on_with_the_folders_the_other_way_round() {
    ddp_goes_on_on_two_nodes(Storage::Shared, Storage::Own);
}

#[test]
fn fsdp_and_zero_2_go_on_from_a_shared_folder_through_agents() {
    let job = fsdp(&["--steps", "40", "--save-every", "10"]);
    let alone = job.under_run(&Place::new(), 2, Fate::Undisturbed);
    job.through_agents(&[1, 1], Fate::DiesAt(25, 20), Storage::Shared).is_as(&alone);
    zero_2_goes_on_on_two_nodes(Storage::Shared);
}

#[test]
fn fsdp_with_four_ranks_really_shards_on_unequal_nodes_and_under_fermi_run() {
    let job = fsdp(&["--steps", "40", "--save-every", "10"]);
    let ours = job.under_run(&Place::new(), 4, Fate::Undisturbed);
    let theirs = job.through_agents(&[1, 3], Fate::Undisturbed, Storage::Own);
    ours.is_as(&theirs);
    is_sharded(&ours, 0.3);
    is_sharded(&theirs, 0.3);
}

#[test]
fn zero_1_and_zero_3_end_alike_through_agents_and_under_fermi_run() {
    if !has("deepspeed", "deepspeed") {
        return;
    }
    let end = |stage: u32| {
        let job = deepspeed(stage, &["--steps", "40", "--save-every", "10"]);
        let ours = job.under_run(&Place::new(), 2, Fate::Undisturbed);
        is_of_stage(&ours, stage);
        let theirs = job.through_agents(&[1, 1], Fate::Undisturbed, Storage::Own);
        is_of_stage(&theirs, stage);
        ours.is_as(&theirs);
        ours
    };
    let (one, three) = (end(1), end(3));
    assert!((one.sum - three.sum).abs() < 1e-3, "ZeRO-1 ended at {}, ZeRO-3 at {}", one.sum, three.sum);
}

#[test]
fn megatron_core_with_the_cpu_shim_goes_on_after_a_killed_rank_through_agents() {
    if !has("megatron", "megatron.core") {
        return;
    }
    let end = megatron().through_agents(&[1, 1], Fate::DiesAt(25, 20), Storage::Own);
    assert_eq!(end.step, 40.0);
    is_divided(&end);
}
