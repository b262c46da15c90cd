//! The learning rate of each step: a straight rise, then half a cosine down to a tenth of the peak.

use std::f64::consts::PI;

const FLOOR: f64 = 0.1;

/// Steps count from 1.
pub(crate) fn learning_rate(peak: f32, warmup: u64, steps: u64, step: u64) -> f32 {
    let peak = f64::from(peak);
    if step <= warmup {
        return (peak * step as f64 / warmup as f64) as f32;
    }
    let done = (step - warmup) as f64 / steps.saturating_sub(warmup).max(1) as f64;
    let cosine = 0.5 * (1.0 + (PI * done.min(1.0)).cos());
    (peak * (FLOOR + (1.0 - FLOOR) * cosine)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rises_to_the_peak_and_falls_to_a_tenth() {
        let rate = |step| learning_rate(1.0, 10, 110, step);
        let cases = [(1, 0.1), (5, 0.5), (10, 1.0), (60, 0.55), (110, 0.1), (500, 0.1)];
        for (step, expected) in cases {
            assert!((rate(step) - expected).abs() < 1e-6, "step {step}: {}", rate(step));
        }
        assert!((10..110).all(|step| rate(step) >= rate(step + 1)));
    }

    #[test]
    fn no_warm_up_and_a_warm_up_longer_than_the_run_are_both_fine() {
        assert!((learning_rate(1.0, 0, 10, 1) - 1.0).abs() < 0.05);
        assert!((learning_rate(1.0, 100, 10, 10) - 0.1).abs() < 1e-6);
    }
}
