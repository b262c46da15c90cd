//! Eight ranks that print 20 MB/s each: memory stays flat and every byte arrives.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::before::Edition;
use crate::kin;
use crate::lab::{Lab, Trouble};
use crate::rank;
use crate::report::{Better, Bound, Report, Table};
use crate::signs::{self, Signs};

const RANKS: usize = 8;
const MB_PER_S: f64 = 20.0;
const SECONDS: f64 = 8.0;
const WARM_UP: Duration = Duration::from_secs(1);
/// Memory that wavers by less is flat.
const FLAT_MB: f64 = 4.0;

/// Order-sensitive, and the same however the bytes are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    bytes: u64,
    sum: u64,
    sum_of_sums: u64,
}

impl Checksum {
    pub fn update(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        for byte in bytes {
            self.sum = self.sum.wrapping_add(u64::from(*byte));
            self.sum_of_sums = self.sum_of_sums.wrapping_add(self.sum);
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Which ranks appear on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Rank0,
    All,
}

pub fn measure(lab: &Lab, report: &mut Report) -> Result<(), Trouble> {
    let mut table = Table::new(
        "8 ranks x 20 MB/s of output for 8 s",
        &[
            "shown",
            "slowest rank MB/s",
            "first MB (PSS)",
            "max",
            "growth",
            "bytes written",
            "lost in logs",
            "lost on stdout",
        ],
    );
    for (name, shown) in [("rank 0 (default)", Shown::Rank0), ("all ranks (--tee 3)", Shown::All)] {
        lab.progress(name, 0, 1);
        let flood = run(lab, Edition::Now, shown)?;
        if lab.editions().contains(&Edition::Before) {
            let before = run(lab, Edition::Before, shown)?;
            let both = (before.most_mb, flood.most_mb);
            report.compare(&format!("flood, {name}: most memory (PSS)"), Better::Lower, both, "MB");
        }
        table.row([
            name.to_owned(),
            format!("{:.1}", flood.slowest),
            format!("{:.2}", flood.first_mb),
            format!("{:.2}", flood.most_mb),
            format!("{:.2}", flood.most_mb - flood.first_mb),
            flood.written.to_string(),
            flood.lost_in_logs.to_string(),
            flood.lost_on_stdout.to_string(),
        ]);
        let growth = flood.most_mb - flood.first_mb;
        report.promise(&format!("flood, {name}: growth of memory"), Bound::AtMost(FLAT_MB), growth, "MB");
        report.promise(
            &format!("flood, {name}: rate of the slowest rank"),
            Bound::AtLeast(MB_PER_S * 0.98),
            flood.slowest,
            "MB/s",
        );
        report.promise(
            &format!("flood, {name}: streams with a lost byte"),
            Bound::AtMost(0.0),
            flood.damaged as f64,
            "streams",
        );
        report.keep(&format!("flood, {name}"), flood.details);
    }
    table.print();
    Ok(())
}

struct Flood {
    slowest: f64,
    first_mb: f64,
    most_mb: f64,
    written: u64,
    lost_in_logs: u64,
    lost_on_stdout: u64,
    damaged: usize,
    details: Value,
}

fn run(lab: &Lab, edition: Edition, shown: Shown) -> Result<Flood, Trouble> {
    let folder = tempfile::tempdir_in(lab.folder())?;
    let mut signs = Signs::open(folder.path().join("signs"))?;
    let left = folder.path().join("left");
    fs::create_dir(&left)?;
    let mut command = lab.fermi_run_of(edition);
    command.args(["-q", "-n", &RANKS.to_string()]).arg("--log-dir").arg(folder.path().join("logs"));
    if shown == Shown::All {
        command.args(["--tee", "3"]);
    }
    command
        .arg("--no-python")
        .arg(lab.own())
        .args([rank::FLOOD, &MB_PER_S.to_string(), &SECONDS.to_string()])
        .arg(&left);
    command.env(signs::VARIABLE, signs.path()).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let reader = read_aside(child.stdout.take().ok_or("no stdout")?, shown);
    let ranks: Vec<i32> = signs.wait(RANKS, Duration::from_secs(30))?.iter().map(|sign| sign.pid).collect();
    let keepers = kin::keepers(i32::try_from(child.id())?, &ranks);
    let memory = watch(&keepers, || matches!(child.try_wait(), Ok(None)));
    if !child.wait()?.success() {
        return Err("the ranks of the flood failed".into());
    }
    let on_stdout = reader.join().map_err(|_| "the reader failed")??;
    compare(&left, &folder.path().join("logs"), &on_stdout, memory)
}

/// The summed PSS of the processes over time, in MB, from the end of the warm-up on.
fn watch(pids: &[i32], mut lives: impl FnMut() -> bool) -> Vec<f64> {
    let begun = Instant::now();
    let mut memory = Vec::new();
    while lives() {
        let now = kin::memory(pids).pss as f64 / 1e3;
        // While they end, processes vanish one by one: that is no memory saved.
        let all_there = pids.iter().all(|pid| Path::new(&format!("/proc/{pid}/smaps_rollup")).exists());
        if begun.elapsed() > WARM_UP && all_there {
            memory.push(now);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    memory
}

/// What was on standard output of each rank, prefixes taken off.
fn read_aside(stdout: ChildStdout, shown: Shown) -> JoinHandle<io::Result<Vec<Checksum>>> {
    std::thread::spawn(move || {
        let mut stdout = stdout;
        let mut sums = vec![Checksum::default(); if shown == Shown::All { RANKS } else { 1 }];
        let mut chunk = vec![0; 256 * 1024];
        let mut rest: Vec<u8> = Vec::new();
        loop {
            let n = stdout.read(&mut chunk)?;
            if n == 0 {
                return Ok(sums);
            }
            if shown == Shown::Rank0 {
                sums[0].update(&chunk[..n]);
                continue;
            }
            rest.extend_from_slice(&chunk[..n]);
            let whole = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            for line in rest[..whole].split_inclusive(|byte| *byte == b'\n') {
                if let Some((rank, line)) = without_prefix(line) {
                    sums[rank].update(line);
                }
            }
            rest.drain(..whole);
        }
    })
}

/// `[host:rank] line`.
fn without_prefix(line: &[u8]) -> Option<(usize, &[u8])> {
    let close = line.iter().position(|byte| *byte == b']')?;
    let colon = line[..close].iter().rposition(|byte| *byte == b':')?;
    let rank: usize = std::str::from_utf8(&line[colon + 1..close]).ok()?.parse().ok()?;
    (rank < RANKS).then(|| (rank, line.get(close + 2..).unwrap_or_default()))
}

#[derive(Deserialize)]
struct Left {
    checksum: Checksum,
    seconds: f64,
}

fn compare(left: &Path, logs: &Path, on_stdout: &[Checksum], memory: Vec<f64>) -> Result<Flood, Trouble> {
    let run = fs::read_dir(logs)?.next().ok_or("no run in the log folder")??.path();
    let mut flood = Flood {
        slowest: f64::INFINITY,
        first_mb: memory.first().copied().unwrap_or(f64::NAN),
        most_mb: memory.iter().copied().fold(0.0, f64::max),
        written: 0,
        lost_in_logs: 0,
        lost_on_stdout: 0,
        damaged: 0,
        details: Value::Null,
    };
    let mut rates = Vec::new();
    for rank in 0..RANKS {
        let wrote: Left = serde_json::from_slice(&fs::read(left.join(rank.to_string()))?)?;
        let kept = checksum_of(run.join("attempt_0").join(rank.to_string()).join("stdout.log"))?;
        let rate = wrote.checksum.bytes as f64 / wrote.seconds / 1e6;
        rates.push(rate);
        flood.slowest = flood.slowest.min(rate);
        flood.written += wrote.checksum.bytes;
        flood.lost_in_logs += wrote.checksum.bytes.saturating_sub(kept.bytes);
        flood.damaged += usize::from(kept != wrote.checksum);
        if let Some(seen) = on_stdout.get(rank) {
            flood.lost_on_stdout += wrote.checksum.bytes.saturating_sub(seen.bytes);
            flood.damaged += usize::from(*seen != wrote.checksum);
        }
    }
    flood.details = json!({
        "ratesMbPerS": rates,
        "pssMb": memory,
        "bytesWritten": flood.written,
        "lostInLogs": flood.lost_in_logs,
        "lostOnStdout": flood.lost_on_stdout,
        "damagedStreams": flood.damaged,
    });
    Ok(flood)
}

fn checksum_of(path: PathBuf) -> io::Result<Checksum> {
    let mut file = fs::File::open(path)?;
    let mut checksum = Checksum::default();
    let mut chunk = vec![0; 256 * 1024];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(checksum),
            n => checksum.update(&chunk[..n]),
        }
    }
}
