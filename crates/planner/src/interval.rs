//! How far a prediction may be off: intervals that hold four of five runs, and what follows for a card that is nearly
//! full.
//!
//! The quantiles are those of runs that the fit did not see ([`Residuals`]), by kind: whether the generation of GPUs and the
//! framework have measured runs at all, and whether nodes talk to each other.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::catalogue::Generation;
use crate::framework::Family;
use crate::job::Job;
use crate::precision::Arithmetic;

/// The part of all runs that an interval holds.
pub const COVERAGE: f64 = 0.8;

/// From a low to a high value, in the unit of the prediction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    fn times(self, predicted: f64) -> Self {
        Self { low: self.low * predicted, high: self.high * predicted }
    }

    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Whether a model fits, judged by the upper end of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Also if it needs as much as the upper end says.
    Fits,
    /// As predicted it fits; at the upper end it does not.
    Tight,
    DoesNotFit,
}

impl Verdict {
    /// For what is needed at best guess and at the upper end, and for what there is.
    pub fn of(needed: f64, high: f64, has: f64) -> Self {
        match () {
            () if needed > has => Self::DoesNotFit,
            () if high > has => Self::Tight,
            () => Self::Fits,
        }
    }
}

/// Kinds of predictions that err alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    StepOneNode,
    StepSeveralNodes,
    /// A framework without a measured run.
    NewStepOneNode,
    NewStepSeveralNodes,
    /// A generation of GPUs without a measured run.
    NewGpuOneNode,
    NewGpuSeveralNodes,
    Memory,
    /// A framework whose memory was never measured.
    NewMemory,
}

impl Kind {
    pub fn of_step(job: &Job) -> Self {
        let several = job.cluster.nodes() > 1;
        match () {
            () if !timed_generation(job.cluster.gpu.generation, job.precision.arithmetic()) => {
                if several {
                    Self::NewGpuSeveralNodes
                } else {
                    Self::NewGpuOneNode
                }
            }
            () if !timed(job.family) => {
                if several {
                    Self::NewStepSeveralNodes
                } else {
                    Self::NewStepOneNode
                }
            }
            () if several => Self::StepSeveralNodes,
            () => Self::StepOneNode,
        }
    }

    /// How much wider than the residuals' own quantiles. A group that has no part in them scatters a tenth more. The bytes of
    /// memory were set with the measured runs in view: 48 runs that nobody had seen were off about twice as far, and
    /// frameworks without a run have no such check.
    pub fn margin(self) -> f64 {
        match self {
            Self::Memory => 2.0,
            Self::NewMemory => 3.0,
            _ => 1.1,
        }
    }

    pub fn of_memory(job: &Job) -> Self {
        match job.family {
            Family::MegatronCore
            | Family::Composer
            | Family::FmsFsdp
            | Family::MaxText
            | Family::Deepspeed
            | Family::BuiltIn => Self::NewMemory,
            _ => Self::Memory,
        }
    }
}

/// Steps of a mixture of experts: no run of one is in the fit. Of 19 that NVIDIA has published, 17 are between these.
const EXPERTS: Interval = Interval { low: 0.75, high: 1.5 };

fn timed(family: Family) -> bool {
    !matches!(family, Family::Pytorch | Family::BuiltIn)
}

/// Blackwell has runs in 8 and 4 bits alone.
fn timed_generation(generation: Generation, arithmetic: Arithmetic) -> bool {
    match generation {
        Generation::Volta | Generation::Ampere | Generation::Hopper => true,
        Generation::Blackwell => matches!(arithmetic, Arithmetic::Eight | Arithmetic::Four),
        _ => false,
    }
}

/// Logarithms of measured over predicted, of runs that the fit did not see: kind, group, values.
pub type Residuals = BTreeMap<Kind, BTreeMap<String, Vec<f64>>>;

/// Factors on a prediction, by kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intervals(BTreeMap<Kind, Interval>);

impl Intervals {
    /// Those that come with Fermi.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Intervals> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            serde_json::from_str(include_str!("../data/intervals.json")).unwrap_or_else(|_| Self(BTreeMap::new()))
        })
    }

    /// Quantiles of the residuals with their margin.
    pub fn of(residuals: &Residuals) -> Self {
        let factors = residuals.iter().map(|(kind, groups)| (*kind, quantiles(groups.values(), kind.margin())));
        Self(factors.collect())
    }

    pub fn factors(&self, kind: Kind) -> Interval {
        self.0.get(&kind).copied().unwrap_or(Interval { low: 0.8, high: 1.25 })
    }

    pub fn step(&self, job: &Job, seconds: f64) -> Interval {
        if job.architecture.experts.is_some() {
            return EXPERTS.times(seconds);
        }
        self.factors(Kind::of_step(job)).times(seconds)
    }

    pub fn memory(&self, job: &Job, gib: f64) -> Interval {
        self.factors(Kind::of_memory(job)).times(gib)
    }
}

