//! Causal attention with several heads.
//!
//! Queries, keys and values of all heads come out of one product and stay interleaved: a head is a view with a stride,
//! nothing is copied apart.

use super::layout::Layout;
use super::linear::Linear;
use super::matrix::{Matrix, MatrixMut, Store, multiply};

#[derive(Debug)]
pub(crate) struct Attention {
    project: Linear,
    merge: Linear,
    width: usize,
    heads: usize,
    length: usize,
}

#[derive(Debug)]
pub(crate) struct AttentionCache {
    /// Rows of query, key and value, `3 · width` values each.
    projected: Vec<f32>,
    /// For each sample and head, `length` × `length`: how much each position looks at each earlier one.
    weights: Vec<f32>,
    /// What the heads found, before they are merged.
    found: Vec<f32>,
}

/// Where one head of one sample begins in rows of `width` values and in rows of `3 · width`.
struct HeadOffset {
    index: usize,
    narrow: usize,
    wide: usize,
}

impl Attention {
    pub fn new(
        layout: &mut Layout,
        width: usize,
        heads: usize,
        length: usize,
        deviation: f32,
        output_deviation: f32,
    ) -> Self {
        Self {
            project: Linear::new(layout, width, 3 * width, deviation),
            merge: Linear::new(layout, width, width, output_deviation),
            width,
            heads,
            length,
        }
    }

    fn head_width(&self) -> usize {
        self.width / self.heads
    }

    fn scale(&self) -> f32 {
        1.0 / (self.head_width() as f32).sqrt()
    }

    fn head_offsets(&self, values: usize) -> impl Iterator<Item = HeadOffset> + use<> {
        let (width, heads, length, head_width) = (self.width, self.heads, self.length, self.head_width());
        let samples = values / (width * length);
        (0..samples * heads).map(move |index| {
            let (first_row, column) = (index / heads * length, index % heads * head_width);
            HeadOffset { index, narrow: first_row * width + column, wide: first_row * 3 * width + column }
        })
    }

    /// Query, key or value (0, 1, 2) of one head.
    fn view<'a>(&self, projected: &'a [f32], offset: &HeadOffset, which: usize) -> Matrix<'a> {
        let start = offset.wide + which * self.width;
        Matrix::strided(&projected[start..], self.length, self.head_width(), 3 * self.width)
    }

    fn view_mut<'a>(&self, projected: &'a mut [f32], offset: &HeadOffset, which: usize) -> MatrixMut<'a> {
        let start = offset.wide + which * self.width;
        MatrixMut::strided(&mut projected[start..], self.length, self.head_width(), 3 * self.width)
    }

    pub fn forward(&self, parameters: &[f32], x: &[f32]) -> (Vec<f32>, AttentionCache) {
        let length = self.length;
        let square = length * length;
        let projected = self.project.forward(parameters, x);
        let mut found = vec![0.0; x.len()];
        let mut weights = vec![0.0; x.len() / self.width * self.heads * length];
        for offset in self.head_offsets(x.len()) {
            let [query, key, value] = [0, 1, 2].map(|which| self.view(&projected, &offset, which));
            let weights = &mut weights[offset.index * square..][..square];
            multiply(self.scale(), query, key.transposed(), MatrixMut::new(weights, length, length), Store::Replace);
            for (position, row) in weights.chunks_exact_mut(length).enumerate() {
                softmax_of_the_past(row, position);
            }
            let into = MatrixMut::strided(&mut found[offset.narrow..], length, self.head_width(), self.width);
            multiply(1.0, Matrix::new(weights, length, length), value, into, Store::Replace);
        }
        let merged = self.merge.forward(parameters, &found);
        (merged, AttentionCache { projected, weights, found })
    }

    pub fn backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        cache: &AttentionCache,
        x: &[f32],
        dy: &[f32],
    ) -> Vec<f32> {
        let length = self.length;
        let square = length * length;
        let d_found = self.merge.backward(parameters, gradients, &cache.found, dy);
        let mut d_projected = vec![0.0; cache.projected.len()];
        let mut d_weights = vec![0.0; square];
        for offset in self.head_offsets(x.len()) {
            let [query, key, value] = [0, 1, 2].map(|which| self.view(&cache.projected, &offset, which));
            let d_found = Matrix::strided(&d_found[offset.narrow..], length, self.head_width(), self.width);
            let weights = &cache.weights[offset.index * square..][..square];
            let weights_view = Matrix::new(weights, length, length).transposed();
            multiply(1.0, weights_view, d_found, self.view_mut(&mut d_projected, &offset, 2), Store::Replace);
            let d_weights_view = MatrixMut::new(&mut d_weights, length, length);
            multiply(1.0, d_found, value.transposed(), d_weights_view, Store::Replace);
            let rows = weights.chunks_exact(length).zip(d_weights.chunks_exact_mut(length));
            rows.for_each(|(weights, d_weights)| softmax_backward(weights, d_weights));
            let d_scores = Matrix::new(&d_weights, length, length);
            multiply(self.scale(), d_scores, key, self.view_mut(&mut d_projected, &offset, 0), Store::Replace);
            let d_key = self.view_mut(&mut d_projected, &offset, 1);
            multiply(self.scale(), d_scores.transposed(), query, d_key, Store::Replace);
        }
        self.project.backward(parameters, gradients, x, &d_projected)
    }
}

/// Softmax over the values up to `position`; what lies in the future gets no weight.
fn softmax_of_the_past(row: &mut [f32], position: usize) {
    let (past, future) = row.split_at_mut(position + 1);
    future.fill(0.0);
    let largest = past.iter().fold(f32::NEG_INFINITY, |largest, score| largest.max(*score));
    let mut sum = 0.0;
    for score in past.iter_mut() {
        *score = (*score - largest).exp();
        sum += *score;
    }
    past.iter_mut().for_each(|weight| *weight /= sum);
}

/// The future has weight 0, which also makes its gradient 0.
fn softmax_backward(weights: &[f32], d_weights: &mut [f32]) {
    let mean: f32 = weights.iter().zip(d_weights.iter()).map(|(weight, d_weight)| weight * d_weight).sum();
    for (d_weight, weight) in d_weights.iter_mut().zip(weights) {
        *d_weight = weight * (*d_weight - mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::check::{check_gradients, numbers};

    const WIDTH: usize = 6;
    const LENGTH: usize = 5;

    fn attention() -> (Attention, Vec<f32>) {
        let mut layout = Layout::default();
        let attention = Attention::new(&mut layout, WIDTH, 2, LENGTH, 0.6, 0.6);
        (attention, layout.initial_values(1))
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let (attention, parameters) = attention();
        check_gradients(
            &parameters,
            &numbers(7, 2 * LENGTH * WIDTH),
            |parameters, x| attention.forward(parameters, x).0,
            |parameters, gradients, x, dy| {
                let (_, cache) = attention.forward(parameters, x);
                attention.backward(parameters, gradients, &cache, x, dy)
            },
        );
    }

    #[test]
    fn no_position_sees_the_future_or_another_sample() {
        let (attention, parameters) = attention();
        let mut x = numbers(8, 2 * LENGTH * WIDTH);
        let before = attention.forward(&parameters, &x).0;
        let changed = 3 * WIDTH;
        x[changed] += 1.0;
        let after = attention.forward(&parameters, &x).0;
        assert_eq!(before[..changed], after[..changed]);
        assert_eq!(before[LENGTH * WIDTH..], after[LENGTH * WIDTH..]);
        assert_ne!(before[changed..LENGTH * WIDTH], after[changed..LENGTH * WIDTH]);
    }
}
