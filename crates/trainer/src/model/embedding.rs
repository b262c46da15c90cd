//! Bytes and positions into vectors, and vectors back into scores for every byte. One table serves both ways.

use std::ops::Range;

use super::layout::{Layout, Start};
use super::matrix::{Matrix, MatrixMut, Store, multiply};

/// One token per byte: no tokenizer to ship, and every text of every language is valid input.
pub(crate) const VOCABULARY: usize = 256;
const DEVIATION: f32 = 0.02;

#[derive(Debug)]
pub(crate) struct Embedding {
    /// Vocabulary × width.
    bytes: Range<usize>,
    /// Length × width.
    positions: Range<usize>,
    width: usize,
    length: usize,
}

impl Embedding {
    pub fn new(layout: &mut Layout, width: usize, length: usize) -> Self {
        Self {
            bytes: layout.add(VOCABULARY * width, Start::Spread(DEVIATION)),
            positions: layout.add(length * width, Start::Spread(DEVIATION)),
            width,
            length,
        }
    }

    pub fn forward(&self, parameters: &[f32], inputs: &[u8]) -> Vec<f32> {
        let bytes = &parameters[self.bytes.clone()];
        let positions = &parameters[self.positions.clone()];
        let mut x = Vec::with_capacity(inputs.len() * self.width);
        for (index, byte) in inputs.iter().enumerate() {
            let byte = &bytes[usize::from(*byte) * self.width..][..self.width];
            let position = &positions[index % self.length * self.width..][..self.width];
            x.extend(byte.iter().zip(position).map(|(byte, position)| byte + position));
        }
        x
    }

    pub fn backward(&self, gradients: &mut [f32], inputs: &[u8], dx: &[f32]) {
        for (index, (byte, dx)) in inputs.iter().zip(dx.chunks_exact(self.width)).enumerate() {
            let byte = self.bytes.start + usize::from(*byte) * self.width;
            let position = self.positions.start + index % self.length * self.width;
            for (offset, dx) in dx.iter().enumerate() {
                gradients[byte + offset] += dx;
                gradients[position + offset] += dx;
            }
        }
    }

    /// The score of every byte after each row: how much the row looks like that byte's vector.
    pub fn scores(&self, parameters: &[f32], x: &[f32]) -> Vec<f32> {
        let rows = x.len() / self.width;
        let table = Matrix::new(&parameters[self.bytes.clone()], VOCABULARY, self.width);
        let mut scores = vec![0.0; rows * VOCABULARY];
        let into = MatrixMut::new(&mut scores, rows, VOCABULARY);
        multiply(1.0, Matrix::new(x, rows, self.width), table.transposed(), into, Store::Replace);
        scores
    }

    pub fn scores_backward(&self, parameters: &[f32], gradients: &mut [f32], x: &[f32], d_scores: &[f32]) -> Vec<f32> {
        let rows = x.len() / self.width;
        let table = Matrix::new(&parameters[self.bytes.clone()], VOCABULARY, self.width);
        let d_table = MatrixMut::new(&mut gradients[self.bytes.clone()], VOCABULARY, self.width);
        let d_scores = Matrix::new(d_scores, rows, VOCABULARY);
        multiply(1.0, d_scores.transposed(), Matrix::new(x, rows, self.width), d_table, Store::Add);
        let mut dx = vec![0.0; x.len()];
        multiply(1.0, d_scores, table, MatrixMut::new(&mut dx, rows, self.width), Store::Replace);
        dx
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::check::{check_gradients, check_slope, numbers};

    #[test]
    fn gradients_of_scores_agree_with_finite_differences() {
        let mut layout = Layout::default();
        let embedding = Embedding::new(&mut layout, 3, 4);
        check_gradients(
            &numbers(1, layout.length()),
            &numbers(10, 2 * 3),
            |parameters, x| embedding.scores(parameters, x),
            |parameters, gradients, x, dy| embedding.scores_backward(parameters, gradients, x, dy),
        );
    }

    #[test]
    fn gradients_of_the_tables_agree_with_finite_differences() {
        let mut layout = Layout::default();
        let embedding = Embedding::new(&mut layout, 3, 4);
        let parameters = numbers(2, layout.length());
        let inputs = b"abcaddaa";
        let weights = numbers(11, inputs.len() * 3);
        let mut gradients = vec![0.0; layout.length()];
        embedding.backward(&mut gradients, inputs, &weights);
        check_slope("parameter", &parameters, &gradients, |nudged| {
            let x = embedding.forward(nudged, inputs);
            x.iter().zip(&weights).map(|(x, weight)| f64::from(*x) * f64::from(*weight)).sum()
        });
    }
}
