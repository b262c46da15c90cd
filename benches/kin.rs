//! Processes seen from outside: whether they live, and what memory they hold.

use std::fs;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use fermi_process::pidfd::PidFd;
use fermi_process::procfs;

use crate::signs::wait_readable;

/// A launcher and everything below it, without the ranks and what is below them.
pub fn keepers(launcher: i32, ranks: &[i32]) -> Vec<i32> {
    let beneath_ranks: Vec<i32> =
        ranks.iter().flat_map(|rank| procfs::descendants(*rank)).map(|stat| stat.pid).collect();
    std::iter::once(launcher)
        .chain(procfs::descendants(launcher).into_iter().map(|stat| stat.pid))
        .filter(|pid| !ranks.contains(pid) && !beneath_ranks.contains(pid))
        .collect()
}

/// Memory of a set of processes in KiB.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Shared pages counted in parts.
    pub pss: u64,
    pub rss: u64,
}

/// Sums over the processes; one that is gone holds nothing.
pub fn memory(pids: &[i32]) -> Memory {
    pids.iter().filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()).fold(
        Memory::default(),
        |sum, text| Memory { pss: sum.pss + field(&text, "Pss:"), rss: sum.rss + field(&text, "Rss:") },
    )
}

fn field(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    value.split_ascii_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

/// Waits until all of these are dead; the moment at which the last one was, or who still lives.
pub fn wait_dead(handles: &[PidFd], patience: Duration) -> Result<Instant, Vec<i32>> {
    let until = Instant::now() + patience;
    loop {
        let living: Vec<&PidFd> = handles.iter().filter(|handle| !is_dead(handle)).collect();
        if living.is_empty() {
            return Ok(Instant::now());
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(living.iter().map(|handle| handle.pid()).collect());
        }
        wait_readable(&[living[0].as_fd()], left);
    }
}

fn is_dead(handle: &PidFd) -> bool {
    fermi_process::sweep::wait_gone(handle, Duration::ZERO)
}
