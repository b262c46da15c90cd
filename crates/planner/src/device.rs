//! A device that no catalogue knows, such as a core of a processor, by what it has done: the rate and the link with which
//! predictions come nearest to measured runs.

use crate::calibrate::{SCATTER, samples};
use crate::catalogue::Catalogue;
use crate::constants::Constants;
use crate::run::Run;
use crate::time;

/// Why runs name no device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceUnknown {
    /// None of them was measured and can be modelled.
    NoRun,
    /// They took less time than is counted for what surrounds the computing, so that no rate, however high, meets them.
    RateHidden,
}

/// As `gpu_tflops` and `gpu_link_gbs` of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceNumbers {
    pub tflops: f64,
    pub link: DeviceLink,
}

/// What runs tell of the link between devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeviceLink {
    /// Nothing was sent from one to another.
    Unused,
    /// What was sent took no time that shows: it went on behind the computing, or was too little. Any fast link would fit, so
    /// that the runs name none.
    Hidden,
    /// In GB/s.
    Seen(f64),
}

impl DeviceLink {
    pub fn gbs(self) -> Option<f64> {
        match self {
            Self::Seen(gbs) => Some(gbs),
            Self::Unused | Self::Hidden => None,
        }
    }
}

/// Where the search begins and how far it looks at first, in natural logarithms of TFLOP/s and GB/s.
const TFLOPS: (f64, f64) = (-1.0, 9.0);
const LINK: (f64, f64) = (0.5, 5.0);
/// In TFLOP/s: what no device has. A search that ends above it has run away from runs that no rate meets.
const NO_DEVICE: f64 = 1e5;
/// Steps to each side in one round, and rounds, each half as wide as the one before.
const STEPS: i32 = 4;
const ROUNDS: usize = 14;
/// A link shows where the runs are met better with it than with the usual one by more than their scatter makes likely: two
/// standard deviations of a run.
const SHOWS: f64 = 4.0 * SCATTER * SCATTER;

impl DeviceNumbers {
    /// The row as a run on this device; over the usual link where its own is not known.
    pub fn run(&self, row: &Run) -> Run {
        Run { gpu_tflops: Some(self.tflops), gpu_link_gbs: self.link.gbs(), ..row.clone() }
    }

    /// Finds the numbers for rows that name the memory of their device and no more of it.
    pub fn learned(rows: &[Run], catalogue: &Catalogue, constants: &Constants) -> Result<Self, DeviceUnknown> {
        let found = Self::nearest(rows, catalogue, constants).ok_or(DeviceUnknown::NoRun)?;
        if found.tflops < NO_DEVICE { Ok(found) } else { Err(DeviceUnknown::RateHidden) }
    }

    fn nearest(rows: &[Run], catalogue: &Catalogue, constants: &Constants) -> Option<Self> {
        let miss = |device: &Self| {
            let placed: Vec<Run> = rows.iter().map(|row| device.run(row)).collect();
            let known = samples(&placed, catalogue);
            let squares = known.iter().map(|it| (time::estimate(&it.job, constants).total() / it.seconds).ln().powi(2));
            (!known.is_empty()).then(|| squares.sum::<f64>())
        };
        let sends = rows.iter().any(|row| row.gpus.is_some_and(|gpus| gpus > 1.0));
        let unseen = if sends { DeviceLink::Hidden } else { DeviceLink::Unused };
        let (usual_miss, usual) = nearest(&miss, 0, |rate, _| Self { tflops: rate.exp(), link: unseen })?;
        if !sends {
            return Some(usual);
        }
        let seen = |rate: f64, link: f64| Self { tflops: rate.exp(), link: DeviceLink::Seen(link.exp()) };
        let (own_miss, own) = nearest(&miss, STEPS, seen)?;
        Some(if usual_miss - own_miss > SHOWS { own } else { usual })
    }
}

