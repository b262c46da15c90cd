//! `fermi scale`: runs a training at rising numbers of processes and says how well it scales.
//!
//! [`trial`] runs once, [`throughput`] reads how fast that was, [`table`] says what the runs mean together, [`lesson`] what
//! the planner learns from them, [`report`] shows it. After every run all files are written anew, so that what was measured
//! stays when this is ended; [`earlier`] keeps what lay there before, [`claim`] keeps others out meanwhile.

mod claim;
mod earlier;
mod lesson;
mod report;
mod table;
mod throughput;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use fermi_domain::contract::CUDA_VISIBLE_DEVICES;
use fermi_domain::language::{Language, Notice, Text, reason};
use fermi_folder_lock::LockError;
use fermi_hardware::gpu::{self, Gpus};
use fermi_hardware::memory;
use fermi_planner::run::Run;
use fermi_trainer::Preset;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use self::lesson::{CORE_BANDWIDTH_GBS, Subject};
use self::report::{CALIBRATION, Learned, Measurement, PICTURE, TEXTS};
use self::table::{Predicted, Scaling, Trial, lines};
use self::trial::{Outcome, TrialOrder};
use crate::speech::{self, Paint};
use crate::{exit_code, signals};

/// Stands for the sequences of one process, and of all, in a command.
const BATCH: &str = "{batch}";
const GLOBAL_BATCH: &str = "{global_batch}";
const MOST_PROCESSES: i64 = 1024;
/// A year: a clock counts on beyond it.
const LONGEST_RUN_S: u64 = 31_536_000;

/// Measure how a training scales: run it with more and more processes, and write table, chart and report
///
/// Without a command the built-in trainer is measured. What follows -- is given to fermi run, options included; {batch} and
/// {global_batch} in it are replaced by the sequences of one process and of all. Its speed is read from FERMI_PROGRESS_FILE
/// (tokensPerS), else from what it prints (tokens/s, samples/s, it/s).
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fermi scale --num-gpus-list 1 2 4 8 --results-dir results/scaling -- train.py --batch-size {batch}"
)]
pub struct ScaleFlags {
    /// Numbers of processes to compare; with GPUs each has one
    #[arg(long, value_name = "N", num_args = 1.., default_values_t = [1i64, 2, 4, 8], value_parser = clap::value_parser!(i64).range(1..=MOST_PROCESSES))]
    num_gpus_list: Vec<i64>,
    /// Where JSON, CSV, chart and report go
    #[arg(long, value_name = "DIR", default_value = "results/scaling")]
    results_dir: PathBuf,
    /// weak: the same batch for each process; strong: the same batch for all together
    #[arg(long, value_name = "HOW", value_delimiter = ',', default_values = ["weak", "strong"])]
    scaling: Vec<Scaling>,
    /// Runs of each
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    repeats: u64,
    /// Sequences of one process; strong scaling shares out that of the most processes
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    batch: u64,
    /// Steps of the built-in trainer
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..))]
    steps: u64,
    /// Size of the built-in trainer's model: tiny, small or base
    #[arg(long, default_value_t = Preset::Tiny)]
    preset: Preset,
    /// Seconds that one run may take
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 3600,
        value_parser = clap::value_parser!(u64).range(1..=LONGEST_RUN_S)
    )]
    timeout: u64,
    /// What fermi plan scale has written (scaling.json), to show it beside what is measured
    #[arg(long, value_name = "FILE")]
    predicted: Option<PathBuf>,
    /// Teach the planner by these runs: its constants go to calibration.json, what it predicts with them beside what is
    /// measured
    #[arg(long, conflicts_with = "predicted")]
    calibrate: bool,
    /// What the command trains, as a row of fermi plan predict (JSON): model_name, seq_len, precision, sharding, framework …
    #[arg(long, value_name = "FILE", requires = "calibrate")]
    row: Option<PathBuf>,
    /// The result as one JSON object
    #[arg(long)]
    json: bool,
    /// The training and its arguments; options of fermi run come before it
    #[arg(value_name = "SCRIPT [ARGS]", last = true)]
    command: Vec<String>,
}

/// One run that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Planned {
    scaling: Scaling,
    processes: u64,
    batch: u64,
}

