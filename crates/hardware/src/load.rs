//! What CPUs and network did between two looks.

use std::fs;

/// Counters since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    busy: u64,
    all: u64,
    received: u64,
    sent: u64,
}

/// What happened since the look before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Share of all CPUs, 0 to 1.
    pub cpu: f32,
    /// Bytes over all interfaces but loopback.
    pub received: u64,
    pub sent: u64,
}

/// Remembers the look before.
#[derive(Debug)]
pub struct LoadMeter {
    before: Counters,
}

impl LoadMeter {
    pub fn start() -> Self {
        Self { before: look() }
    }

    pub fn measure(&mut self) -> Load {
        let now = look();
        let load = difference(&self.before, &now);
        self.before = now;
        load
    }
}

fn difference(before: &Counters, now: &Counters) -> Load {
    let all = now.all.saturating_sub(before.all);
    let busy = now.busy.saturating_sub(before.busy);
    Load {
        cpu: if all == 0 { 0.0 } else { (busy as f32 / all as f32).min(1.0) },
        // An interface that went away takes its counters with it.
        received: now.received.saturating_sub(before.received),
        sent: now.sent.saturating_sub(before.sent),
    }
}

fn look() -> Counters {
    let mut counters = Counters::default();
    if let Ok(text) = fs::read_to_string("/proc/stat") {
        (counters.busy, counters.all) = cpu_times(&text);
    }
    if let Ok(text) = fs::read_to_string("/proc/net/dev") {
        (counters.received, counters.sent) = traffic(&text);
    }
    counters
}

/// `cpu user nice system idle iowait irq softirq steal …`: all but idle and iowait is work.
fn cpu_times(stat: &str) -> (u64, u64) {
    let line = stat.lines().next().and_then(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    let times: Vec<u64> = line.split_ascii_whitespace().take(8).filter_map(|time| time.parse().ok()).collect();
    let all: u64 = times.iter().sum();
    let idle: u64 = times.iter().skip(3).take(2).sum();
    (all.saturating_sub(idle), all)
}

/// Bytes received are the first number behind an interface's name, bytes sent the ninth.
fn traffic(table: &str) -> (u64, u64) {
    table
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.trim() != "lo")
        .filter_map(|(_, numbers)| {
            let mut numbers = numbers.split_ascii_whitespace().map(|number| number.parse::<u64>().ok());
            Some((numbers.next()??, numbers.nth(7)??))
        })
        .fold((0, 0), |(received, sent), (more_in, more_out)| (received + more_in, sent + more_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_the_disk_is_not_work() {
        assert_eq!(cpu_times("cpu  10 0 10 70 10 0 0 0 0 0\ncpu0 1 1 1"), (20, 100));
        assert_eq!(cpu_times(""), (0, 0));
    }

    #[test]
    fn loopback_does_not_count_as_network() {
        let table = "Inter-| Receive\n face |bytes\n    lo: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n  eth0: 7 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n";
        assert_eq!(traffic(table), (7, 9));
    }

    #[test]
    fn the_share_is_between_nothing_and_all() {
        let before = Counters { busy: 10, all: 100, received: 50, sent: 1 };
        let now = Counters { busy: 60, all: 200, received: 20, sent: 5 };
        assert_eq!(difference(&before, &now), Load { cpu: 0.5, received: 0, sent: 4 });
        assert_eq!(difference(&now, &now).cpu, 0.0);
    }
}
