//! AdamW: each parameter moves by its gradient's running mean over the root of its running square, as far as the schedule
//! lets it.

use std::f64::consts::PI;
use std::ops::Range;

use crate::checkpoint::State;

const BETA1: f32 = 0.9;
const BETA2: f32 = 0.98;
const EPSILON: f32 = 1e-8;
/// What remains of the peak learning rate at the end.
const FLOOR: f64 = 0.1;

/// The length of the whole gradient. In f64, because the sum of a million small squares loses too much in f32.
pub(crate) fn norm(gradient: &[f32]) -> f64 {
    gradient.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt()
}

/// What the gradient is multiplied with so that it is no longer than `clip`.
pub(crate) fn clip_factor(norm: f64, clip: f32) -> f32 {
    if norm > f64::from(clip) { (f64::from(clip) / norm) as f32 } else { 1.0 }
}

/// One update for step `state.step`. Only the `decaying` ranges shrink towards zero; gains must not.
pub(crate) fn update(
    state: &mut State,
    gradient: &[f32],
    factor: f32,
    learning_rate: f32,
    weight_decay: f32,
    decaying: &[Range<usize>],
) {
    for range in decaying {
        for parameter in &mut state.parameters[range.clone()] {
            *parameter -= learning_rate * weight_decay * *parameter;
        }
    }
    // The running means start at zero; this takes the pull towards that start out again.
    let steps = i32::try_from(state.step).unwrap_or(i32::MAX);
    let correction1 = 1.0 / (1.0 - BETA1.powi(steps));
    let correction2 = 1.0 / (1.0 - BETA2.powi(steps));
    let moments = state.first.iter_mut().zip(&mut state.second);
    for ((parameter, (first, second)), gradient) in state.parameters.iter_mut().zip(moments).zip(gradient) {
        let gradient = gradient * factor;
        *first = BETA1 * *first + (1.0 - BETA1) * gradient;
        *second = BETA2 * *second + (1.0 - BETA2) * gradient * gradient;
        *parameter -= learning_rate * (*first * correction1) / ((*second * correction2).sqrt() + EPSILON);
    }
}

/// The learning rate of a step, counted from 1: a straight rise, then half a cosine down to a tenth of the peak.
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
    fn the_first_update_moves_every_parameter_by_the_learning_rate_against_its_gradient() {
        let mut state = State::new(vec![1.0, 1.0, 1.0]);
        state.step = 1;
        update(&mut state, &[0.5, -20.0, 0.0], 1.0, 0.1, 0.0, &[]);
        for (parameter, expected) in state.parameters.iter().zip([0.9, 1.1, 1.0]) {
            assert!((parameter - expected).abs() < 1e-5);
        }
    }

    #[test]
    fn decay_shrinks_only_what_it_is_asked_to() {
        let mut state = State::new(vec![2.0, 2.0]);
        state.step = 1;
        update(&mut state, &[0.0, 0.0], 1.0, 0.1, 0.5, std::slice::from_ref(&(1..2)));
        assert_eq!(state.parameters, [2.0, 1.9]);
    }

    #[test]
    fn it_finds_the_bottom_of_a_bowl() {
        let mut state = State::new(vec![3.0, -4.0]);
        for step in 1..=600 {
            state.step = step;
            let gradient: Vec<f32> = state.parameters.iter().zip([1.0, 2.0]).map(|(x, goal)| x - goal).collect();
            update(&mut state, &gradient, 1.0, 0.05, 0.0, &[]);
        }
        assert!((state.parameters[0] - 1.0).abs() < 0.05 && (state.parameters[1] - 2.0).abs() < 0.05);
    }

    #[test]
    fn only_long_gradients_are_scaled_down() {
        assert_eq!(norm(&[3.0, 4.0]), 5.0);
        assert_eq!((clip_factor(5.0, 1.0), clip_factor(0.5, 1.0)), (0.2, 1.0));
    }

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
