//! Learning a cluster from a handful of its runs: the few constants that differ between clusters move, the rest stay.

use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;
use crate::constants::Constants;
use crate::fit::{self, Freedom, Sample};
use crate::framework::Family;
use crate::resolve;
use crate::run::Run;

/// Which model the constants are of. Those of another one have the same names and mean something else in it: whoever adds,
/// removes or redefines a knob counts up.
pub const MODEL: u32 = 2;

/// Constants of one cluster, as they are stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Calibration {
    /// [`MODEL`] of the planner that learned them.
    pub version: u32,
    /// How many runs taught it.
    pub runs: usize,
    /// Mean error over those runs, before and after, in percent.
    pub error_before: f64,
    pub error_after: f64,
    pub constants: Constants,
}

/// How far each habit of a framework may move on a new cluster.
const REACH: [(&str, f64); 7] = [
    ("gemm", 0.30),
    ("flash", 0.25),
    ("pointwise", 0.25),
    ("host", 0.50),
    ("visible", 0.40),
    ("wire", 0.60),
    ("hiding", 0.30),
];

/// Scatter between runs of one cluster.
pub(crate) const SCATTER: f64 = 0.025;

/// The runs that were measured and can be modelled.
pub fn samples(runs: &[Run], catalogue: &Catalogue) -> Vec<Sample> {
    runs.iter()
        .filter_map(|run| {
            let seconds = run.measured_step()?;
            let job = resolve::job(run, catalogue).ok()?.job;
            Some(Sample { job, seconds, weight: 1.0 })
        })
        .collect()
}

/// Learns from runs; none that can be used gives nothing.
pub fn calibrate(samples: &[Sample], base: &Constants) -> Option<Calibration> {
    if samples.is_empty() {
        return None;
    }
    let families: Vec<Family> =
        Family::ALL.into_iter().filter(|f| samples.iter().any(|s| s.job.family == *f)).collect();
    let spread = Constants::knobs()
        .iter()
        .map(|(name, _)| {
            let (family, knob) = name.split_once('.').unwrap_or(("", name));
            let ours = families.iter().any(|f| crate::constants::family_name(*f) == family);
            REACH.iter().find(|(n, _)| ours && *n == knob).map_or(0.0, |(_, reach)| *reach)
        })
        .collect();
    let freedom = Freedom { noise: SCATTER, centre: base.values(), spread };
    let constants = fit::fit(samples, base, &freedom, 40);
    Some(Calibration {
        version: MODEL,
        runs: samples.len(),
        error_before: mean_error(samples, base),
        error_after: mean_error(samples, &constants),
        constants,
    })
}

/// Mean absolute error in percent.
pub fn mean_error(samples: &[Sample], constants: &Constants) -> f64 {
    let sum: f64 = samples
        .iter()
        .map(|s| (crate::time::estimate(&s.job, constants).total() / s.seconds - 1.0).abs() * 100.0)
        .sum();
    sum / samples.len().max(1) as f64
}
