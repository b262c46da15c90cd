//! Processes seen from outside: what they hold, what they use, and who carries a mark.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{Pid, SysconfVar, sysconf};

const MANY_FILES: u64 = 20_000;

/// MB of memory, shared pages counted in parts.
pub fn pss_mb(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
    line.split_ascii_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).map_or(f64::NAN, |kib| kib / 1e3)
}

/// CPU seconds that a process and its threads have used so far.
pub fn cpu_seconds(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<f64> = text
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_ascii_whitespace().map(|field| field.parse().unwrap_or(0.0)).collect())
        .unwrap_or_default();
    let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
    fields.get(11..13).map_or(f64::NAN, |used| used.iter().sum::<f64>() / per_second as f64)
}

/// The share of one core that a process uses over a span of time.
#[derive(Debug)]
pub struct CpuMeter {
    pid: u32,
    used: f64,
    since: Instant,
}

impl CpuMeter {
    pub fn start(pid: u32) -> Self {
        Self { pid, used: cpu_seconds(pid), since: Instant::now() }
    }

    /// 100 is one core.
    pub fn percent(&self) -> f64 {
        100.0 * (cpu_seconds(self.pid) - self.used) / self.since.elapsed().as_secs_f64()
    }
}

/// Living processes with a pair in their environment that begins like this.
pub fn marked(beginning: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(beginning.as_bytes()))
        })
        .collect()
}

/// Ends them all; what forks while it is being ended is met in the next round.
pub fn end_marked(beginning: &str) {
    for _ in 0..100 {
        let left = marked(beginning);
        if left.is_empty() {
            return;
        }
        for pid in left {
            // One that is dead already is as good.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whoever interrupts a bench wants its servers, agents and ranks to be gone as well, and ranks outlive everything else.
/// Call it while there is one thread. The programs that are started later begin with no signal blocked.
pub fn end_marked_when_interrupted(beginning: String) -> io::Result<()> {
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    signals.thread_block()?;
    std::thread::Builder::new().name("interrupts".to_owned()).spawn(move || {
        if let Ok(signal) = signals.wait() {
            end_marked(&beginning);
            std::process::exit(128 + signal as i32);
        }
    })?;
    Ok(())
}

/// Lets this process have thousands of connections.
pub fn many_files() -> nix::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most.min(MANY_FILES), most)
}
