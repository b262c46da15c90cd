//! All-reduce between two processes: the ring of `fermi-collective` beside torch's gloo, for information.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::lab::{Lab, Trouble};
use crate::rank;
use crate::report::{Report, Table};
use crate::stats::Samples;

/// Bytes, and how often each process start repeats them.
const SIZES: [(usize, usize); 3] = [(1 << 10, 200), (1 << 20, 100), (16 << 20, 20)];
/// Starts of either, alternating; each gives the median of its repetitions.
const ROUNDS: usize = 5;

pub fn measure(lab: &Lab, report: &mut Report) -> Result<(), Trouble> {
    let mut ring = SIZES.map(|_| Samples::default());
    let mut gloo = SIZES.map(|_| Samples::default());
    let has_torch = lab.beside_python("torchrun").is_some();
    let rounds = lab.options.rounds.min(ROUNDS);
    let sizes = json!(SIZES).to_string();
    for round in 0..rounds {
        lab.progress("collective", round, rounds);
        let mut command = lab.fermi_run();
        command.args(["-q", "-n", "2", "--no-python"]).arg(lab.own()).args([rank::ALL_REDUCE, &sizes]);
        take(&mut ring, command)?;
        if has_torch {
            let mut command = lab.fermi_run();
            command.args(["-q", "-n", "2"]).arg(lab.script("gloo.py")).arg(&sizes);
            take(&mut gloo, command)?;
        }
    }
    let mut table = Table::new(
        "All-reduce of 2 processes, median",
        &["size", "ring µs", "gloo µs", "ring GB/s", "gloo GB/s", "gloo / ring"],
    );
    for (index, (bytes, _)) in SIZES.iter().enumerate() {
        let (ours, theirs) = (ring[index].median(), gloo[index].median());
        let speed = |us: f64| *bytes as f64 / us / 1e3;
        table.row([
            format!("{} KiB", bytes / 1024),
            format!("{ours:.0}"),
            format!("{theirs:.0}"),
            format!("{:.2}", speed(ours)),
            format!("{:.2}", speed(theirs)),
            format!("{:.2}", theirs / ours),
        ]);
    }
    table.print();
    let of = |samples: &[Samples]| -> Vec<Value> {
        SIZES.iter().zip(samples).map(|((bytes, _), us)| json!({ "bytes": bytes, "medianUs": us.json() })).collect()
    };
    report.keep("collective", json!({ "ring": of(&ring), "gloo": of(&gloo) }));
    Ok(())
}

/// Rank 0 prints one line per size, in order.
fn take(into: &mut [Samples], mut command: Command) -> Result<(), Trouble> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let medians: Vec<f64> =
        text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()?["medianUs"].as_f64()).collect();
    if medians.len() != into.len() {
        return Err(format!("{} of {} sizes were measured", medians.len(), into.len()).into());
    }
    for (samples, median) in into.iter_mut().zip(medians) {
        samples.push(median);
    }
    Ok(())
}
