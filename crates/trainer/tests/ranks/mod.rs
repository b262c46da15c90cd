//! The ranks of a training as threads of one process, each with what it wrote and what it came to.

use std::os::fd::AsRawFd;
use std::thread;

use fermi_trainer::{RankPosition, Summary, TrainError, TrainerConfig, train};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, getsockname, setsockopt, socket, sockopt};

pub struct Outcome {
    pub result: Result<Summary, TrainError>,
    pub output: String,
}

/// Trains with one configuration per rank.
pub fn train_each(configs: &[TrainerConfig]) -> Vec<Outcome> {
    // Held as a launcher holds it: bound and reusable, but not listening.
    let held = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    setsockopt(&held, sockopt::ReuseAddr, &true).unwrap();
    bind(held.as_raw_fd(), &SockaddrIn::new(0, 0, 0, 0, 0)).unwrap();
    let port = getsockname::<SockaddrIn>(held.as_raw_fd()).unwrap().port();
    let world_size = configs.len();
    thread::scope(|scope| {
        let ranks: Vec<_> = (configs.iter().enumerate())
            .map(|(rank, config)| {
                let position = RankPosition {
                    rank,
                    world_size,
                    local_rank: rank,
                    master_addr: "127.0.0.1".to_owned(),
                    master_port: port,
                    run_id: "test".to_owned(),
                };
                scope.spawn(move || {
                    let mut out = Vec::new();
                    let result = train(config, &position, &mut out);
                    Outcome { result, output: String::from_utf8(out).unwrap() }
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

pub fn train_on(world_size: usize, config: &TrainerConfig) -> Vec<Outcome> {
    train_each(&vec![config.clone(); world_size])
}

/// The losses of every step, as told by a progress file.
pub fn losses(path: &std::path::Path) -> Vec<f64> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.map(|line| line["loss"].as_f64().unwrap()).collect()
}
