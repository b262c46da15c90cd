//! Ten thousand histories, and that the same seed is the same history.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use fermi_simulator::{Plan, play, shrink, tell};

/// `FERMI_SIMULATE=1000000` plays more; `FERMI_SIMULATE_FROM` begins elsewhere.
fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn every_promise_holds_in_every_history() {
    let (first, count) = (number("FERMI_SIMULATE_FROM", 1), number("FERMI_SIMULATE", 10_000));
    let (next, broken) = (AtomicU64::new(first), AtomicU64::new(0));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while broken.load(Ordering::Relaxed) == 0 {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        return;
                    }
                    if play(&Plan::of(seed)).is_some() {
                        broken.store(seed, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let seed = broken.into_inner();
    if seed != 0 {
        let (story, violation) = tell(&shrink(&Plan::of(seed)));
        panic!("seed {seed}: {violation:#?}\n{}", story.join("\n"));
    }
}

#[test]
fn a_seed_is_played_the_same_way_every_time() {
    for seed in [3, 77, 4_711] {
        let (one, _) = tell(&Plan::of(seed));
        let (other, _) = tell(&Plan::of(seed));
        assert!(one.len() > 50, "seed {seed} has a story");
        assert_eq!(one, other, "seed {seed}");
    }
}
