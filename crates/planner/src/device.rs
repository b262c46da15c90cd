//! A device that no catalogue knows, such as a core of a processor, by what it has done: the rate and the link with which
//! predictions come nearest to measured runs.

use crate::calibrate::samples;
use crate::catalogue::Catalogue;
use crate::constants::Constants;
use crate::run::Run;
use crate::time;

/// As `gpu_tflops` and `gpu_link_gbs` of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceNumbers {
    pub tflops: f64,
    /// None where nothing was sent from one to another.
    pub link_gbs: Option<f64>,
}

/// Where the search begins and how far it looks at first, in natural logarithms of TFLOP/s and GB/s.
const TFLOPS: (f64, f64) = (-1.0, 9.0);
const LINK: (f64, f64) = (0.5, 5.0);
/// Steps to each side in one round, and rounds, each half as wide as the one before.
const STEPS: i32 = 4;
const ROUNDS: usize = 14;
/// What is taken of the link where it is not known: of no weight for runs of one process.
const SOME_LINK: f64 = 1.0;

impl DeviceNumbers {
    /// The row as a run on this device.
    pub fn run(&self, row: &Run) -> Run {
        Run { gpu_tflops: Some(self.tflops), gpu_link_gbs: Some(self.link_gbs.unwrap_or(SOME_LINK)), ..row.clone() }
    }

    /// Finds the numbers for rows that name the memory of their device and no more of it; none where no row can be used.
    pub fn learned(rows: &[Run], catalogue: &Catalogue, constants: &Constants) -> Option<Self> {
        let has_link = rows.iter().any(|row| row.gpus.is_some_and(|gpus| gpus > 1.0));
        let numbers = |rate: f64, link: f64| Self { tflops: rate.exp(), link_gbs: has_link.then(|| link.exp()) };
        let miss = |rate: f64, link: f64| {
            let device = numbers(rate, link);
            let placed: Vec<Run> = rows.iter().map(|row| device.run(row)).collect();
            let known = samples(&placed, catalogue);
            let squares = known.iter().map(|it| (time::estimate(&it.job, constants).total() / it.seconds).ln().powi(2));
            (!known.is_empty()).then(|| squares.sum::<f64>())
        };
        let (mut best, mut reach) = ((TFLOPS.0, LINK.0), (TFLOPS.1, LINK.1));
        let mut least = miss(best.0, best.1)?;
        for _ in 0..ROUNDS {
            let centre = best;
            let links = if has_link { -STEPS..=STEPS } else { 0..=0 };
            for (at, link_at) in (-STEPS..=STEPS).flat_map(|at| links.clone().map(move |link_at| (at, link_at))) {
                let step = |at: i32, reach: f64| f64::from(at) / f64::from(STEPS) * reach;
                let tried = (centre.0 + step(at, reach.0), centre.1 + step(link_at, reach.1));
                if let Some(found) = miss(tried.0, tried.1).filter(|found| *found < least) {
                    (least, best) = (found, tried);
                }
            }
            reach = (reach.0 / 2.0, reach.1 / 2.0);
        }
        Some(numbers(best.0, best.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_device_is_found_by_what_it_did() {
        let (catalogue, constants) = (Catalogue::builtin(), Constants::builtin());
        // So slow a link that it shows: what is sent while others compute tells nothing of it.
        let truth = DeviceNumbers { tflops: 4.0, link_gbs: Some(0.02) };
        let did = |gpus: f64| {
            let at = samples(&[Run { step_time_s: Some(1.0), ..truth.run(&row(gpus)) }], &catalogue);
            Run { step_time_s: Some(time::estimate(&at[0].job, &constants).total()), ..row(gpus) }
        };
        let found = DeviceNumbers::learned(&[did(1.0), did(2.0)], &catalogue, &constants).unwrap();
        assert!((found.tflops / 4.0 - 1.0).abs() < 0.02, "{found:?}");
        assert!((found.link_gbs.unwrap() / 0.02 - 1.0).abs() < 0.1, "{found:?}");
        let alone = DeviceNumbers::learned(&[did(1.0)], &catalogue, &constants).unwrap();
        assert!((alone.tflops / 4.0 - 1.0).abs() < 0.02 && alone.link_gbs.is_none(), "{alone:?}");
        assert_eq!(DeviceNumbers::learned(&[Run::default()], &catalogue, &constants), None);
    }
}