pub fn execute(flags: &ScaleFlags) -> ExitCode {
    let predicted = flags.predicted.as_deref().map(read_predicted).transpose();
    // The built-in trainer computes on cores, whatever else the machine has.
    let may_use_gpus = !flags.command.is_empty();
    let gpus = Gpus::open().filter(|gpus| may_use_gpus && !gpus.list().is_empty());
    let devices = devices(may_use_gpus);
    let ready = predicted.and_then(|points| Ok((points.unwrap_or_default(), flags.subject(devices, gpus.as_ref())?)));
    let (predicted, subject) = match ready {
        Ok(ready) => ready,
        Err(notice) => {
            speech::complain(&notice);
            return ExitCode::from(exit_code::USAGE);
        }
    };
    let _lock = match claim::take(&flags.results_dir) {
        Ok(lock) => lock,
        Err(LockError::Held { pid }) => {
            speech::complain(&claim::held(&flags.results_dir, pid));
            return ExitCode::from(exit_code::CONFLICT);
        }
        Err(LockError::Unsupported(error) | LockError::Io(error)) => {
            speech::complain(&unwritten(&flags.results_dir, &error));
            return ExitCode::from(exit_code::FAILED);
        }
    };
    signals::listen();
    let mut found = Measurement {
        workload: flags.workload(),
        unit: "tokens/s",
        devices,
        has_gpus: gpus.is_some(),
        complete: false,
        trials: Vec::new(),
        lines: Vec::new(),
        notes: flags.notes(devices, gpus.is_some()),
        learned: None,
    };
    let measured = flags.measure(&mut found, gpus.as_ref(), &predicted);
    let taught = measured.and_then(|failed| {
        let Some(subject) = subject.filter(|_| !found.trials.is_empty()) else { return Ok(failed) };
        flags.teach(&subject, &mut found).map(|()| failed)
    });
    let failed = match taught {
        Ok(failed) => failed,
        Err(notice) => {
            speech::complain(&notice);
            return ExitCode::from(exit_code::FAILED);
        }
    };
    show(flags, &found);
    match (signals::heard(), failed) {
        (0, 0) => ExitCode::from(exit_code::DONE),
        (0, _) => ExitCode::from(exit_code::FAILED),
        _ => exit_code::of_signal(signals::last()),
    }
}

/// How many processes have a GPU, or a core, of their own.
fn devices(may_use_gpus: bool) -> u64 {
    let listed = std::env::var(CUDA_VISIBLE_DEVICES).ok();
    let gpus = if may_use_gpus { gpu::visible_count(listed.as_deref()) } else { 0 };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if gpus > 0 { gpus as u64 } else { cores as u64 }
}

impl ScaleFlags {
    /// Makes one run after the other and writes after each what is known; says how many failed.
    fn measure(&self, found: &mut Measurement, gpus: Option<&Gpus>, predicted: &[Predicted]) -> Result<usize, Notice> {
        let planned = self.planned();
        let (mut failed, mut is_first) = (0, true);
        for (at, next) in planned.iter().enumerate() {
            progress(at, planned.len(), next, None);
            let words = self.words(next);
            let order = TrialOrder {
                words: &words,
                processes: next.processes,
                folder: &self.results_dir.join("runs"),
                patience: Duration::from_secs(self.timeout),
            };
            match trial::run(&order, gpus) {
                Outcome::Measured { throughput, memory_bytes } => {
                    found.unit = throughput.unit;
                    progress(at, planned.len(), next, Some(&format!("{:.1} {}", throughput.speed, throughput.unit)));
                    let global_batch = self.knows_batch().then_some(next.batch * next.processes);
                    let Planned { scaling, processes, .. } = *next;
                    found.trials.push(Trial {
                        scaling,
                        processes,
                        global_batch,
                        speed: throughput.speed,
                        memory_bytes,
                    });
                }
                Outcome::Failed(why) => {
                    failed += 1;
                    progress(at, planned.len(), next, Some(why.in_language(speech::language())));
                    let n = next.processes;
                    found
                        .notes
                        .push(Text::new(format!("{n} 个进程：{}", why.zh), format!("{n} processes: {}", why.en)));
                }
                Outcome::Interrupted => break,
            }
            found.complete = at + 1 == planned.len();
            found.lines = lines(&found.trials, found.devices, predicted);
            if std::mem::take(&mut is_first) {
                found.notes.extend(self.keep_earlier()?);
            }
            self.write(found)?;
        }
        Ok(failed)
    }

    /// The planner learns from what was measured, and its curve stands beside it.
    fn teach(&self, subject: &Subject, found: &mut Measurement) -> Result<(), Notice> {
        let lesson = subject.learn(&found.trials, found.devices, found.unit)?;
        found.lines = lines(&found.trials, found.devices, &lesson.predicted);
        found.notes.extend(lesson.note());
        let file = self.results_dir.join(CALIBRATION);
        found.learned = Some(Learned { lesson, file });
        self.write(found)
    }

