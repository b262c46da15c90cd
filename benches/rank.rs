//! The ranks that this binary plays when a launcher under measurement starts it: quick to start, and hostile on demand.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fermi_collective::{Communicator, Rendezvous};
use fermi_domain::contract;
use nix::unistd::{ForkResult, fork, getpid, pause, setsid};
use serde_json::json;

use crate::flood::Checksum;
use crate::signs;

pub const SLEEP: &str = "rank-sleep";
pub const HOSTILE: &str = "rank-hostile";
pub const FLOOD: &str = "rank-flood";
pub const ALL_REDUCE: &str = "rank-all-reduce";

/// How many processes a hostile rank is.
pub const HOSTILE_PROCESSES: usize = 3;

/// Plays a rank if that is what the first word asks for.
pub fn play(words: &[String]) -> Option<ExitCode> {
    let (role, arguments) = words.split_first()?;
    let played = match role.as_str() {
        SLEEP => sleep(),
        HOSTILE => hostile(),
        FLOOD => flood(arguments),
        ALL_REDUCE => all_reduce(arguments),
        _ => return None,
    };
    Some(match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{role}: {error}");
            ExitCode::FAILURE
        }
    })
}

fn number(name: &str) -> io::Result<usize> {
    let value = std::env::var(name).map_err(io::Error::other)?;
    value.parse().map_err(io::Error::other)
}

fn sign() -> io::Result<()> {
    let line = format!("{} {}\n", number(contract::RANK)?, getpid());
    let fifo = std::env::var_os(signs::VARIABLE).ok_or_else(|| io::Error::other("no FIFO named"))?;
    File::options().write(true).open(fifo)?.write_all(line.as_bytes())
}

/// Shows itself, says that it has come along, and waits to be killed. Obeys SIGTERM at once.
fn sleep() -> io::Result<()> {
    sign()?;
    if let Some(progress) = std::env::var_os(contract::FERMI_PROGRESS_FILE) {
        fs::write(progress, "{\"step\":1}\n")?;
    }
    loop {
        pause();
    }
}

/// Three processes that ignore what can be ignored: the rank, a child as a data loader, and one that has left for a
/// session of its own behind a parent that is gone.
fn hostile() -> io::Result<()> {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: ignoring runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let in_loader = forked_child()?;
    if !in_loader && forked_child()? {
        setsid().map_err(io::Error::from)?;
        if !forked_child()? {
            std::process::exit(0);
        }
    }
    sign()?;
    loop {
        pause();
    }
}

/// Forks; true in the child.
fn forked_child() -> io::Result<bool> {
    // SAFETY: there is one thread, so the child's memory is whole.
    Ok(matches!(unsafe { fork() }.map_err(io::Error::from)?, ForkResult::Child))
}

/// `MB/S SECONDS FOLDER`: writes lines at that rate and leaves in the folder what it wrote.
fn flood(arguments: &[String]) -> io::Result<()> {
    let [rate, seconds, folder] = arguments else { return Err(io::Error::other("needs MB/S SECONDS FOLDER")) };
    let rate = rate.parse::<f64>().map_err(io::Error::other)? * 1e6;
    let wanted = rate * seconds.parse::<f64>().map_err(io::Error::other)?;
    let rank = number(contract::RANK)?;
    sign()?;
    let mut stdout = io::stdout().lock();
    let mut checksum = Checksum::default();
    let mut block = Vec::new();
    let mut line = 0u64;
    let begun = Instant::now();
    while (checksum.bytes() as f64) < wanted {
        let due = rate * begun.elapsed().as_secs_f64();
        if (checksum.bytes() as f64) > due {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        }
        block.clear();
        for _ in 0..256 {
            line += 1;
            writeln!(block, "rank {rank} line {line:010} {}", FILLER)?;
        }
        stdout.write_all(&block)?;
        checksum.update(&block);
    }
    stdout.flush()?;
    let left = json!({ "checksum": checksum, "seconds": begun.elapsed().as_secs_f64() });
    fs::write(Path::new(folder).join(rank.to_string()), left.to_string())
}

const FILLER: &str = "the quick brown fox jumps over the lazy dog and writes all of it down once more 0123456789";

/// `[[BYTES, ROUNDS], …]`: rank 0 prints the median of each size.
fn all_reduce(arguments: &[String]) -> io::Result<()> {
    let sizes: Vec<(usize, usize)> = serde_json::from_str(arguments.first().map_or("[]", String::as_str))?;
    let rank = number(contract::RANK)?;
    let mut communicator = Communicator::connect(&Rendezvous {
        rank,
        world_size: number(contract::WORLD_SIZE)?,
        master_addr: std::env::var(contract::MASTER_ADDR).map_err(io::Error::other)?,
        master_port: u16::try_from(number(contract::MASTER_PORT)?).map_err(io::Error::other)?,
        run_id: "bench".to_owned(),
        timeout: Duration::from_secs(30),
    })
    .map_err(io::Error::other)?;
    for (size, rounds) in sizes {
        let mut values = vec![0f32; size / 4];
        let mut taken = crate::stats::Samples::default();
        for turn in 0..rounds + rounds / 5 {
            values.fill(1.0);
            communicator.barrier().map_err(io::Error::other)?;
            let begun = Instant::now();
            communicator.all_reduce_sum(&mut values).map_err(io::Error::other)?;
            if turn >= rounds / 5 {
                taken.push(begun.elapsed().as_secs_f64() * 1e6);
            }
        }
        if values.iter().any(|value| *value != communicator.world_size() as f32) {
            return Err(io::Error::other("the sum is wrong"));
        }
        if rank == 0 {
            println!("{}", json!({ "bytes": size, "medianUs": taken.median() }));
        }
    }
    Ok(())
}
