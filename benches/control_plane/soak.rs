//! Minutes of followed logs: whether what a server uses stays what it was. `make soak` runs ten of them.

use std::io;
use std::time::{Duration, Instant};

use serde_json::json;

use super::fleet::Fleet;
use super::log_followers::{self, Followed, open_files};
use super::outside::{CpuMeter, pss_mb};
use crate::Trouble;
use crate::report::{Bound, Report, Table};

/// How long, in seconds.
const FERMI_SOAK_SECONDS: &str = "FERMI_SOAK_SECONDS";
const USUAL_SECONDS: u64 = 600;
/// What is used before this is the beginning, when buffers and caches fill.
const WARM_UP: Duration = Duration::from_secs(20);
const LOOKS: u32 = 20;
/// Samples of machines are kept in memory for an hour, and so is what the database maps.
const GROWTH_MB: f64 = 10.0;

/// What is seen from outside at one moment.
struct Look {
    at: f64,
    cpu: f64,
    memory: f64,
    files: usize,
}

pub fn measure(report: &mut Report) -> Result<(), Trouble> {
    let seconds = std::env::var(FERMI_SOAK_SECONDS).ok().and_then(|text| text.parse().ok()).unwrap_or(USUAL_SECONDS);
    let fleet = Fleet::of(&[("watched", log_followers::RANKS)])?;
    let mut followed = Followed::begin(&fleet)?;
    followed.listen(WARM_UP)?;
    followed.reset();
    let (span, begun) = (Duration::from_secs(seconds), Instant::now());
    let whole = CpuMeter::start(fleet.server_pid());
    let looks = (0..LOOKS)
        .map(|_| {
            let meter = CpuMeter::start(fleet.server_pid());
            followed.listen(span / LOOKS)?;
            let (at, cpu) = (begun.elapsed().as_secs_f64(), meter.percent());
            Ok(Look { at, cpu, memory: pss_mb(fleet.server_pid()), files: open_files(fleet.server_pid()) })
        })
        .collect::<io::Result<Vec<Look>>>()?;
    let cpu = whole.percent();
    let (least, most) = followed.heard();

    let title = format!("{seconds} s of 100 followers (SSE) of 16 ranks, 20 lines/s each");
    let mut table = Table::new(&title, &["second", "CPU %", "MB (PSS)", "files"]);
    for look in &looks {
        table.row([
            format!("{:.0}", look.at),
            format!("{:.0}", look.cpu),
            format!("{:.1}", look.memory),
            look.files.to_string(),
        ]);
    }
    table.print();
    println!("  CPU over all {cpu:.1} %; each follower heard {least} to {most} bytes");
    let mean = |part: &[Look], of: fn(&Look) -> f64| part.iter().map(of).sum::<f64>() / part.len().max(1) as f64;
    let third = looks.len() / 3;
    let growth = |of: fn(&Look) -> f64| mean(&looks[looks.len() - third..], of) - mean(&looks[..third], of);
    let (memory, files) = (growth(|look| look.memory), growth(|look| look.files as f64));
    report.promise("soak: CPU of the server", Bound::AtMost(30.0), cpu, "%");
    report.promise("soak: memory of the last third over the first", Bound::AtMost(GROWTH_MB), memory, "MB");
    report.promise("soak: open files of the last third over the first", Bound::AtMost(0.5), files, "");
    report.promise("soak: least heard of the most", Bound::AtLeast(0.95), least as f64 / most.max(1) as f64, "");
    let samples: Vec<_> = looks.iter().map(|look| json!([look.at, look.cpu, look.memory, look.files])).collect();
    report.keep("soak", json!({ "seconds": seconds, "cpuPercent": cpu, "looks": samples, "bytes": [least, most] }));
    Ok(())
}