    /// What the planner is taught of, where that is asked for. Refuses what it could not learn from.
    fn subject(&self, devices: u64, gpus: Option<&Gpus>) -> Result<Option<Subject>, Notice> {
        if !self.calibrate {
            return Ok(None);
        }
        let counts = self.counts();
        if counts.iter().all(|count| *count > devices) {
            return Err(all_share(devices, gpus.is_some()));
        }
        let mut row = match (&self.row, self.command.as_slice()) {
            (Some(path), _) => read_json::<Run>(path, || {
                Text::new(
                    "文件形如 {\"model_name\": \"gpt2\", \"seq_len\": 1024}",
                    "the file has the form {\"model_name\": \"gpt2\", \"seq_len\": 1024}",
                )
            })?,
            (None, []) => built_in(self.preset),
            (None, _) => return Err(row_required()),
        };
        let gpu = gpus.and_then(|gpus| gpus.list().into_iter().next());
        if let Some(gpu) = gpu.filter(|_| row.gpu.is_none()) {
            row.gpu = Some(gpu.model);
            row.gpu_mem_gib = row.gpu_mem_gib.or(Some(gib(gpu.memory)));
        }
        let is_on_cores = row.gpu.is_none() && row.gpu_tflops.is_none();
        if is_on_cores {
            row.gpu_mem_gib = row.gpu_mem_gib.or(Some(gib(memory::measure().total) / devices.max(1) as f64));
            row.gpu_bandwidth_gbs = row.gpu_bandwidth_gbs.or(Some(CORE_BANDWIDTH_GBS));
        }
        let subject = Subject { row, is_on_cores };
        let fewest = counts.first().copied().unwrap_or(1);
        subject.check(fewest, self.knows_batch().then_some(self.batch * fewest))?;
        Ok(Some(subject))
    }

    /// What was measured into the same folder before stays there, under another name.
    fn keep_earlier(&self) -> Result<Option<Text>, Notice> {
        let kept = earlier::keep(&self.results_dir).map_err(|error| unwritten(&self.results_dir, &error))?;
        Ok(kept.map(|number| {
            Text::new(
                format!("此前测得的结果保留为 scaling-{number}.*"),
                format!("what was measured there before is kept as scaling-{number}.*"),
            )
        }))
    }

    /// Each file is whole or the one before, whenever this process ends.
    fn write(&self, found: &Measurement) -> Result<(), Notice> {
        let folder = &self.results_dir;
        let language = speech::language();
        let json = |value: &serde_json::Value| serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
        let texts = [json(&found.json()), found.csv(), found.chart(language).svg(), found.page(language)];
        let calibration = found.learned.as_ref().map(|learned| (CALIBRATION, json(&learned.constants())));
        // The letters of a picture are Latin ones.
        let written = found.chart(Language::En).png().and_then(|picture| {
            let texts = TEXTS.into_iter().zip(texts).chain(calibration).map(|(name, text)| (name, text.into_bytes()));
            let mut files = texts.chain([(PICTURE, picture)]);
            files.try_for_each(|(name, content)| {
                let fresh = folder.join(format!("{name}.new"));
                fs::write(&fresh, content)?;
                fs::rename(&fresh, folder.join(name))
            })
        });
        written.map_err(|error| unwritten(folder, &error))
    }

    fn knows_batch(&self) -> bool {
        self.command.is_empty() || self.command.iter().any(|word| word.contains(BATCH) || word.contains(GLOBAL_BATCH))
    }

    fn workload(&self) -> Text {
        match self.command.as_slice() {
            [] => Text::new(format!("内置训练器 ({})", self.preset), format!("built-in trainer ({})", self.preset)),
            words => Text::new(words.join(" "), words.join(" ")),
        }
    }

    fn counts(&self) -> Vec<u64> {
        let mut counts: Vec<u64> = self.num_gpus_list.iter().map(|count| count.unsigned_abs()).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// Repeats go round, so that a slow minute of the machine does not meet one number of processes alone.
    fn planned(&self) -> Vec<Planned> {
        let counts = self.counts();
        let most = counts.last().copied().unwrap_or(1);
        let mut scalings = self.scaling.clone();
        scalings.sort_unstable();
        scalings.dedup();
        if !self.knows_batch() {
            scalings = vec![Scaling::Weak];
        }
        let mut planned = Vec::new();
        for _ in 0..self.repeats {
            for scaling in &scalings {
                planned.extend(counts.iter().map(|processes| Planned {
                    scaling: *scaling,
                    processes: *processes,
                    batch: match scaling {
                        Scaling::Weak => self.batch,
                        Scaling::Strong => (self.batch * most / processes).max(1),
                    },
                }));
            }
        }
        planned
    }

    fn words(&self, planned: &Planned) -> Vec<String> {
        let (batch, all) = (planned.batch.to_string(), (planned.batch * planned.processes).to_string());
        if !self.command.is_empty() {
            let filled = |word: &String| word.replace(GLOBAL_BATCH, &all).replace(BATCH, &batch);
            return self.command.iter().map(filled).collect();
        }
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("fermi"));
        let words = ["--no-python", &program.to_string_lossy(), "trainer", "--preset", &self.preset.to_string()];
        let more = ["--steps", &self.steps.to_string(), "--global-batch", &all];
        words.iter().chain(&more).map(|word| (*word).to_owned()).collect()
    }