/// The device with which the runs are met best, and by how much they are missed; `link_steps` is 0 where the link stays.
fn nearest(
    miss: &impl Fn(&DeviceNumbers) -> Option<f64>,
    link_steps: i32,
    device: impl Fn(f64, f64) -> DeviceNumbers,
) -> Option<(f64, DeviceNumbers)> {
    let (mut best, mut reach) = ((TFLOPS.0, LINK.0), (TFLOPS.1, LINK.1));
    let mut least = miss(&device(best.0, best.1))?;
    for _ in 0..ROUNDS {
        let centre = best;
        let links = -link_steps..=link_steps;
        for (at, link_at) in (-STEPS..=STEPS).flat_map(|at| links.clone().map(move |link_at| (at, link_at))) {
            let step = |at: i32, reach: f64| f64::from(at) / f64::from(STEPS) * reach;
            let tried = (centre.0 + step(at, reach.0), centre.1 + step(link_at, reach.1));
            if let Some(found) = miss(&device(tried.0, tried.1)).filter(|found| *found < least) {
                (least, best) = (found, tried);
            }
        }
        reach = (reach.0 / 2.0, reach.1 / 2.0);
    }
    Some((least, device(best.0, best.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::BUILT_IN;

    fn row(gpus: f64) -> Run {
        Run {
            layers: Some(4.0),
            hidden: Some(256.0),
            heads: Some(4.0),
            vocab: Some(256.0),
            seq_len: Some(256.0),
            gpu_mem_gib: Some(4.0),
            gpus: Some(gpus),
            nodes: Some(1.0),
            global_batch: Some(32.0 * gpus),
            micro_batch: Some(32.0),
            precision: Some("fp32".to_owned()),
            recompute: Some("none".to_owned()),
            ..Run::default()
        }
    }

    /// What a device of these numbers would have needed.
    fn did(truth: DeviceNumbers, gpus: f64) -> Run {
        let at = samples(&[Run { step_time_s: Some(1.0), ..truth.run(&row(gpus)) }], &Catalogue::builtin());
        Run { step_time_s: Some(time::estimate(&at[0].job, &Constants::builtin()).total()), ..row(gpus) }
    }

    fn learned(rows: &[Run]) -> DeviceNumbers {
        DeviceNumbers::learned(rows, &Catalogue::builtin(), &Constants::builtin()).unwrap()
    }

    #[test]
    fn a_device_is_found_by_what_it_did() {
        let truth = DeviceNumbers { tflops: 4.0, link: DeviceLink::Seen(0.02) };
        let found = learned(&[did(truth, 1.0), did(truth, 2.0)]);
        assert!((found.tflops / 4.0 - 1.0).abs() < 0.02, "{found:?}");
        assert!((found.link.gbs().unwrap() / 0.02 - 1.0).abs() < 0.1, "{found:?}");
        let alone = learned(&[did(truth, 1.0)]);
        assert!((alone.tflops / 4.0 - 1.0).abs() < 0.02 && alone.link == DeviceLink::Unused, "{alone:?}");
        let (catalogue, constants) = (Catalogue::builtin(), Constants::builtin());
        assert_eq!(DeviceNumbers::learned(&[Run::default()], &catalogue, &constants), Err(DeviceUnknown::NoRun));
    }

    #[test]
    fn runs_that_are_over_before_their_kernels_would_have_started_name_no_rate() {
        let quick = Run { step_time_s: Some(1e-4), ..row(1.0) };
        let found = |row: Run| DeviceNumbers::learned(&[row], &Catalogue::builtin(), &Constants::builtin());
        assert_eq!(found(quick.clone()), Err(DeviceUnknown::RateHidden));
        // Nobody starts kernels for the built-in trainer: its time is its computing.
        let own = Run { framework: Some(BUILT_IN.to_owned()), layers: Some(1.0), hidden: Some(64.0), ..quick };
        let own = Run { global_batch: Some(1.0), micro_batch: Some(1.0), seq_len: Some(64.0), ..own };
        let own = Run { gpu_bandwidth_gbs: Some(100.0), ..own };
        assert!(found(own.clone()).is_ok_and(|device| device.tflops < 100.0), "{:?}", found(own));
    }

    #[test]
    fn a_link_whose_sending_hides_behind_computing_is_not_known() {
        for (gbs, slower) in [(300.0, 1.0), (5.0, 1.0), (30.0, 0.97), (30.0, 1.02)] {
            let truth = DeviceNumbers { tflops: 4.0, link: DeviceLink::Seen(gbs) };
            let two = did(truth, 2.0);
            let two = Run { step_time_s: two.step_time_s.map(|seconds| seconds * slower), ..two };
            let found = learned(&[did(truth, 1.0), two]);
            assert_eq!(found.link, DeviceLink::Hidden, "{gbs} GB/s, {slower}: {found:?}");
            assert!((found.tflops / 4.0 - 1.0).abs() < 0.05, "{found:?}");
        }
    }
}
