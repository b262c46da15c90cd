//! Ranks for the workers of a large group: 100,000 workers on 12,500 nodes. Exits with 1 where the promise is broken.

#![allow(clippy::print_stdout, reason = "a bench talks")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use fermi_domain::group::LaunchConfig;
use fermi_domain::ids::WorkerId;
use fermi_domain::rank_map::of_group;
use fermi_domain::worker::Worker;

const NODES: u32 = 12_500;
const PER_NODE: u32 = 8;
const ROUNDS: usize = 21;
const PROMISE: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    // In an order that no sort likes: a stride that visits every worker once.
    let all = NODES * PER_NODE;
    let workers: Vec<Worker> = (0..all)
        .map(|at| (u64::from(at) * 77_777 % u64::from(all)) as u32)
        .map(|at| {
            let (node, index) = (format!("gn{}", at / PER_NODE), at % PER_NODE);
            Worker { environment: node.as_str().into(), gpu: Some(index), id: WorkerId::new(node, index) }
        })
        .collect();
    let launch = LaunchConfig { master_addr: Some("gn6".to_owned()), ..LaunchConfig::default() };
    let mut took = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let ranks = of_group(&workers, &launch);
        took.push(started.elapsed());
        let Ok(ranks) = ranks else { return ExitCode::FAILURE };
        if ranks.map.world_size() != all {
            return ExitCode::FAILURE;
        }
    }
    took.sort();
    let median = took[ROUNDS / 2];
    println!(
        "{all} workers ranked: median {median:?}, best {:?}, worst {:?} (promised: {PROMISE:?})",
        took[0],
        took[ROUNDS - 1]
    );
    if median <= PROMISE { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