    fn notes(&self, devices: u64, has_gpus: bool) -> Vec<Text> {
        let mut notes = Vec::new();
        let more: Vec<String> =
            self.counts().into_iter().filter(|count| *count > devices).map(|count| count.to_string()).collect();
        if !more.is_empty() {
            let (zh, en) = if has_gpus { ("块 GPU", "GPUs") } else { ("个 CPU 核", "CPU cores") };
            notes.push(Text::new(
                format!("本机只有 {devices} {zh}：{} 个进程会共用，其速度列出，但不算扩展性", more.join("、")),
                format!(
                    "this machine has {devices} {en}: {} processes share them; their speed is shown, but it is no scaling",
                    more.join(", ")
                ),
            ));
        }
        if !more.is_empty() && self.calibrate {
            notes.push(Text::new(
                format!("规划器不从 {} 个进程的运行中学习", more.join("、")),
                format!("the planner learns nothing from the runs of {} processes", more.join(", ")),
            ));
        }
        if !self.knows_batch() && self.scaling.contains(&Scaling::Strong) {
            notes.push(Text::new(
                format!("命令中没有 {BATCH} 或 {GLOBAL_BATCH}：批次由脚本决定，只测弱扩展"),
                format!("the command has neither {BATCH} nor {GLOBAL_BATCH}: the script chooses its batch, only weak scaling is measured"),
            ));
        }
        notes
    }
}

/// The part of `fermi plan scale`'s file that is needed.
#[derive(Deserialize)]
struct PredictedFile {
    points: Vec<Predicted>,
}

fn read_predicted(path: &Path) -> Result<Vec<Predicted>, Notice> {
    let hint = || {
        Text::new(
            "用 fermi plan scale --results-dir 写出 scaling.json",
            "write scaling.json with fermi plan scale --results-dir",
        )
    };
    read_json::<PredictedFile>(path, hint).map(|file| file.points)
}

fn read_json<T: DeserializeOwned>(path: &Path, hint: impl Fn() -> Text) -> Result<T, Notice> {
    let why = match fermi_named_file::read_text(path) {
        Ok(text) => match serde_json::from_str::<T>(&text) {
            Ok(value) => return Ok(value),
            Err(error) => reason::of_json(&error),
        },
        Err(error) => reason::of_io(&error),
    };
    let path = path.display();
    Err(Notice::new(
        "file_unreadable",
        Text::new(format!("读不了 {path}：{}", why.zh), format!("cannot read {path}: {}", why.en)),
        hint(),
    ))
}

