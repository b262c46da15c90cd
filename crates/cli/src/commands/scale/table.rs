//! What the runs say together: one line for each number of processes, with its spread and its efficiency. Pure.

use serde::{Deserialize, Serialize};

/// What stays the same while processes are added: by weak scaling the batch of each, so that the whole grows with them; by
/// strong scaling the whole batch, so that each has less to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Scaling {
    Weak,
    Strong,
}

/// One run that has ended well.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trial {
    pub scaling: Scaling,
    pub processes: u64,
    pub global_batch: Option<u64>,
    pub speed: f64,
    /// The most that a process had of host memory, or a GPU in use.
    pub memory_bytes: Option<u64>,
}

/// A point of another curve, as `fermi plan scale` predicts it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Predicted {
    pub gpus: u64,
    pub efficiency: f64,
    #[serde(default)]
    pub network_gbps: Option<f64>,
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    pub scaling: Scaling,
    pub processes: u64,
    pub global_batch: Option<u64>,
    pub runs: usize,
    /// The median of the runs, and how far they lie apart: (most - least) / median.
    pub speed: f64,
    pub spread: f64,
    pub memory_bytes: Option<u64>,
    /// Over one process; None where processes share a core or a GPU, which is no scaling.
    pub speedup: Option<f64>,
    pub efficiency: Option<f64>,
    pub shares_devices: bool,
    pub predicted_efficiency: Option<f64>,
}

/// All lines, weak before strong, by rising numbers of processes. `devices` is how many processes have one of their own.
pub fn lines(trials: &[Trial], devices: u64, predicted: &[Predicted]) -> Vec<Line> {
    let mut keys: Vec<(Scaling, u64)> = trials.iter().map(|trial| (trial.scaling, trial.processes)).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut all: Vec<Line> = keys.into_iter().map(|key| line(trials, key, devices, predicted)).collect();
    for scaling in [Scaling::Weak, Scaling::Strong] {
        let mut own: Vec<&mut Line> =
            all.iter_mut().filter(|line| line.scaling == scaling && !line.shares_devices).collect();
        let Some(alone) = own.first().map(|base| base.speed / base.processes as f64).filter(|alone| *alone > 0.0)
        else {
            continue;
        };
        for line in &mut own {
            line.speedup = Some(line.speed / alone);
            line.efficiency = Some(line.speed / alone / line.processes as f64);
        }
    }
    all
}

fn line(trials: &[Trial], (scaling, processes): (Scaling, u64), devices: u64, predicted: &[Predicted]) -> Line {
    let of: Vec<&Trial> =
        trials.iter().filter(|trial| (trial.scaling, trial.processes) == (scaling, processes)).collect();
    let speeds: Vec<f64> = of.iter().map(|trial| trial.speed).collect();
    let speed = median(&speeds).unwrap_or(0.0);
    let (least, most) = speeds.iter().fold((f64::MAX, f64::MIN), |(low, high), it| (low.min(*it), high.max(*it)));
    let forecast = |it: &&Predicted| it.gpus == processes && it.network_gbps.is_none();
    Line {
        scaling,
        processes,
        global_batch: of.first().and_then(|trial| trial.global_batch),
        runs: of.len(),
        speed,
        spread: if speed > 0.0 { (most - least) / speed } else { 0.0 },
        memory_bytes: of.iter().filter_map(|trial| trial.memory_bytes).max(),
        speedup: None,
        efficiency: None,
        shares_devices: processes > devices,
        // What is predicted keeps the batch of each process.
        predicted_efficiency: (scaling == Scaling::Weak)
            .then(|| predicted.iter().find(forecast).map(|it| it.efficiency))
            .flatten(),
    }
}

pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(scaling: Scaling, processes: u64, speed: f64) -> Trial {
        Trial { scaling, processes, global_batch: Some(8), speed, memory_bytes: Some(processes) }
    }

    #[test]
    fn efficiency_is_speed_over_processes_times_the_speed_of_one() {
        use Scaling::{Strong, Weak};
        let trials = [
            trial(Weak, 2, 180.0),
            trial(Weak, 1, 90.0),
            trial(Weak, 1, 110.0),
            trial(Weak, 1, 100.0),
            trial(Weak, 4, 320.0),
            trial(Strong, 2, 150.0),
            trial(Strong, 4, 200.0),
        ];
        let found = lines(&trials, 4, &[]);
        let short: Vec<_> = found.iter().map(|it| (it.scaling, it.processes, it.speedup, it.efficiency)).collect();
        // Without a run of one process the fewest stand for it.
        let expected = [
            (Weak, 1, Some(1.0), Some(1.0)),
            (Weak, 2, Some(1.8), Some(0.9)),
            (Weak, 4, Some(3.2), Some(0.8)),
            (Strong, 2, Some(2.0), Some(1.0)),
            (Strong, 4, Some(200.0 / 75.0), Some(200.0 / 75.0 / 4.0)),
        ];
        assert_eq!(short, expected);
        assert_eq!((found[0].runs, found[0].speed, found[0].spread), (3, 100.0, 0.2));
    }

    #[test]
    fn processes_that_share_a_core_are_not_called_scaling() {
        let trials = [trial(Scaling::Weak, 1, 100.0), trial(Scaling::Weak, 2, 190.0), trial(Scaling::Weak, 8, 200.0)];
        let found = lines(&trials, 2, &[]);
        assert_eq!(found[1].efficiency, Some(0.95));
        assert!(found[2].shares_devices && found[2].efficiency.is_none() && found[2].speedup.is_none());
        assert_eq!(found[2].speed, 200.0);
    }

    #[test]
    fn a_prediction_stands_beside_the_measured_line_of_one_node() {
        let predicted = [
            Predicted { gpus: 2, efficiency: 0.96, network_gbps: None },
            Predicted { gpus: 4, efficiency: 0.5, network_gbps: Some(10.0) },
        ];
        let trials = [trial(Scaling::Weak, 2, 1.0), trial(Scaling::Weak, 4, 1.0), trial(Scaling::Strong, 2, 1.0)];
        let found: Vec<_> = lines(&trials, 8, &predicted).iter().map(|it| it.predicted_efficiency).collect();
        assert_eq!(found, [Some(0.96), None, None]);
    }

    #[test]
    fn nothing_measured_is_an_empty_table() {
        assert_eq!(lines(&[], 2, &[]), []);
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    }
}
