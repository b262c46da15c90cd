//! What stands beside measured lines: what a file says, or the planner by itself; and what the planner is taught.

use std::path::Path;

use fermi_domain::language::{Notice, Text, reason};
use fermi_hardware::memory;
use fermi_planner::framework::BUILT_IN;
use fermi_planner::run::Run;
use fermi_trainer::Preset;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::fleet::Device;
use super::lesson::{CORE_BANDWIDTH_GBS, Subject};
use super::measuring::Ground;
use super::refusals::{all_share, row_required};
use super::report::{CALIBRATION, Learned, Measurement};
use super::table::{Forecast, Scaling, Trial, lines};
use super::{Refusal, ScaleFlags};

/// Who says what is to be expected.
#[derive(Debug)]
pub enum Forecaster {
    /// What is trained is not known.
    Nobody,
    /// `fermi plan scale`, in a file.
    File(Vec<Forecast>),
    Planner(Box<Subject>),
}

impl Forecaster {
    pub fn forecasts(&self, trials: &[Trial], unit: &str) -> Vec<Forecast> {
        match self {
            Self::Nobody => Vec::new(),
            Self::File(forecasts) => forecasts.clone(),
            Self::Planner(subject) => subject.forecasts(trials, unit),
        }
    }
}

impl ScaleFlags {
    /// Refuses a file that cannot be read, and what the planner is to be taught and could not learn from.
    pub fn forecaster(&self, ground: &Ground) -> Result<Forecaster, Refusal> {
        if let Some(path) = &self.predicted {
            return Ok(Forecaster::File(read_predicted(path, ground)?));
        }
        let is_asked_for = self.calibrate || self.row.is_some();
        let counts = self.counts();
        if self.calibrate && counts.iter().all(|count| ground.shares_devices(*count)) {
            return Err(all_share(ground.devices(), ground.has_gpus(), ground.noun()).into());
        }
        let row = match (&self.row, self.command.as_slice()) {
            (Some(path), _) => read_json::<Run>(path, || {
                Text::new(
                    "文件形如 {\"model_name\": \"gpt2\", \"seq_len\": 1024}",
                    "the file has the form {\"model_name\": \"gpt2\", \"seq_len\": 1024}",
                )
            })?,
            (None, []) => built_in(self.preset),
            (None, _) if self.calibrate => return Err(row_required().into()),
            (None, _) => return Ok(Forecaster::Nobody),
        };
        let subject = subject(row, ground);
        let fewest = counts.first().copied().unwrap_or(1);
        let (processes, nodes) = (ground.processes(fewest), matches!(ground, Ground::Nodes(_)).then_some(fewest));
        match subject.check(nodes, processes, self.knows_batch().then_some(self.batch * processes)) {
            Ok(()) => Ok(Forecaster::Planner(Box::new(subject))),
            Err(notice) if is_asked_for => Err(notice.into()),
            Err(_) => Ok(Forecaster::Nobody),
        }
    }

    /// The planner learns from what was measured, where it is to, and its curve stands beside it.
    pub fn teach(&self, by: &Forecaster, found: &mut Measurement) -> Result<(), Notice> {
        let Forecaster::Planner(subject) = by else { return Ok(()) };
        if !self.calibrate || found.trials.is_empty() {
            return Ok(());
        }
        let lesson = subject.learn(&found.trials, found.unit)?;
        found.lines = lines(&found.trials, &lesson.forecasts);
        found.notes.extend(lesson.note());
        let file = self.results_dir.join(CALIBRATION);
        found.learned = Some(Learned { lesson, file });
        self.write(found)
    }
}

