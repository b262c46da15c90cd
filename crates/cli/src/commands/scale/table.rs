//! What the runs say together: one line for each number of processes, with its spread and its efficiency. Pure.

use serde::Serialize;

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
    /// Where environments are compared: how many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    pub processes: u64,
    pub global_batch: Option<u64>,
    pub speed: f64,
    /// The most that a process had of host memory, or a GPU in use.
    pub memory_bytes: Option<u64>,
    /// Its processes shared cores or GPUs.
    pub shares_devices: bool,
}

impl Trial {
    /// What is compared: nodes, else processes.
    pub fn count(&self) -> u64 {
        self.nodes.unwrap_or(self.processes)
    }
}

/// What somebody predicts beside a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    pub scaling: Scaling,
    /// As [`Trial::count`].
    pub count: u64,
    pub efficiency: f64,
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    pub scaling: Scaling,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    pub processes: u64,
    pub global_batch: Option<u64>,
    pub runs: usize,
    /// The median of the runs, and how far they lie apart: (most - least) / median.
    pub speed: f64,
    pub spread: f64,
    pub memory_bytes: Option<u64>,
    /// Over one process, or one node; None where processes share a core or a GPU, which is no scaling.
    pub speedup: Option<f64>,
    pub efficiency: Option<f64>,
    pub shares_devices: bool,
    pub predicted_efficiency: Option<f64>,
}

impl Line {
    /// As [`Trial::count`].
    pub fn count(&self) -> u64 {
        self.nodes.unwrap_or(self.processes)
    }
}

/// All lines, weak before strong, by rising numbers of processes or nodes.
pub fn lines(trials: &[Trial], forecasts: &[Forecast]) -> Vec<Line> {
    let mut keys: Vec<(Scaling, u64)> = trials.iter().map(|trial| (trial.scaling, trial.count())).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut all: Vec<Line> = keys.into_iter().filter_map(|key| line(trials, key, forecasts)).collect();
    for scaling in [Scaling::Weak, Scaling::Strong] {
        let mut own: Vec<&mut Line> =
            all.iter_mut().filter(|line| line.scaling == scaling && !line.shares_devices).collect();
        let Some((speed, count, processes)) = own
            .first()
            .map(|base| (base.speed, base.count() as f64, base.processes as f64))
            .filter(|base| base.0 > 0.0)
        else {
            continue;
        };
        for line in &mut own {
            line.speedup = Some(line.speed / speed * count);
            // By processes, since nodes need not have the same number of them.
            line.efficiency = Some(line.speed / line.processes as f64 / (speed / processes));
        }
    }
    all
}

fn line(trials: &[Trial], (scaling, count): (Scaling, u64), forecasts: &[Forecast]) -> Option<Line> {
    let of: Vec<&Trial> = trials.iter().filter(|trial| (trial.scaling, trial.count()) == (scaling, count)).collect();
    let first = of.first()?;
    let speeds: Vec<f64> = of.iter().map(|trial| trial.speed).collect();
    let speed = median(&speeds).unwrap_or(0.0);
    let (least, most) = speeds.iter().fold((f64::MAX, f64::MIN), |(low, high), it| (low.min(*it), high.max(*it)));
    let forecast = forecasts.iter().find(|it| (it.scaling, it.count) == (scaling, count));
    Some(Line {
        scaling,
        nodes: first.nodes,
        processes: first.processes,
        global_batch: first.global_batch,
        runs: of.len(),
        speed,
        spread: if speed > 0.0 { (most - least) / speed } else { 0.0 },
        memory_bytes: of.iter().filter_map(|trial| trial.memory_bytes).max(),
        speedup: None,
        efficiency: None,
        shares_devices: first.shares_devices,
        predicted_efficiency: forecast.map(|it| it.efficiency),
    })
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
        let (global_batch, memory_bytes) = (Some(8), Some(processes));
        Trial { scaling, nodes: None, processes, global_batch, speed, memory_bytes, shares_devices: false }
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
        let found = lines(&trials, &[]);
        let short: Vec<_> = found.iter().map(|it| (it.scaling, it.processes, it.speedup, it.efficiency)).collect();
        // Without a run of one process the fewest stand for it.
        let expected = [
            (Weak, 1, Some(1.0), Some(1.0)),
            (Weak, 2, Some(1.8), Some(0.9)),
            (Weak, 4, Some(3.2), Some(0.8)),
            (Strong, 2, Some(2.0), Some(1.0)),
            (Strong, 4, Some(200.0 / 75.0), Some(200.0 / 4.0 / 75.0)),
        ];
        assert_eq!(short, expected);
        assert_eq!((found[0].runs, found[0].speed, found[0].spread), (3, 100.0, 0.2));
    }

    #[test]
    fn processes_that_share_a_core_are_not_called_scaling() {
        let shared = Trial { shares_devices: true, ..trial(Scaling::Weak, 8, 200.0) };
        let found = lines(&[trial(Scaling::Weak, 1, 100.0), trial(Scaling::Weak, 2, 190.0), shared], &[]);
        assert_eq!(found[1].efficiency, Some(0.95));
        assert!(found[2].shares_devices && found[2].efficiency.is_none() && found[2].speedup.is_none());
        assert_eq!(found[2].speed, 200.0);
    }

    #[test]
    fn nodes_are_compared_by_their_number_and_their_processes() {
        let on = |nodes: u64, processes: u64, speed: f64| Trial {
            nodes: Some(nodes),
            ..trial(Scaling::Weak, processes, speed)
        };
        // The third node has as many processes as the first two together.
        let found = lines(&[on(1, 2, 100.0), on(2, 4, 190.0), on(3, 8, 360.0)], &[]);
        let short: Vec<_> = found.iter().map(|it| (it.count(), it.speedup, it.efficiency)).collect();
        assert_eq!(short, [(1, Some(1.0), Some(1.0)), (2, Some(1.9), Some(0.95)), (3, Some(3.6), Some(0.9))]);
    }

    #[test]
    fn a_forecast_stands_beside_the_line_that_it_is_of() {
        let forecast = |scaling, efficiency| Forecast { scaling, count: 2, efficiency };
        let forecasts = [forecast(Scaling::Weak, 0.96), forecast(Scaling::Strong, 0.9)];
        let trials = [trial(Scaling::Weak, 2, 1.0), trial(Scaling::Weak, 4, 1.0), trial(Scaling::Strong, 2, 1.0)];
        let found: Vec<_> = lines(&trials, &forecasts).iter().map(|it| it.predicted_efficiency).collect();
        assert_eq!(found, [Some(0.96), None, Some(0.9)]);
    }

    #[test]
    fn nothing_measured_is_an_empty_table() {
        assert_eq!(lines(&[], &[]), []);
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    }
}
