//! One run of the training under `fermi run`: started, watched for memory, ended with this process, and read.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use fermi_domain::language::{Text, reason};
use fermi_hardware::gpu::Gpus;
use serde_json::Value;

use super::throughput::{Throughput, in_output, in_progress};
use crate::signals;

/// Between two looks at memory and signals.
const GLANCE: Duration = Duration::from_millis(50);
/// For the events of a run that has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Of what a rank printed the end is read.
const OUTPUT: u64 = 4 << 20;

/// What shall run, and where it leaves its things.
#[derive(Debug)]
pub struct TrialOrder<'a> {
    /// Options of `fermi run` and the training.
    pub words: &'a [String],
    pub processes: u64,
    pub folder: &'a Path,
    pub patience: Duration,
}

/// What a run came to.
#[derive(Debug)]
pub enum Outcome {
    Measured {
        throughput: Throughput,
        memory_bytes: Option<u64>,
    },
    /// It failed, or said nothing of its speed: why, and where to look.
    Failed(Text),
    /// An end was asked for meanwhile.
    Interrupted,
}

/// What the events of a run tell.
#[derive(Debug, Default)]
struct Seen {
    folder: Option<PathBuf>,
    pids: Vec<u64>,
}

impl Seen {
    fn take(&mut self, line: &str) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return };
        match event["event"].as_str() {
            Some("run.started") => self.folder = event["folder"].as_str().map(PathBuf::from),
            Some("rank.started") => self.pids.extend(event["pid"].as_u64()),
            _ => {}
        }
    }
}

/// Runs it and waits for its end.
pub fn run(order: &TrialOrder<'_>, gpus: Option<&Gpus>) -> Outcome {
    match start(order) {
        Ok((child, log)) => follow(child, order, &log, gpus),
        Err(error) => {
            let why = reason::of_io(&error);
            Outcome::Failed(Text::new(format!("无法启动：{}", why.zh), format!("it cannot be started: {}", why.en)))
        }
    }
}

/// The standard input is the leash: the run ends when this process does, however that comes about.
fn start(order: &TrialOrder<'_>) -> std::io::Result<(Child, PathBuf)> {
    fs::create_dir_all(order.folder)?;
    let (output, log) = new_log(order.folder, order.processes)?;
    let mut run = Command::new(std::env::current_exe()?);
    run.args(["run", "--json", "--stop-on-stdin-eof", "--log-dir"]).arg(order.folder);
    run.args(["--nproc-per-node", &order.processes.to_string()]).args(order.words);
    run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(output);
    Ok((run.spawn()?, log))
}

/// Each run has an output of its own: `output-4.log`, `output-4-2.log` …
fn new_log(folder: &Path, processes: u64) -> std::io::Result<(File, PathBuf)> {
    let mut number = 1;
    loop {
        let nth = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("output-{processes}{nth}.log"));
        match File::create_new(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            made => return made.map(|file| (file, path)),
        }
    }
}

fn follow(mut child: Child, order: &TrialOrder<'_>, log: &Path, gpus: Option<&Gpus>) -> Outcome {
    let until = Instant::now() + order.patience;
    let events = events(&mut child);
    let mut seen = Seen::default();
    let mut memory = None;
    let status = loop {
        events.try_iter().for_each(|line| seen.take(&line));
        memory = memory.max(memory_now(&seen.pids, gpus));
        if let Ok(Some(status)) = child.try_wait() {
            break status;
        }
        let is_late = Instant::now() >= until;
        if is_late || signals::heard() > 0 {
            // The end of the leash stops the run by its ladder.
            drop(child.stdin.take());
            let _ = child.wait();
            return if signals::heard() > 0 { Outcome::Interrupted } else { late(order, log) };
        }
        thread::sleep(GLANCE);
    };
    while let Ok(line) = events.recv_timeout(LAST_WORDS) {
        seen.take(&line);
    }
    let log = log.display();
    if signals::heard() > 0 {
        return Outcome::Interrupted;
    }
    if !status.success() {
        return Outcome::Failed(Text::new(
            format!("运行失败，输出在 {log}"),
            format!("the run failed, its output is in {log}"),
        ));
    }
    let throughput = seen.folder.as_deref().and_then(throughput);
    match throughput {
        Some(throughput) => {
            // Checkpoints of a measurement are nobody's.
            seen.folder.iter().for_each(|folder| drop(fs::remove_dir_all(folder)));
            Outcome::Measured { throughput, memory_bytes: memory }
        }
        None => Outcome::Failed(Text::new(
            format!(
                "没有得到速度：FERMI_PROGRESS_FILE 中没有 tokensPerS，输出 {log} 中也没有 tokens/s、samples/s 或 it/s"
            ),
            format!(
                "its speed is not known: there is no tokensPerS in FERMI_PROGRESS_FILE and no tokens/s, samples/s or it/s in {log}"
            ),
        )),
    }
}

fn late(order: &TrialOrder<'_>, log: &Path) -> Outcome {
    let (seconds, log) = (order.patience.as_secs(), log.display());
    Outcome::Failed(Text::new(
        format!("{seconds} 秒内没有结束，输出在 {log}（--timeout 可放宽）"),
        format!("it did not end within {seconds} s, its output is in {log} (--timeout allows more)"),
    ))
}

/// The lines of a run, read on a thread of their own, which ends with the run.
fn events(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// The most that one process or GPU has had until now.
fn memory_now(pids: &[u64], gpus: Option<&Gpus>) -> Option<u64> {
    match gpus {
        Some(gpus) => gpus.measure().iter().map(|gpu| gpu.memory_used).max(),
        None => pids.iter().filter_map(|pid| peak(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)).max(),
    }
}

fn peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// What rank 0 reported or printed in its first attempt.
fn throughput(run_folder: &Path) -> Option<Throughput> {
    let rank = run_folder.join("attempt_0").join("0");
    let progress = fs::read_to_string(rank.join("progress.ndjson")).ok().and_then(|text| in_progress(&text));
    progress
        .or_else(|| in_output(&tail(&rank.join("stdout.log"))))
        .or_else(|| in_output(&tail(&rank.join("stderr.log"))))
}

fn tail(path: &Path) -> String {
    let mut bytes = Vec::new();
    let _ = File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(OUTPUT)))?;
        file.take(OUTPUT).read_to_end(&mut bytes)
    });
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_run_writes_over_the_output_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let name = |processes| new_log(folder.path(), processes).unwrap().1.file_name().unwrap().to_owned();
        assert_eq!([name(4), name(4), name(2)], ["output-4.log", "output-4-2.log", "output-2.log"]);
    }

    #[test]
    fn events_name_the_folder_and_the_ranks() {
        let mut seen = Seen::default();
        seen.take(r#"{"v":1,"event":"run.started","folder":"/runs/a"}"#);
        seen.take(r#"{"v":1,"event":"rank.started","rank":0,"pid":7}"#);
        seen.take("not an event");
        assert_eq!((seen.folder.as_deref(), seen.pids), (Some(Path::new("/runs/a")), vec![7]));
    }

    #[test]
    fn the_peak_of_a_process_is_read_in_bytes() {
        assert_eq!(peak("Name:\tfermi\nVmHWM:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(peak("Name:\tkthreadd\n"), None);
    }
}
