//! Numbers over time as a task's page draws them, from the series of the API.

use std::collections::BTreeMap;

use fermi_api::v1::{Rank, Series};

/// What is drawn of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Charts {
    /// Seconds per step, oldest first.
    pub steps: Vec<f64>,
    pub gauges: Vec<Gauge>,
}

/// How busy one GPU is, or where there is none the CPUs of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gauge {
    /// `gn6:0` for a GPU, `gn6 CPU` for a machine.
    pub label: String,
    /// Shares, 0 to 1.
    pub uses: Vec<f64>,
    /// Bytes.
    pub memory: Vec<f64>,
}

impl Charts {
    pub fn of(series: &[Series], ranks: &[Rank]) -> Self {
        Self { steps: step_times(series), gauges: gauges(series, ranks) }
    }
}

/// Seconds per step of rank 0: as it reports them, else by the times of its steps.
pub fn step_times(series: &[Series]) -> Vec<f64> {
    const TOLD: &str = "stepTimeS";
    let of_first = || series.iter().filter(|one| one.rank == Some(0) && one.environment.is_none());
    if let Some(told) = of_first().find(|one| one.name == TOLD) {
        return values(told).collect();
    }
    let Some(longest) = of_first().max_by_key(|one| one.points.len()) else { return Vec::new() };
    let moments: Vec<(u64, u64)> = longest.points.iter().filter_map(|point| Some((point.step?, point.time))).collect();
    let paces = moments.windows(2).filter_map(|pair| {
        let ((step, time), (next_step, next_time)) = (pair[0], pair[1]);
        let steps = next_step.checked_sub(step).filter(|steps| *steps > 0)?;
        let milliseconds = next_time.checked_sub(time)?;
        Some(milliseconds as f64 / 1e3 / steps as f64)
    });
    paces.collect()
}

/// Those GPUs of the machines that the task's ranks use; the machines themselves where no rank has a GPU.
fn gauges(series: &[Series], ranks: &[Rank]) -> Vec<Gauge> {
    let mut found: BTreeMap<(String, Option<u32>), Gauge> = BTreeMap::new();
    let has_gpus = ranks.iter().any(|rank| rank.gpu.is_some());
    for one in series {
        let Some(environment) = &one.environment else { continue };
        let used = |rank: &&Rank| rank.environment == *environment && rank.gpu == one.gpu;
        let on_machine = |rank: &&Rank| rank.environment == *environment;
        let rank = match (one.name.as_str(), has_gpus) {
            ("gpu.use" | "gpu.memory", true) => ranks.iter().find(used),
            ("machine.cpu" | "machine.memory", false) => ranks.iter().find(on_machine),
            _ => None,
        };
        let Some(rank) = rank else { continue };
        let label = one.gpu.map_or_else(|| format!("{} CPU", rank.node), |gpu| format!("{}:{gpu}", rank.node));
        let gauge = found.entry((rank.node.clone(), one.gpu)).or_default();
        gauge.label = label;
        match one.name.as_str() {
            "gpu.use" | "machine.cpu" => gauge.uses = values(one).collect(),
            _ => gauge.memory = values(one).collect(),
        }
    }
    found.into_values().collect()
}

fn values(series: &Series) -> impl Iterator<Item = f64> {
    series.points.iter().map(|point| point.value).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use fermi_api::v1::Point;

    use super::*;
    use crate::top::state::samples;

    fn series(name: &str, rank: Option<u32>, place: Option<(&str, Option<u32>)>, points: &[(u64, u64, f64)]) -> Series {
        let point = |(time, step, value): &(u64, u64, f64)| Point {
            time: *time,
            step: Some(*step),
            value: *value,
            min: *value,
            max: *value,
        };
        Series {
            name: name.to_owned(),
            rank,
            environment: place.map(|(environment, _)| environment.to_owned()),
            gpu: place.and_then(|(_, gpu)| gpu),
            points: points.iter().map(point).collect(),
        }
    }

    #[test]
    fn step_times_are_those_that_rank_0_tells_or_those_between_its_steps() {
        let loss = series("loss", Some(0), None, &[(0, 1, 2.0), (500, 2, 1.9), (2500, 4, 1.8), (2600, 4, 1.8)]);
        assert_eq!(step_times(std::slice::from_ref(&loss)), [0.5, 1.0]);
        let told = series("stepTimeS", Some(0), None, &[(0, 1, 0.25), (1, 2, f64::NAN), (2, 3, 0.75)]);
        assert_eq!(step_times(&[loss, told]), [0.25, 0.75]);
        assert!(step_times(&[series("loss", Some(1), None, &[(0, 1, 2.0), (500, 2, 1.9)])]).is_empty());
    }

    #[test]
    fn only_the_gpus_of_the_tasks_ranks_are_drawn_and_machines_where_there_are_none() {
        let all = [
            series("gpu.use", None, Some(("env-1", Some(0))), &[(0, 0, 0.5)]),
            series("gpu.memory", None, Some(("env-1", Some(0))), &[(0, 0, 9e9)]),
            series("gpu.use", None, Some(("env-1", Some(7))), &[(0, 0, 0.9)]),
            series("machine.cpu", None, Some(("env-1", None)), &[(0, 0, 0.1)]),
        ];
        let with_gpu = samples::rank(0, "gn6", Some(0));
        let gauges = gauges(&all, &[with_gpu]);
        assert_eq!(gauges, [Gauge { label: "gn6:0".into(), uses: vec![0.5], memory: vec![9e9] }]);
        let machines = super::gauges(&all, &[samples::rank(0, "gn6", None)]);
        assert_eq!(machines, [Gauge { label: "gn6 CPU".into(), uses: vec![0.1], memory: vec![] }]);
    }
}