type Groups = BTreeMap<String, Vec<f64>>;

/// The part of the residuals that lies in an interval made of the other groups.
pub fn left_out_coverage(groups: &Groups, margin: f64) -> f64 {
    let (mut inside, mut count) = (0.0, 0.0);
    for (name, values) in groups {
        let others = groups.iter().filter(|(other, _)| *other != name).map(|(_, values)| values);
        let interval = quantiles(others, margin);
        inside += weight(values) * values.iter().filter(|value| interval.holds(value.exp())).count() as f64;
        count += weight(values) * values.len() as f64;
    }
    if count > 0.0 { inside / count } else { 0.0 }
}

/// A large group counts as the square root of its runs.
fn weight(values: &[f64]) -> f64 {
    1.0 / (values.len().max(1) as f64).sqrt()
}

/// The middle [`COVERAGE`] of the values, spread by a margin around 0.
fn quantiles<'a>(groups: impl Iterator<Item = &'a Vec<f64>>, margin: f64) -> Interval {
    let mut weighed: Vec<(f64, f64)> = Vec::new();
    for values in groups {
        weighed.extend(values.iter().map(|value| (*value, weight(values))));
    }
    weighed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let whole: f64 = weighed.iter().map(|(_, weight)| weight).sum();
    let at = |part: f64| {
        let mut sum = 0.0;
        weighed.iter().find(|(_, weight)| {
            sum += weight;
            sum >= part * whole
        })
    };
    let tail = (1.0 - COVERAGE) / 2.0;
    let end = |part: f64, usual: f64| at(part).map_or(usual, |(value, _)| *value);
    // The prediction itself is never outside.
    let (low, high) = (end(tail, -0.2).min(0.0), end(1.0 - tail, 0.2).max(0.0));
    Interval { low: (low * margin).exp(), high: (high * margin).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_end_decides_whether_it_is_tight() {
        for (needed, high, verdict) in
            [(70.0, 75.0, Verdict::Fits), (78.0, 82.0, Verdict::Tight), (81.0, 85.0, Verdict::DoesNotFit)]
        {
            assert_eq!(Verdict::of(needed, high, 80.0), verdict);
        }
        assert!(Verdict::Fits < Verdict::Tight && Verdict::Tight < Verdict::DoesNotFit);
    }

    #[test]
    fn an_interval_holds_the_prediction_and_grows_with_the_scatter() {
        let groups = |scatter: f64| -> Groups {
            (0..5).map(|g| (g.to_string(), (0..20).map(|i| scatter * (f64::from(i) / 10.0 - 0.95)).collect())).collect()
        };
        let of = |groups: &Groups| quantiles(groups.values(), 1.0);
        let (narrow, wide) = (of(&groups(0.05)), of(&groups(0.2)));
        assert!(narrow.holds(1.0) && wide.holds(1.0));
        assert!(wide.high > narrow.high && wide.low < narrow.low);
        let one_sided = of(&BTreeMap::from([("a".to_owned(), vec![0.1; 9]), ("b".to_owned(), vec![0.1; 9])]));
        assert_eq!(one_sided.low, 1.0);
    }

    fn residuals() -> Residuals {
        serde_json::from_str(include_str!("../data/residuals.json")).unwrap()
    }

    #[test]
    fn the_shipped_intervals_are_those_of_the_residuals() {
        let made = Intervals::of(&residuals());
        for (kind, interval) in &made.0 {
            let shipped = Intervals::builtin().factors(*kind);
            assert!(
                (shipped.low - interval.low).abs() < 1e-3 && (shipped.high - interval.high).abs() < 1e-3,
                "{kind:?}"
            );
        }
        assert_eq!(made.0.len(), 8);
    }

    #[test]
    fn four_of_five_runs_of_a_group_that_has_no_part_are_inside() {
        for (kind, groups) in residuals() {
            let covered = left_out_coverage(&groups, kind.margin());
            assert!((0.75..=0.9).contains(&covered), "{kind:?}: {covered:.3}");
        }
    }
}
