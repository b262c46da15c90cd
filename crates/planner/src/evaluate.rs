//! How far predictions are from measurements, group by group.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::constants::Constants;
use crate::interval::{Intervals, Verdict};
use crate::job::Job;
use crate::memory;
use crate::resolve;
use crate::run::Run;
use crate::time;

/// Mean and bias of a set of relative errors, in percent.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Spread {
    pub rows: usize,
    pub mean: f64,
    pub median: f64,
    pub bias: f64,
    pub worst: f64,
}

impl Spread {
    pub fn of(errors: &[f64]) -> Self {
        let mut sizes: Vec<f64> = errors.iter().map(|e| e.abs() * 100.0).collect();
        sizes.sort_by(f64::total_cmp);
        let n = sizes.len().max(1) as f64;
        Self {
            rows: sizes.len(),
            // The sum of nothing is -0.
            mean: 0.0 + sizes.iter().sum::<f64>() / n,
            median: sizes.get(sizes.len() / 2).copied().unwrap_or(0.0),
            bias: 0.0 + errors.iter().sum::<f64>() / n * 100.0,
            worst: sizes.last().copied().unwrap_or(0.0),
        }
    }
}

/// One measured row beside its prediction.
#[derive(Clone, Debug)]
pub struct Compared {
    pub group: String,
    pub model: String,
    pub several_nodes: bool,
    /// Relative errors, where the row has the measurement.
    pub step: Option<f64>,
    pub peak: Option<f64>,
    pub ran: bool,
    pub verdict: Verdict,
    /// The measurement lies in the interval, where there is one.
    pub step_inside: Option<bool>,
    pub peak_inside: Option<bool>,
    sweep: Option<Sweep>,
}

/// Rows of one sweep differ in their layout alone.
#[derive(Clone, Debug)]
struct Sweep {
    key: String,
    measured: f64,
    predicted: f64,
}

/// Errors of one group.
#[derive(Clone, Debug, Serialize)]
pub struct GroupErrors {
    pub group: String,
    pub step_one_node: Option<Spread>,
    pub step_several_nodes: Option<Spread>,
    pub peak_memory: Option<Spread>,
}

/// All errors.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluation {
    pub rows: usize,
    pub refused: usize,
    pub groups: Vec<GroupErrors>,
    /// Means over groups, in percent.
    pub step_one_node: f64,
    pub step_several_nodes: f64,
    pub peak_memory: Spread,
    pub out_of_memory_called_fitting: usize,
    pub ran: usize,
    pub ran_called_not_fitting: usize,
    pub ran_called_tight: usize,
    /// Of the measurements, as many as lie in their intervals, in percent.
    pub step_inside: f64,
    pub peak_inside: f64,
    /// What the predicted best of a sweep costs against its true best, in percent.
    pub sweeps: usize,
    pub sweep_cost_mean: f64,
    pub sweep_cost_worst: f64,
}

/// Compares one row; none where it cannot be modelled.
pub fn compare(run: &Run, catalogue: &Catalogue, constants: &Constants) -> Option<Compared> {
    let resolved = resolve::job(run, catalogue).ok()?;
    let seconds = time::estimate(&resolved.job, constants).total();
    let used = memory::estimate(&resolved.for_memory());
    let group = run.group.clone().unwrap_or_default();
    let model = run.model_name.clone().unwrap_or_default();
    let intervals = Intervals::builtin();
    let measured_peak = run.peak_mem_gib.filter(|p| *p > 0.0);
    Some(Compared {
        step: run.measured_step().map(|measured| seconds / measured - 1.0),
        peak: measured_peak.map(|measured| used.peak_gib() / measured - 1.0),
        several_nodes: resolved.job.cluster.nodes() > 1,
        ran: run.fits != Some(false),
        verdict: Verdict::of(
            used.needed_gib(),
            intervals.memory(&resolved.job, used.needed_gib()).high,
            resolved.job.cluster.gpu.memory_gib,
        ),
        step_inside: run.measured_step().map(|measured| intervals.step(&resolved.job, seconds).holds(measured)),
        peak_inside: measured_peak.map(|measured| intervals.memory(&resolved.job, used.peak_gib()).holds(measured)),
        sweep: run.measured_step().map(|measured| Sweep {
            key: sweep_key(&group, &model, run, &resolved.job),
            measured: measured / resolved.job.tokens_per_step(),
            predicted: seconds / resolved.job.tokens_per_step(),
        }),
        group,
        model,
    })
}

