//! Fitting constants to measured runs: damped least squares on logarithms, each group of runs with equal weight, and
//! every knob held near its start unless the data pull.

use crate::constants::Constants;
use crate::job::Job;
use crate::time;

/// One measured run.
#[derive(Clone, Debug)]
pub struct Sample {
    pub job: Job,
    pub seconds: f64,
    pub weight: f64,
}

/// Which knobs may move, and how far.
#[derive(Clone, Debug)]
pub struct Freedom {
    /// Scatter of the measurements: residuals of this size cost as much as a knob one spread off.
    pub noise: f64,
    pub centre: Vec<f64>,
    /// 0 holds a knob fast.
    pub spread: Vec<f64>,
}

impl Freedom {
    /// Everything, around the starting values.
    pub fn full() -> Self {
        let knobs = Constants::knobs();
        Self {
            noise: 0.05,
            centre: knobs.iter().map(|(_, k)| k.start).collect(),
            spread: knobs.iter().map(|(_, k)| k.spread).collect(),
        }
    }
}

/// Weights such that groups count alike, tempered by their size.
pub fn weigh(samples: &mut [(String, Sample)]) {
    let mut sizes = std::collections::BTreeMap::<String, f64>::new();
    for (group, _) in samples.iter() {
        *sizes.entry(group.clone()).or_default() += 1.0;
    }
    for (group, sample) in samples.iter_mut() {
        let size = sizes.get(group).copied().unwrap_or(1.0);
        sample.weight = (size.powf(0.35) / size).min(1.0);
    }
}

fn residuals(samples: &[Sample], constants: &Constants) -> Vec<f64> {
    samples
        .iter()
        .map(|s| {
            let predicted = time::estimate(&s.job, constants).total();
            if predicted > 0.0 && predicted.is_finite() { (predicted / s.seconds).ln() } else { 3.0 }
        })
        .collect()
}

/// Finds the constants nearest to the data within their freedom.
pub fn fit(samples: &[Sample], start: &Constants, freedom: &Freedom, rounds: usize) -> Constants {
    let free: Vec<usize> = (0..freedom.spread.len()).filter(|i| freedom.spread[*i] > 0.0).collect();
    let mut values = start.values();
    let mut damping = 1e-2;
    let mut current = residuals(samples, start);
    let mut cost = objective(samples, &current, &values, freedom, &free);
    for _ in 0..rounds {
        let (gram, slope) = normal_equations(samples, &current, &values, freedom, &free);
        let mut improved = false;
        for _ in 0..6 {
            let Some(step) = solve(&gram, &slope, damping) else { break };
            let mut trial = values.clone();
            for (at, delta) in free.iter().zip(&step) {
                trial[*at] -= delta.clamp(-0.7, 0.7);
            }
            let moved = residuals(samples, &Constants::with(&trial));
            let trial_cost = objective(samples, &moved, &trial, freedom, &free);
            if trial_cost < cost {
                let gain = cost - trial_cost;
                (values, current, cost) = (trial, moved, trial_cost);
                damping = (damping * 0.4).max(1e-6);
                improved = gain > 1e-6 * cost;
                break;
            }
            damping *= 4.0;
        }
        if !improved {
            break;
        }
    }
    Constants::with(&values)
}

/// Least squares near zero, absolute values beyond: one odd run must not bend the rest.
fn robust(residual: f64) -> (f64, f64) {
    let knee = 0.08;
    let size = residual.abs();
    if size <= knee { (residual * residual, 1.0) } else { (2.0 * knee * size - knee * knee, knee / size) }
}

fn objective(samples: &[Sample], residuals: &[f64], values: &[f64], freedom: &Freedom, free: &[usize]) -> f64 {
    let data: f64 = samples.iter().zip(residuals).map(|(s, r)| s.weight * robust(*r).0).sum();
    let prior: f64 = free.iter().map(|i| ((values[*i] - freedom.centre[*i]) / freedom.spread[*i]).powi(2)).sum();
    data / (freedom.noise * freedom.noise) + prior
}

fn normal_equations(
    samples: &[Sample],
    residuals_now: &[f64],
    values: &[f64],
    freedom: &Freedom,
    free: &[usize],
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let step = 1e-4;
    let columns: Vec<Vec<f64>> = free
        .iter()
        .map(|at| {
            let mut nudged = values.to_vec();
            nudged[*at] += step;
            let moved = residuals(samples, &Constants::with(&nudged));
            moved.iter().zip(residuals_now).map(|(m, r)| (m - r) / step).collect()
        })
        .collect();
    let weights: Vec<f64> = samples
        .iter()
        .zip(residuals_now)
        .map(|(s, r)| s.weight * robust(*r).1 / (freedom.noise * freedom.noise))
        .collect();
    let mut gram = vec![vec![0.0; free.len()]; free.len()];
    let mut slope = vec![0.0; free.len()];
    for i in 0..free.len() {
        for j in i..free.len() {
            let sum: f64 = columns[i].iter().zip(&columns[j]).zip(&weights).map(|((a, b), w)| a * b * w).sum();
            gram[i][j] = sum;
            gram[j][i] = sum;
        }
        slope[i] = columns[i].iter().zip(residuals_now).zip(&weights).map(|((a, r), w)| a * r * w).sum();
        let precision = freedom.spread[free[i]].powi(-2);
        gram[i][i] += precision;
        slope[i] += (values[free[i]] - freedom.centre[free[i]]) * precision;
    }
    (gram, slope)
}

/// Cholesky's way through the damped equations.
fn solve(gram: &[Vec<f64>], slope: &[f64], damping: f64) -> Option<Vec<f64>> {
    let n = slope.len();
    let mut lower = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let mut sum = gram[i][j] + if i == j { damping * gram[i][i].max(1e-9) } else { 0.0 };
            for (a, b) in lower[i][..j].iter().zip(&lower[j][..j]) {
                sum -= a * b;
            }
            if i == j {
                if sum <= 0.0 {
                    return None;
                }
                lower[i][i] = sum.sqrt();
            } else {
                lower[i][j] = sum / lower[j][j];
            }
        }
    }
    let mut forward = vec![0.0; n];
    for i in 0..n {
        let known: f64 = lower[i][..i].iter().zip(&forward[..i]).map(|(a, b)| a * b).sum();
        forward[i] = (slope[i] - known) / lower[i][i];
    }
    let mut answer = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| lower[k][i] * answer[k]).sum();
        answer[i] = (forward[i] - known) / lower[i][i];
    }
    Some(answer)
}