/// The row with what is known of the devices.
fn subject(mut row: Run, ground: &Ground) -> Subject {
    let gpu = match ground {
        Ground::Here { gpus, .. } => {
            gpus.as_ref().and_then(|gpus| gpus.list().into_iter().next()).map(|gpu| (gpu.model, gpu.memory))
        }
        Ground::Nodes(nodes) if nodes.device == Device::Gpu => {
            let first = nodes.fleet.environments.first().and_then(|environment| environment.gpus.first());
            first.map(|gpus| (gpus.model.clone(), gpus.memory.0))
        }
        Ground::Nodes(_) => None,
    };
    if let Some((model, bytes)) = gpu.filter(|_| row.gpu.is_none()) {
        row.gpu = Some(model);
        row.gpu_mem_gib = row.gpu_mem_gib.or(Some(gib(bytes)));
    }
    let is_on_cores = row.gpu.is_none() && row.gpu_tflops.is_none();
    if is_on_cores {
        let all = match ground {
            Ground::Here { .. } => gib(memory::measure().total),
            Ground::Nodes(nodes) => nodes.fleet.environments.iter().map(|environment| environment.memory as f64).sum(),
        };
        row.gpu_mem_gib = row.gpu_mem_gib.or(Some(all / ground.devices().max(1) as f64));
        row.gpu_bandwidth_gbs = row.gpu_bandwidth_gbs.or(Some(CORE_BANDWIDTH_GBS));
    }
    Subject { row, is_on_cores }
}

/// The part of `fermi plan scale`'s file that is needed.
#[derive(Deserialize)]
struct PredictedFile {
    points: Vec<Predicted>,
}

/// A point of that curve.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
struct Predicted {
    #[serde(default)]
    nodes: Option<u64>,
    gpus: u64,
    efficiency: f64,
    #[serde(default)]
    network_gbps: Option<f64>,
}

/// What is predicted keeps the batch of each process. Of processes the points of one node are taken, of nodes the first of each
/// number: of several networks that is the slowest that was asked for first.
fn read_predicted(path: &Path, ground: &Ground) -> Result<Vec<Forecast>, Notice> {
    let hint = || {
        Text::new(
            "用 fermi plan scale --results-dir 写出 scaling.json",
            "write scaling.json with fermi plan scale --results-dir",
        )
    };
    let points = read_json::<PredictedFile>(path, hint)?.points;
    Ok(forecasts(&points, matches!(ground, Ground::Nodes(_))))
}

fn forecasts(points: &[Predicted], are_nodes: bool) -> Vec<Forecast> {
    let of = |point: &Predicted| {
        let count = match are_nodes {
            true => point.nodes?,
            false => point.network_gbps.is_none().then_some(point.gpus)?,
        };
        Some(Forecast { scaling: Scaling::Weak, count, efficiency: point.efficiency })
    };
    points.iter().filter_map(of).collect()
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
        framework: Some(BUILT_IN.to_owned()),
        ..Run::default()
    }
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_is_of_processes_on_one_node_or_of_nodes() {
        let point =
            |nodes, gpus, network_gbps, efficiency| Predicted { nodes: Some(nodes), gpus, efficiency, network_gbps };
        let points = [point(1, 2, None, 0.96), point(2, 4, Some(10.0), 0.5), point(2, 4, Some(100.0), 0.9)];
        let short = |are_nodes| -> Vec<_> {
            forecasts(&points, are_nodes).iter().map(|it| (it.scaling, it.count, it.efficiency)).collect()
        };
        assert_eq!(short(false), [(Scaling::Weak, 2, 0.96)]);
        assert_eq!(short(true), [(Scaling::Weak, 1, 0.96), (Scaling::Weak, 2, 0.5), (Scaling::Weak, 2, 0.9)]);
    }

    #[test]
    fn the_built_in_trainer_is_predicted_without_being_asked_and_every_preset_names_a_rate() {
        for (preset, speed) in [(Preset::Tiny, 90_000.0), (Preset::Small, 12_000.0), (Preset::Base, 2_500.0)] {
            let subject = subject(built_in(preset), &Ground::Here { gpus: None, devices: 2 });
            let trial = |processes: u64, speed: f64| Trial {
                scaling: Scaling::Weak,
                nodes: None,
                processes,
                global_batch: Some(4 * processes),
                speed,
                memory_bytes: None,
                shares_devices: false,
            };
            let trials = [trial(1, speed), trial(2, 1.8 * speed)];
            let found = subject.forecasts(&trials, "tokens/s");
            assert_eq!(found.len(), 2, "{preset}: {found:?}");
            let rate = subject.learn(&trials, "tokens/s").unwrap().device.unwrap().tflops;
            assert!((0.01..5.0).contains(&rate), "{preset}: {rate} TFLOP/s of a core");
        }
    }
}