/// What stays the same in a sweep over layouts.
fn sweep_key(group: &str, model: &str, run: &Run, job: &Job) -> String {
    let batch = run.global_batch.unwrap_or(0.0);
    // Batches that were rounded to the layout belong together.
    let batch = (batch / 64.0).round().max((batch < 64.0) as u8 as f64 * batch);
    format!(
        "{group} {model} {} {batch} {} {:?} {} {}",
        job.cluster.gpus,
        job.seq_len,
        job.precision,
        job.architecture.heads,
        run.framework.as_deref().unwrap_or_default()
    )
}

/// Sums up.
pub fn report(compared: &[Compared], refused: usize) -> Evaluation {
    let mut names: Vec<&str> = compared.iter().map(|c| c.group.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let of = |name: &str, pick: &dyn Fn(&Compared) -> Option<f64>| {
        let errors: Vec<f64> = compared.iter().filter(|c| c.group == name).filter_map(pick).collect();
        (!errors.is_empty()).then(|| Spread::of(&errors))
    };
    let groups: Vec<GroupErrors> = names
        .iter()
        .map(|name| GroupErrors {
            group: (*name).to_owned(),
            step_one_node: of(name, &|c| c.step.filter(|_| !c.several_nodes)),
            step_several_nodes: of(name, &|c| c.step.filter(|_| c.several_nodes)),
            peak_memory: of(name, &|c| c.peak),
        })
        .collect();
    let over_groups = |pick: &dyn Fn(&GroupErrors) -> Option<Spread>| {
        let means: Vec<f64> = groups.iter().filter_map(|g| pick(g).map(|s| s.mean)).collect();
        means.iter().sum::<f64>() / means.len().max(1) as f64
    };
    let peaks: Vec<f64> = compared.iter().filter_map(|c| c.peak).collect();
    let costs = sweep_costs(compared);
    Evaluation {
        rows: compared.len() + refused,
        refused,
        step_one_node: over_groups(&|g| g.step_one_node),
        step_several_nodes: over_groups(&|g| g.step_several_nodes),
        peak_memory: Spread::of(&peaks),
        out_of_memory_called_fitting: compared.iter().filter(|c| !c.ran && c.verdict == Verdict::Fits).count(),
        ran: compared.iter().filter(|c| c.ran).count(),
        ran_called_not_fitting: compared.iter().filter(|c| c.ran && c.verdict == Verdict::DoesNotFit).count(),
        ran_called_tight: compared.iter().filter(|c| c.ran && c.verdict == Verdict::Tight).count(),
        step_inside: inside(compared.iter().filter_map(|c| c.step_inside)),
        peak_inside: inside(compared.iter().filter_map(|c| c.peak_inside)),
        sweeps: costs.len(),
        sweep_cost_mean: 0.0 + costs.iter().sum::<f64>() / costs.len().max(1) as f64,
        sweep_cost_worst: costs.iter().copied().fold(0.0, f64::max),
        groups,
    }
}

fn inside(flags: impl Iterator<Item = bool>) -> f64 {
    let (mut held, mut all) = (0usize, 0usize);
    for flag in flags {
        held += usize::from(flag);
        all += 1;
    }
    held as f64 / all.max(1) as f64 * 100.0
}

/// For each sweep of at least three layouts: measured time of the predicted best over that of the true best.
fn sweep_costs(compared: &[Compared]) -> Vec<f64> {
    let mut sweeps: BTreeMap<&str, Vec<&Sweep>> = BTreeMap::new();
    for sweep in compared.iter().filter_map(|c| c.sweep.as_ref()) {
        sweeps.entry(&sweep.key).or_default().push(sweep);
    }
    sweeps
        .values()
        .filter(|rows| rows.len() >= 3)
        .filter_map(|rows| {
            let best = rows.iter().map(|s| s.measured).fold(f64::INFINITY, f64::min);
            let chosen = rows.iter().min_by(|a, b| a.predicted.total_cmp(&b.predicted))?;
            Some((chosen.measured / best - 1.0) * 100.0)
        })
        .collect()
}
