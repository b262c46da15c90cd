//! RMS normalisation: every row is brought to length one per value, then scaled by a learned gain.

use std::ops::Range;

use super::layout::{Layout, Start};

/// Keeps a row of zeros from dividing by zero.
const EPSILON: f32 = 1e-5;

#[derive(Debug)]
pub(crate) struct Norm {
    gain: Range<usize>,
    width: usize,
}

/// One over the root of the mean square, per row.
#[derive(Debug)]
pub(crate) struct NormCache {
    inverse: Vec<f32>,
}

impl Norm {
    pub fn new(layout: &mut Layout, width: usize) -> Self {
        Self { gain: layout.add(width, Start::Ones), width }
    }

    pub fn forward(&self, parameters: &[f32], x: &[f32]) -> (Vec<f32>, NormCache) {
        let gain = &parameters[self.gain.clone()];
        let mut y = vec![0.0; x.len()];
        let mut inverse = Vec::with_capacity(x.len() / self.width);
        for (x, y) in x.chunks_exact(self.width).zip(y.chunks_exact_mut(self.width)) {
            let mean_square = x.iter().map(|value| value * value).sum::<f32>() / self.width as f32;
            let scale = 1.0 / (mean_square + EPSILON).sqrt();
            inverse.push(scale);
            for ((y, x), gain) in y.iter_mut().zip(x).zip(gain) {
                *y = x * scale * gain;
            }
        }
        (y, NormCache { inverse })
    }

    pub fn backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        cache: &NormCache,
        x: &[f32],
        dy: &[f32],
    ) -> Vec<f32> {
        let gain = &parameters[self.gain.clone()];
        let d_gain = &mut gradients[self.gain.clone()];
        let mut dx = vec![0.0; x.len()];
        let rows = x.chunks_exact(self.width).zip(dy.chunks_exact(self.width)).zip(dx.chunks_exact_mut(self.width));
        for (((x, dy), dx), scale) in rows.zip(&cache.inverse) {
            let along: f32 = x.iter().zip(dy).zip(gain).map(|((x, dy), gain)| x * dy * gain).sum();
            let pull = along * scale * scale * scale / self.width as f32;
            for index in 0..self.width {
                dx[index] = dy[index] * gain[index] * scale - x[index] * pull;
                d_gain[index] += dy[index] * x[index] * scale;
            }
        }
        dx
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::check::{check_gradients, numbers};

    #[test]
    fn gradients_agree_with_finite_differences() {
        let mut layout = Layout::default();
        let norm = Norm::new(&mut layout, 6);
        let gains: Vec<f32> = numbers(4, 6).iter().map(|value| 1.0 + 0.5 * value).collect();
        check_gradients(
            &gains,
            &numbers(3, 5 * 6),
            |parameters, x| norm.forward(parameters, x).0,
            |parameters, gradients, x, dy| {
                let (_, cache) = norm.forward(parameters, x);
                norm.backward(parameters, gradients, &cache, x, dy)
            },
        );
    }

    #[test]
    fn a_row_of_zeros_stays_a_row_of_zeros() {
        let mut layout = Layout::default();
        let norm = Norm::new(&mut layout, 4);
        assert_eq!(norm.forward(&layout.initial_values(1), &[0.0; 4]).0, [0.0; 4]);
    }
}
