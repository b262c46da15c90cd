//! The memory of this machine, or of the container around this process.

use std::fs;

/// How much there is and how much of it is in use, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub total: u64,
    pub used: u64,
}

/// Looks now.
pub fn measure() -> Memory {
    let mut memory = fs::read_to_string("/proc/meminfo").map(|text| parse(&text)).unwrap_or_default();
    let number = |path: &str| fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    // In a container the limit counts, not the machine.
    if let Some(limit) = number("/sys/fs/cgroup/memory.max").filter(|limit| *limit < memory.total) {
        memory.total = limit;
        memory.used = number("/sys/fs/cgroup/memory.current").map_or(memory.used.min(limit), |used| used.min(limit));
    }
    memory
}

fn parse(meminfo: &str) -> Memory {
    let value = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
    };
    let total = value("MemTotal").unwrap_or(0);
    Memory { total, used: total.saturating_sub(value("MemAvailable").unwrap_or(0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_not_in_use() {
        let text = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n";
        assert_eq!(parse(text), Memory { total: 1_024_000, used: 614_400 });
        assert_eq!(parse(""), Memory::default());
    }

    #[test]
    fn this_machine_has_memory() {
        let memory = measure();
        assert!(memory.total > 0 && memory.used <= memory.total);
    }
}
