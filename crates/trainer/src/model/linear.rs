//! A linear map without bias.

use std::ops::Range;

use super::layout::{Layout, Start};
use super::matrix::{Matrix, MatrixMut, Store, multiply};

#[derive(Debug)]
pub(crate) struct Linear {
    /// Input × output.
    weight: Range<usize>,
    input: usize,
    output: usize,
}

impl Linear {
    pub fn new(layout: &mut Layout, input: usize, output: usize, deviation: f32) -> Self {
        Self { weight: layout.add(input * output, Start::Spread(deviation)), input, output }
    }

    pub fn forward(&self, parameters: &[f32], x: &[f32]) -> Vec<f32> {
        let rows = x.len() / self.input;
        let weight = Matrix::new(&parameters[self.weight.clone()], self.input, self.output);
        let mut y = vec![0.0; rows * self.output];
        multiply(
            1.0,
            Matrix::new(x, rows, self.input),
            weight,
            MatrixMut::new(&mut y, rows, self.output),
            Store::Replace,
        );
        y
    }

    pub fn backward(&self, parameters: &[f32], gradients: &mut [f32], x: &[f32], dy: &[f32]) -> Vec<f32> {
        let rows = x.len() / self.input;
        let weight = Matrix::new(&parameters[self.weight.clone()], self.input, self.output);
        let d_weight = MatrixMut::new(&mut gradients[self.weight.clone()], self.input, self.output);
        let dy = Matrix::new(dy, rows, self.output);
        multiply(1.0, Matrix::new(x, rows, self.input).transposed(), dy, d_weight, Store::Add);
        let mut dx = vec![0.0; x.len()];
        multiply(1.0, dy, weight.transposed(), MatrixMut::new(&mut dx, rows, self.input), Store::Replace);
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
        let linear = Linear::new(&mut layout, 5, 3, 0.5);
        check_gradients(
            &layout.initial_values(1),
            &numbers(2, 4 * 5),
            |parameters, x| linear.forward(parameters, x),
            |parameters, gradients, x, dy| linear.backward(parameters, gradients, x, dy),
        );
    }
}
