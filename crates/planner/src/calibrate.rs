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
pub const MODEL: u32 = 3;

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

impl Calibration {
    /// The runs were met well enough as it was.
    pub fn is_unchanged(&self) -> bool {
        self.error_before == self.error_after
    }
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
/// What the model is off by for one configuration and not for the next, whatever the cluster: so much runs scatter that were
/// fitted. Within it a run says nothing of its cluster.
const OWN_ERROR: f64 = 0.05;
/// Errors that differ from configuration to configuration have to be so much larger to be told from it.
const DIFFERS: f64 = 1.5;

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

/// Learns from runs; none that can be used gives nothing. Constants move only where the runs say something of the cluster: what
/// is learned of one configuration alone would be handed on to all others.
pub fn calibrate(samples: &[Sample], base: &Constants) -> Option<Calibration> {
    if samples.is_empty() {
        return None;
    }
    let configurations = configurations(samples, base);
    let before = mean_error(samples, base);
    let stays = |constants: Constants| Calibration {
        version: MODEL,
        runs: samples.len(),
        error_before: before,
        error_after: before,
        constants,
    };
    if !shows(&configurations.iter().map(Configuration::miss).collect::<Vec<f64>>()) {
        return Some(stays(base.clone()));
    }
    let once: Vec<Sample> = configurations.iter().flat_map(|one| one.weighed()).collect();
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
    let constants = fit::fit(&once, base, &freedom, 40);
    let after = mean_error(samples, &constants);
    Some(if after < before { Calibration { error_after: after, ..stays(constants) } } else { stays(base.clone()) })
}

/// Runs of one configuration. However often it ran, the model errs about it once.
struct Configuration<'a> {
    predicted: f64,
    runs: Vec<&'a Sample>,
}

fn configurations<'a>(samples: &'a [Sample], base: &Constants) -> Vec<Configuration<'a>> {
    let mut all: Vec<Configuration<'a>> = Vec::new();
    for sample in samples {
        let predicted = crate::time::estimate(&sample.job, base).total();
        match all.iter_mut().find(|known| known.predicted == predicted) {
            Some(known) => known.runs.push(sample),
            None => all.push(Configuration { predicted, runs: vec![sample] }),
        }
    }
    all
}

impl Configuration<'_> {
    /// The mean logarithm of measured over predicted.
    fn miss(&self) -> f64 {
        self.runs.iter().map(|run| (run.seconds / self.predicted).ln()).sum::<f64>() / self.runs.len() as f64
    }

    fn weighed(&self) -> impl Iterator<Item = Sample> {
        let share = 1.0 / self.runs.len() as f64;
        self.runs.iter().map(move |run| Sample { weight: run.weight * share, ..(*run).clone() })
    }
}

/// Whether configurations are missed by more than each of them may be by itself: all alike, or some of them by much.
fn shows(misses: &[f64]) -> bool {
    let count = misses.len() as f64;
    let mean = misses.iter().sum::<f64>() / count;
    let size = (misses.iter().map(|miss| miss * miss).sum::<f64>() / count).sqrt();
    mean.abs() > OWN_ERROR / count.sqrt() || size > DIFFERS * OWN_ERROR
}

/// Mean absolute error in percent.
pub fn mean_error(samples: &[Sample], constants: &Constants) -> f64 {
    let sum: f64 = samples
        .iter()
        .map(|s| (crate::time::estimate(&s.job, constants).total() / s.seconds - 1.0).abs() * 100.0)
        .sum();
    sum / samples.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Runs;

    #[test]
    fn a_miss_says_something_of_the_cluster_where_a_configuration_alone_would_not_make_it() {
        let table: [(&[f64], bool); 8] = [
            (&[0.0], false),
            (&[0.04], false),
            (&[-0.04], false),
            (&[0.06], true),
            // Four that are off alike are no accident, though each of them might be.
            (&[0.04, 0.03, 0.05, 0.04], true),
            (&[0.04, -0.04, 0.03, -0.05], false),
            (&[0.12, -0.12], true),
            (&[0.01, -0.01, 0.02], false),
        ];
        for (misses, expected) in table {
            assert_eq!(shows(misses), expected, "{misses:?}");
        }
    }

    /// A run of the catalogue's own GPU that is slower than predicted by a factor, so many times.
    fn runs(slower: f64, times: usize) -> Vec<Sample> {
        let rows = serde_json::from_str::<Runs>(include_str!("../data/measured_h200.json")).unwrap().rows;
        let mut sample = samples(&rows, &Catalogue::builtin())[0].clone();
        sample.seconds = crate::time::estimate(&sample.job, &Constants::builtin()).total() * slower;
        vec![sample; times]
    }

    #[test]
    fn runs_that_are_met_already_leave_the_constants_as_they_are_however_often_they_ran() {
        let base = Constants::builtin();
        for times in [1, 3, 20] {
            let learned = calibrate(&runs(1.04, times), &base).unwrap();
            assert!(learned.is_unchanged() && learned.constants.values() == base.values(), "{times}: {learned:?}");
            assert_eq!(learned.runs, times);
        }
        let learned = calibrate(&runs(1.15, 3), &base).unwrap();
        assert!(!learned.is_unchanged() && learned.error_after < learned.error_before / 2.0, "{learned:?}");
    }

    #[test]
    fn repeats_teach_no_more_than_one_run() {
        let base = Constants::builtin();
        let [once, often] = [1, 10].map(|times| calibrate(&runs(1.15, times), &base).unwrap().constants.values());
        let apart = once.iter().zip(&often).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-6, "{apart}");
    }
}
