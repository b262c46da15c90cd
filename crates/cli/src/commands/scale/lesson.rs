//! What measured runs teach the planner: each run as one of its rows, what it predicts beside them, and the constants that it
//! learns from them. Pure.

use fermi_domain::language::{Language, Notice, Text};
use fermi_planner::calibrate::{Calibration, calibrate, samples};
use fermi_planner::catalogue::Catalogue;
use fermi_planner::constants::Constants;
use fermi_planner::device::{DeviceLink, DeviceNumbers, DeviceUnknown};
use fermi_planner::predict::predict;
use fermi_planner::resolve;
use fermi_planner::run::Run;

use super::table::{Forecast, Scaling, Trial};

/// What a core of a processor streams, in GB/s: what it works on is in its caches, and of little weight beside the computing.
pub const CORE_BANDWIDTH_GBS: f64 = 100.0;

/// What is trained, and on what.
#[derive(Clone, Debug)]
pub struct Subject {
    /// A row of the planner without numbers of processes, batch and outcome.
    pub row: Run,
    /// Whether the row lacks the rate of its device, as of a core: it is found from the runs.
    pub is_on_cores: bool,
}

/// What was learned.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// Rows for `fermi plan calibrate` and its kin.
    pub rows: Vec<Run>,
    pub calibration: Calibration,
    /// The curve by the learned constants.
    pub forecasts: Vec<Forecast>,
    /// The device, where no catalogue knows it.
    pub device: Option<DeviceNumbers>,
}

impl Subject {
    /// Refuses what the planner cannot model, before anything has run.
    pub fn check(&self, nodes: Option<u64>, processes: u64, global_batch: Option<u64>) -> Result<(), Notice> {
        let (scaling, memory_bytes) = (Scaling::Weak, None);
        let trial = Trial { scaling, nodes, processes, global_batch, speed: 1.0, memory_bytes, shares_devices: false };
        let row = self.row_of(&trial, "steps/s").ok_or_else(batch_unknown)?;
        let some = DeviceNumbers { tflops: 1.0, link: DeviceLink::Unused };
        let row = if self.is_on_cores { some.run(&row) } else { row };
        resolve::job(&row, &Catalogue::builtin()).map(drop).map_err(|error| Notice::of(&error))
    }

    /// A run as a row; none where its batch is not known.
    fn row_of(&self, trial: &Trial, unit: &str) -> Option<Run> {
        let base = &self.row;
        let of = |count: Option<f64>| count.filter(|count| *count >= 1.0).unwrap_or(1.0);
        let (nodes, processes) = (trial.nodes.unwrap_or(1) as f64, trial.processes as f64);
        let replicas = (processes / (of(base.tp) * of(base.pp) * of(base.cp))).max(1.0);
        let stated = base.micro_batch.map(|micro| micro * of(base.grad_accum) * replicas);
        let global_batch = trial.global_batch.map(|batch| batch as f64).or(stated)?;
        let micro_batch = base.micro_batch.unwrap_or((global_batch / replicas / of(base.grad_accum)).max(1.0));
        let (tokens_per_s, step_time_s) = match unit {
            "tokens/s" => (Some(trial.speed), None),
            "samples/s" => (None, Some(global_batch / trial.speed)),
            _ => (None, Some(1.0 / trial.speed)),
        };
        Some(Run {
            nodes: Some(nodes),
            gpus: Some(processes),
            gpus_per_node: Some((processes / nodes).ceil()),
            global_batch: Some(global_batch),
            micro_batch: Some(micro_batch),
            tokens_per_s,
            step_time_s,
            ..base.clone()
        })
    }

    /// What the planner says beside the runs, untaught. The rate of a core is that of the runs of the fewest, so that these
    /// are met and the others are predicted; without one nothing is said.
    pub fn forecasts(&self, trials: &[Trial], unit: &str) -> Vec<Forecast> {
        let constants = Constants::builtin();
        let own = || trials.iter().filter(|trial| !trial.shares_devices);
        let fewest = own().map(Trial::count).min();
        let first = own().filter(|trial| Some(trial.count()) == fewest);
        let rows: Vec<Run> = first.filter_map(|trial| self.row_of(trial, unit)).collect();
        match self.device(&rows, &constants) {
            Ok(device) => self.curves(trials, unit, device, &constants),
            Err(_) => Vec::new(),
        }
    }

