//! Whole worlds on loopback: what every operation gives on every rank, and what a broken world says.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "the helpers beside the tests are tests too")]

mod world;

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fermi_collective::OperationError;
use fermi_collective::bench::{self, Measured, TcpBuffers};
use proptest::prelude::*;
use world::run_world;

/// Values whose sum depends on the order of the additions, so that equal bits on all ranks mean something.
fn value(rank: usize, index: usize) -> f32 {
    ((rank * 7919 + index * 104_729) % 10_007) as f32 * 1.000_1 - 3000.0
}

fn assert_sums(world_size: usize, length: usize) {
    let results = run_world(world_size, |mut world| {
        let mut values: Vec<f32> = (0..length).map(|index| value(world.rank(), index)).collect();
        world.all_reduce_sum(&mut values).unwrap();
        values
    });
    for (index, sum) in results[0].iter().enumerate() {
        let expected: f64 = (0..world_size).map(|rank| f64::from(value(rank, index))).sum();
        assert!((f64::from(*sum) - expected).abs() < 0.05, "value {index} of {length} in a world of {world_size}");
    }
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    for other in &results[1..] {
        assert_eq!(bits(&results[0]), bits(other));
    }
}

#[test]
fn sums_are_right_and_have_the_same_bits_on_every_rank() {
    for world_size in [1, 2, 3, 4, 5] {
        for length in [0, 1, world_size - 1, world_size, 1000] {
            assert_sums(world_size, length);
        }
    }
}

#[test]
fn buffers_far_larger_than_the_sockets_cannot_stop_the_ring() {
    assert_sums(2, 5 << 20);
    assert_sums(3, 1 << 20);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_length_is_summed_in_any_world(world_size in 2usize..6, length in 0usize..5000) {
        assert_sums(world_size, length);
    }
}

#[test]
fn a_broadcast_gives_every_rank_the_values_of_any_root() {
    for world_size in [1, 2, 3, 5] {
        for root in 0..world_size {
            let results = run_world(world_size, |mut world| {
                let mut values: Vec<f32> = (0..200_000).map(|index| value(world.rank(), index)).collect();
                world.broadcast(root, &mut values).unwrap();
                (values[0], values[199_999])
            });
            assert_eq!(results, vec![(value(root, 0), value(root, 199_999)); world_size]);
        }
    }
}

#[test]
fn all_gather_brings_blobs_of_any_length_in_the_order_of_the_ranks() {
    for world_size in [1, 2, 3, 4, 5] {
        let expected: Vec<Vec<u8>> = (0..world_size).map(|rank| vec![rank as u8; rank * 1000]).collect();
        let results = run_world(world_size, |mut world| {
            let rank = world.rank();
            world.all_gather(&vec![rank as u8; rank * 1000]).unwrap()
        });
        assert!(results.iter().all(|result| *result == expected));
    }
}

#[test]
fn nobody_passes_a_barrier_before_all_have_come() {
    let arrived = AtomicUsize::new(0);
    run_world(4, |mut world| {
        for round in 1..=20 {
            arrived.fetch_add(1, Ordering::SeqCst);
            world.barrier().unwrap();
            assert!(arrived.load(Ordering::SeqCst) >= round * 4);
        }
    });
}

#[test]
fn a_dead_rank_is_named_by_its_neighbours_and_nobody_hangs() {
    let start = Instant::now();
    let met = Barrier::new(4);
    let errors = run_world(4, |mut world| {
        let mut values = vec![1.0; 1 << 20];
        world.all_reduce_sum(&mut values).unwrap();
        met.wait();
        if world.rank() == 3 {
            return None;
        }
        Some((0..100).find_map(|_| world.all_reduce_sum(&mut values).err()).expect("rank 3 is dead"))
    });
    assert!(start.elapsed() < Duration::from_secs(10));
    // Whoever fails first can only have seen rank 3; the others may see each other fall.
    let sentences: Vec<String> = errors.iter().flatten().map(ToString::to_string).collect();
    assert!(
        sentences.iter().any(|sentence| sentence == "connection to rank 3 lost during all-reduce"),
        "{sentences:?}"
    );
    assert!(errors[..3].iter().all(|error| matches!(error, Some(OperationError::Lost { .. }))));
}

#[test]
fn a_silent_rank_is_named_after_the_time_out() {
    let errors = run_world(2, |mut world| {
        world.set_operation_timeout(Duration::from_millis(200));
        if world.rank() == 1 {
            thread::sleep(Duration::from_millis(600));
            return None;
        }
        world.barrier().err()
    });
    let error = errors[0].as_ref().unwrap();
    assert!(matches!(error, OperationError::Silent { rank: 1, .. }), "{error}");
}

#[test]
fn ranks_that_do_different_things_are_told_so() {
    let errors = run_world(2, |mut world| {
        if world.rank() == 0 { world.barrier().err() } else { world.all_reduce_sum(&mut [1.0, 2.0]).err() }
    });
    let sentences: Vec<String> = errors.iter().flatten().map(ToString::to_string).collect();
    assert!(sentences.iter().any(|sentence| sentence.contains("is out of step")), "{sentences:?}");
    assert_eq!(sentences.len(), 2);
}

#[test]
fn a_failed_communicator_keeps_failing() {
    let outcomes = run_world(2, |mut world| {
        if world.rank() == 1 {
            return true;
        }
        world.barrier().is_err() && world.barrier().is_err() && world.all_reduce_sum(&mut [0.0; 9]).is_err()
    });
    assert!(outcomes.into_iter().all(|outcome| outcome));
}

#[test]
fn a_root_that_does_not_exist_is_refused() {
    let error = run_world(1, |mut world| world.broadcast(1, &mut [0.0]).unwrap_err()).remove(0);
    assert_eq!(error.to_string(), "there is no rank 1 to broadcast from in a world of 1");
}

#[test]
fn reduce_scatter_gives_each_rank_its_part_and_all_gather_brings_the_parts_to_all() {
    for world_size in [1, 2, 3, 5] {
        for length in [0, 1, world_size, 1003] {
            let results = run_world(world_size, |mut world| {
                let mut values: Vec<f32> = (0..length).map(|index| (world.rank() + index) as f32).collect();
                let own = world.reduce_scatter_sum(&mut values).unwrap().to_vec();
                let start = world.rank() * length / world_size;
                let mut gathered = vec![-1.0; length];
                gathered[start..start + own.len()].copy_from_slice(&own);
                world.all_gather_values(&mut gathered).unwrap();
                gathered
            });
            let ranks: usize = (0..world_size).sum();
            let expected: Vec<f32> = (0..length).map(|index| (ranks + world_size * index) as f32).collect();
            assert!(results.iter().all(|result| *result == expected), "{length} values in a world of {world_size}");
        }
    }
}

#[test]
fn every_operation_is_measured_and_right() {
    for world_size in [1, 2, 3] {
        let results = run_world(world_size, |mut world| {
            Measured::ALL
                .map(|operation| bench::measure(&mut world, &mut TcpBuffers::default(), operation, 4_004).unwrap())
        });
        for row in results.iter().flatten() {
            assert_eq!(row.wrong, 0, "{row:?} of {world_size}");
            assert!(row.micros > 0.0 && row.bus_bandwidth >= 0.0, "{row:?}");
        }
        assert!(results.iter().all(|rows| *rows == results[0]), "all ranks say the same");
    }
}
