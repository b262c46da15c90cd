//! Facts without which a number says nothing.

use std::fs;

use serde_json::{Value, json};

pub fn facts() -> Value {
    let word = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    json!({
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "cpu": cpu_name(),
        "memoryMb": memory_mb(),
        "kernel": word("/proc/sys/kernel/osrelease"),
        "loadAverage": load_average(),
    })
}

/// How busy the machine is with other things; a bench on a busy machine is worth less, and its reader should know.
pub fn load_average() -> Vec<f64> {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).filter_map(|number| number.parse().ok()).collect()
}

fn cpu_name() -> String {
    field("/proc/cpuinfo", "model name").unwrap_or_default()
}

fn memory_mb() -> u64 {
    let text = field("/proc/meminfo", "MemTotal").unwrap_or_default();
    text.split(' ').next().and_then(|kib| kib.parse::<u64>().ok()).map_or(0, |kib| kib / 1024)
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
