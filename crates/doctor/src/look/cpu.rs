//! CPUs and memory.

use std::fs;
use std::path::Path;

use fermi_hardware::{cpu, memory};
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};

use super::system;
use crate::facts::{CpuFacts, MemoryFacts, SharedMemory};

pub fn look() -> CpuFacts {
    let allowed = cpu::allowed();
    CpuFacts {
        cores: allowed.len(),
        numa_nodes: cpu::numa_nodes(&allowed).len(),
        model: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| model(&text)),
        quota: system::cgroup_file("cpu.max").and_then(|text| quota(&text)),
        governor: fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
            .ok()
            .map(|text| text.trim().to_owned()),
        load: fs::read_to_string("/proc/loadavg")
            .ok()
            .and_then(|text| text.split(' ').next()?.parse().ok())
            .unwrap_or_default(),
    }
}

fn model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, model)| model.trim().to_owned())
}

/// `200000 100000` are two cores; `max 100000` is no limit.
fn quota(text: &str) -> Option<f64> {
    let (time, period) = text.trim().split_once(' ')?;
    let (time, period) = (time.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
    (period > 0.0).then(|| time / period)
}

pub fn memory() -> MemoryFacts {
    let measured = memory::measure();
    MemoryFacts { total: measured.total, used: measured.used, shared: shared(Path::new("/dev/shm")) }
}

fn shared(folder: &Path) -> Option<SharedMemory> {
    let disk = statvfs(folder).ok()?;
    let unit = disk.fragment_size();
    Some(SharedMemory {
        total: disk.blocks() * unit,
        free: disk.blocks_available() * unit,
        is_writable: access(folder, AccessFlags::W_OK).is_ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_counted_in_cores() {
        assert_eq!(quota("150000 100000\n"), Some(1.5));
        assert_eq!(quota("max 100000\n"), None);
        assert_eq!(model("processor : 0\nmodel name\t: Xeon\n").as_deref(), Some("Xeon"));
    }
}