    /// Learns from the runs whose processes had a device each.
    pub fn learn(&self, trials: &[Trial], unit: &str) -> Result<Lesson, Notice> {
        let (catalogue, constants) = (Catalogue::builtin(), Constants::builtin());
        let own = trials.iter().filter(|trial| !trial.shares_devices);
        let rows: Vec<Run> = own.filter_map(|trial| self.row_of(trial, unit)).collect();
        let device = self.device(&rows, &constants).map_err(|unknown| match unknown {
            DeviceUnknown::NoRun => nothing_learned(),
            DeviceUnknown::RateHidden => rate_hidden(),
        })?;
        let rows: Vec<Run> = rows.iter().map(|row| placed(row, device)).collect();
        let calibration = calibrate(&samples(&rows, &catalogue), &constants).ok_or_else(nothing_learned)?;
        let forecasts = self.curves(trials, unit, device, &calibration.constants);
        Ok(Lesson { forecasts, rows, calibration, device })
    }

    /// The device that did these runs, where no catalogue knows it.
    fn device(&self, rows: &[Run], constants: &Constants) -> Result<Option<DeviceNumbers>, DeviceUnknown> {
        match self.is_on_cores {
            true => DeviceNumbers::learned(rows, &Catalogue::builtin(), constants).map(Some),
            false => Ok(None),
        }
    }

    /// Both curves, each over its own beginning.
    fn curves(
        &self,
        trials: &[Trial],
        unit: &str,
        device: Option<DeviceNumbers>,
        constants: &Constants,
    ) -> Vec<Forecast> {
        let catalogue = Catalogue::builtin();
        let mut all = Vec::new();
        for scaling in [Scaling::Weak, Scaling::Strong] {
            let mut own: Vec<&Trial> = trials.iter().filter(|trial| trial.scaling == scaling).collect();
            own.sort_by_key(|trial| trial.count());
            own.dedup_by_key(|trial| trial.count());
            let each: Vec<(u64, f64)> = own
                .into_iter()
                .filter_map(|trial| {
                    let row = placed(&self.row_of(trial, unit)?, device);
                    let answer = predict(&row, &catalogue, constants, Language::En);
                    Some((trial.count(), answer.numbers()?.tokens_per_s / trial.processes as f64))
                })
                .collect();
            let alone = each.first().map_or(1.0, |(_, speed)| *speed);
            all.extend(each.into_iter().map(|(count, speed)| Forecast { scaling, count, efficiency: speed / alone }));
        }
        all
    }
}

fn placed(row: &Run, device: Option<DeviceNumbers>) -> Run {
    device.map_or_else(|| row.clone(), |device| device.run(row))
}

impl Lesson {
    /// What these runs could not teach.
    pub fn note(&self) -> Option<Text> {
        // Between nodes it is the network that sends.
        let has_link = self.rows.iter().any(|row| row.gpus_per_node.is_some_and(|processes| processes > 1.0));
        let is_hidden = has_link && self.device.is_some_and(|device| device.link == DeviceLink::Hidden);
        is_hidden.then(|| {
            Text::new(
                "从这些运行求不出进程之间链路的速度：发送都隐藏在计算之后。要求出它，用更小的 --batch 再测；已知时用 --gpu-link 给出",
                "the speed of the link between processes cannot be learned from these runs: their sending is hidden behind computing. To learn it, measure with a smaller --batch; if you know it, give it by --gpu-link",
            )
        })
    }
}

fn batch_unknown() -> Notice {
    Notice::new(
        "batch_unknown",
        Text::new(
            "不知道批次，规划器既无从预测也无从学习",
            "the batch is not known, and without it the planner can neither predict nor learn",
        ),
        Text::new(
            "在命令中写 {batch} 或 {global_batch}，或在 --row 的文件中写 micro_batch",
            "put {batch} or {global_batch} into the command, or micro_batch into the file of --row",
        ),
    )
}

fn nothing_learned() -> Notice {
    Notice::new(
        "nothing_learned",
        Text::new("没有一次运行可用于校准", "no run can be learned from"),
        Text::new(
            "至少要有一次成功的运行，且每个进程有自己的核或 GPU",
            "one run has to end well whose processes have a core or a GPU each",
        ),
    )
}