/// The built-in trainer's model as a row of the planner.
fn built_in(preset: Preset) -> Run {
    Run {
        layers: Some(preset.layers() as f64),
        hidden: Some(preset.width() as f64),
        heads: Some(preset.heads() as f64),
        ffn: Some(preset.width() as f64 * 4.0),
        vocab: Some(256.0),
        tied_embeddings: Some(true),
        seq_len: Some(preset.context() as f64),
        precision: Some("fp32".to_owned()),
        sharding: Some("ddp".to_owned()),
        optimizer: Some("adamw".to_owned()),
        recompute: Some("none".to_owned()),
        ..Run::default()
    }
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

fn row_required() -> Notice {
    Notice::new(
        "row_required",
        Text::new(
            "要校准规划器，须说明这条命令训练什么",
            "to teach the planner it has to know what the command trains",
        ),
        Text::new(
            "用 --row 给出文件，形如 {\"model_name\": \"gpt2\", \"seq_len\": 1024, \"precision\": \"bf16\", \"sharding\": \"ddp\"}",
            "name a file by --row, such as {\"model_name\": \"gpt2\", \"seq_len\": 1024, \"precision\": \"bf16\", \"sharding\": \"ddp\"}",
        ),
    )
}

fn all_share(devices: u64, has_gpus: bool) -> Notice {
    let (zh, en) = if has_gpus { ("块 GPU", "GPUs") } else { ("个 CPU 核", "CPU cores") };
    Notice::new(
        "devices_shared",
        Text::new(
            format!("本机只有 {devices} {zh}，所列进程数都要共用：规划器不从中学习"),
            format!(
                "this machine has {devices} {en}, and all these numbers of processes share them: the planner learns nothing from that"
            ),
        ),
        Text::new(
            format!("在 --num-gpus-list 中加上 1 到 {devices}"),
            format!("add 1 to {devices} to --num-gpus-list"),
        ),
    )
}

fn unwritten(folder: &Path, error: &std::io::Error) -> Notice {
    let (folder, why) = (folder.display(), reason::of_io(error));
    Notice::new(
        "results_unwritten",
        Text::new(format!("写不进 {folder}：{}", why.zh), format!("cannot write to {folder}: {}", why.en)),
        Text::new("用 --results-dir 换一个可写的位置", "choose a place that can be written by --results-dir"),
    )
}

fn progress(at: usize, all: usize, planned: &Planned, outcome: Option<&str>) {
    let (at, n, batch) = (at + 1, planned.processes, planned.batch);
    let line = match (speech::language(), planned.scaling) {
        (Language::ZhCn, Scaling::Weak) => format!("[{at}/{all}] 弱扩展，{n} 个进程，每个 {batch} 条"),
        (Language::ZhCn, Scaling::Strong) => format!("[{at}/{all}] 强扩展，{n} 个进程，每个 {batch} 条"),
        (Language::En, Scaling::Weak) => format!("[{at}/{all}] weak, {n} processes with {batch} sequences each"),
        (Language::En, Scaling::Strong) => format!("[{at}/{all}] strong, {n} processes with {batch} sequences each"),
    };
    match outcome {
        Some(outcome) => speech::say(&format!("{line}  {outcome}\n")),
        None if std::io::IsTerminal::is_terminal(&std::io::stderr()) => speech::say(&format!("{line} …\r")),
        None => {}
    }
}

fn show(flags: &ScaleFlags, found: &Measurement) {
    if flags.json {
        speech::print_json(&found.json());
        return;
    }
    let language = speech::language();
    speech::print(&format!("\n{}\n{}", found.title(language), found.table(language, Paint::for_stdout())));
    for note in &found.notes {
        speech::say(&format!("  ! {}\n", note.in_language(language)));
    }
    let folder = flags.results_dir.display();
    let names = [&TEXTS[..], &[PICTURE]].concat().join(", ");
    if !found.trials.is_empty() {
        speech::say(&match language {
            Language::ZhCn => format!("  已写入 {folder}：{names}\n"),
            Language::En => format!("  written to {folder}: {names}\n"),
        });
    }
    if let Some(learned) = &found.learned {
        speech::say(&format!("  {}\n", learned.text().in_language(language)));
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        scale: ScaleFlags,
    }

    fn flags(line: &str) -> ScaleFlags {
        Line::try_parse_from(line.split(' ')).expect("the line is read").scale
    }

    #[test]
    fn strong_scaling_shares_out_the_batch_of_the_most_and_repeats_go_round() {
        let planned = flags("scale --num-gpus-list 4 1 2 --repeats 2 --batch 3").planned();
        let short: Vec<_> = planned.iter().map(|it| (it.scaling, it.processes, it.batch)).collect();
        let once = [
            (Scaling::Weak, 1, 3),
            (Scaling::Weak, 2, 3),
            (Scaling::Weak, 4, 3),
            (Scaling::Strong, 1, 12),
            (Scaling::Strong, 2, 6),
            (Scaling::Strong, 4, 3),
        ];
        assert_eq!(short, [once, once].concat());
    }

    #[test]
    fn a_command_gets_its_batch_or_is_measured_by_weak_scaling_alone() {
        let filled = flags("scale --batch 2 -- -m train --per-gpu {batch} --all={global_batch}");
        let planned = Planned { scaling: Scaling::Weak, processes: 4, batch: 2 };
        assert_eq!(filled.words(&planned).join(" "), "-m train --per-gpu 2 --all=8");
        let silent = flags("scale --repeats 1 -- train.py");
        assert!(silent.planned().iter().all(|it| it.scaling == Scaling::Weak));
        assert_eq!(silent.notes(64, false).len(), 1);
    }

    #[test]
    fn processes_beyond_the_cores_are_named_beforehand() {
        let notes = flags("scale --num-gpus-list 1 2 4 8").notes(2, false);
        assert!(notes[0].en.contains("2 CPU cores: 4, 8 processes share them"), "{}", notes[0].en);
        assert!(flags("scale --num-gpus-list 1 2").notes(2, false).is_empty());
    }
}
