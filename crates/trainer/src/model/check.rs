//! The judge of every hand-written gradient: a nudge up, a nudge down, and what the output did.

use crate::random::{Purpose, random_unit};

/// In f32 a smaller nudge drowns in rounding and a larger one in curvature.
const NUDGE: f32 = 4e-3;

/// Numbers for tests, between -1 and 1.
pub(crate) fn numbers(seed: u64, count: usize) -> Vec<f32> {
    (0..count as u64).map(|index| random_unit(seed ^ 0xfeed, Purpose::Parameter, index)).collect()
}

/// Checks `backward` against `forward` for a random weighting of the outputs, for every parameter and every input.
pub(crate) fn check_gradients(
    parameters: &[f32],
    x: &[f32],
    forward: impl Fn(&[f32], &[f32]) -> Vec<f32>,
    backward: impl Fn(&[f32], &mut [f32], &[f32], &[f32]) -> Vec<f32>,
) {
    let weights = numbers(77, forward(parameters, x).len());
    let value = |parameters: &[f32], x: &[f32]| -> f64 {
        let outputs = forward(parameters, x);
        outputs.iter().zip(&weights).map(|(output, weight)| f64::from(*output) * f64::from(*weight)).sum()
    };
    let mut gradients = vec![0.0; parameters.len()];
    let dx = backward(parameters, &mut gradients, x, &weights);
    check_slope("parameter", parameters, &gradients, |nudged| value(nudged, x));
    check_slope("input", x, &dx, |nudged| value(parameters, nudged));
}

/// Checks that `gradient` is the slope of `value` at `point`, in every direction of an axis.
pub(crate) fn check_slope(what: &str, point: &[f32], gradient: &[f32], value: impl Fn(&[f32]) -> f64) {
    assert_eq!(point.len(), gradient.len());
    let scale = gradient.iter().fold(0.0_f32, |most, slope| most.max(slope.abs()));
    let mut nudged = point.to_vec();
    for index in 0..point.len() {
        nudged[index] = point[index] + NUDGE;
        let (up, above) = (value(&nudged), nudged[index]);
        nudged[index] = point[index] - NUDGE;
        let (down, below) = (value(&nudged), nudged[index]);
        nudged[index] = point[index];
        let measured = ((up - down) / f64::from(above - below)) as f32;
        let computed = gradient[index];
        let tolerance = 0.01 * computed.abs() + 0.003 * scale;
        assert!(
            (measured - computed).abs() <= tolerance,
            "{what} {index}: backward says {computed}, the nudge says {measured}"
        );
    }
}