fn rate_hidden() -> Notice {
    Notice::new(
        "rate_hidden",
        Text::new(
            "求不出一个核的速度：每步用时比规划器计入的固定开销还短，无从校准",
            "the rate of a core cannot be learned: a step takes less time than the planner counts for what surrounds the computing",
        ),
        Text::new(
            "换更大的模型或批次再测：--batch，内置训练器用 --preset small",
            "measure a larger model or batch: --batch, --preset small for the built-in trainer",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(micro_batch: Option<f64>) -> Subject {
        let row = Run {
            model_name: Some("gpt2".to_owned()),
            seq_len: Some(1024.0),
            gpu: Some("A100-80".to_owned()),
            micro_batch,
            ..Run::default()
        };
        Subject { row, is_on_cores: false }
    }

    fn trial(processes: u64, speed: f64) -> Trial {
        let (scaling, global_batch) = (Scaling::Weak, Some(8 * processes));
        Trial { scaling, nodes: None, processes, global_batch, speed, memory_bytes: None, shares_devices: false }
    }

    #[test]
    fn a_speed_becomes_an_outcome_by_its_unit() {
        let subject = subject(None);
        let outcome = |unit: &str| subject.row_of(&trial(2, 4.0), unit).map(|row| (row.tokens_per_s, row.step_time_s));
        assert_eq!(outcome("tokens/s"), Some((Some(4.0), None)));
        assert_eq!(outcome("samples/s"), Some((None, Some(4.0))));
        assert_eq!(outcome("steps/s"), Some((None, Some(0.25))));
        let row = subject.row_of(&trial(2, 4.0), "steps/s").unwrap();
        assert_eq!((row.gpus, row.micro_batch, row.global_batch), (Some(2.0), Some(8.0), Some(16.0)));
    }

    #[test]
    fn what_cannot_be_modelled_is_refused_before_anything_runs() {
        assert!(subject(None).check(None, 1, Some(8)).is_ok());
        assert!(subject(Some(4.0)).check(None, 1, None).is_ok());
        assert!(subject(None).check(None, 1, None).is_err());
        let nameless = Subject { row: Run { gpu: None, ..subject(None).row }, is_on_cores: false };
        assert!(nameless.check(None, 1, Some(8)).is_err());
    }

    #[test]
    fn runs_that_share_a_device_teach_nothing_and_the_curve_follows_what_was_measured() {
        let shared = Trial { shares_devices: true, ..trial(4, 120_000.0) };
        let trials = [trial(1, 60_000.0), trial(2, 110_000.0), shared];
        let lesson = subject(None).learn(&trials, "tokens/s").unwrap();
        assert_eq!((lesson.rows.len(), lesson.calibration.runs), (2, 2));
        assert!(lesson.calibration.error_after <= lesson.calibration.error_before, "{lesson:?}");
        let counts: Vec<u64> = lesson.forecasts.iter().map(|it| it.count).collect();
        assert_eq!((counts, lesson.forecasts[0].efficiency), (vec![1, 2, 4], 1.0));
        assert!(subject(None).learn(&trials[2..], "tokens/s").is_err());
    }

    #[test]
    fn the_planner_says_what_it_expects_without_being_taught() {
        let strong = Trial { scaling: Scaling::Strong, global_batch: Some(16), ..trial(1, 60_000.0) };
        let found = subject(None).forecasts(&[trial(1, 60_000.0), trial(2, 90_000.0), strong], "tokens/s");
        let short: Vec<_> = found.iter().map(|it| (it.scaling, it.count)).collect();
        assert_eq!(short, [(Scaling::Weak, 1), (Scaling::Weak, 2), (Scaling::Strong, 1)]);
        assert!(found[1].efficiency > 0.5 && found[1].efficiency <= 1.0, "{found:?}");
        // Two nodes that talk over a network do no better than two GPUs of one.
        let nodes = |nodes: u64| Trial { nodes: Some(nodes), ..trial(nodes, 60_000.0) };
        let apart = subject(None).forecasts(&[nodes(1), nodes(2)], "tokens/s");
        assert!(apart[1].efficiency <= found[1].efficiency, "{apart:?}");
    }

    #[test]
    fn a_link_that_does_not_show_is_said_to_be_unknown() {
        let row = Run {
            layers: Some(4.0),
            hidden: Some(256.0),
            heads: Some(4.0),
            vocab: Some(256.0),
            seq_len: Some(256.0),
            gpu_mem_gib: Some(4.0),
            precision: Some("fp32".to_owned()),
            ..Run::default()
        };
        let cores = Subject { row, is_on_cores: true };
        let lesson = cores.learn(&[trial(1, 1_000.0), trial(2, 2_000.0)], "tokens/s").unwrap();
        assert_eq!(lesson.device.unwrap().link, DeviceLink::Hidden);
        assert!(lesson.note().unwrap().en.contains("cannot be learned"), "{:?}", lesson.note());
        assert!(lesson.rows.iter().all(|row| row.gpu_link_gbs.is_none()), "{:?}", lesson.rows);
        let slow = cores.learn(&[trial(1, 1_000.0), trial(2, 400.0)], "tokens/s").unwrap();
        assert!(slow.device.unwrap().link.gbs().is_some() && slow.note().is_none(), "{:?}", slow.device);
    }
}
