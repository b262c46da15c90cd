//! The two-layer perceptron of a block, four times as wide inside.

use super::layout::Layout;
use super::linear::Linear;

#[derive(Debug)]
pub(crate) struct Mlp {
    up: Linear,
    down: Linear,
}

#[derive(Debug)]
pub(crate) struct MlpCache {
    raised: Vec<f32>,
    bent: Vec<f32>,
}

impl Mlp {
    pub fn new(layout: &mut Layout, width: usize, deviation: f32, output_deviation: f32) -> Self {
        Self {
            up: Linear::new(layout, width, 4 * width, deviation),
            down: Linear::new(layout, 4 * width, width, output_deviation),
        }
    }

    pub fn forward(&self, parameters: &[f32], x: &[f32]) -> (Vec<f32>, MlpCache) {
        let raised = self.up.forward(parameters, x);
        let bent = gelu(&raised);
        (self.down.forward(parameters, &bent), MlpCache { raised, bent })
    }

    pub fn backward(
        &self,
        parameters: &[f32],
        gradients: &mut [f32],
        cache: &MlpCache,
        x: &[f32],
        dy: &[f32],
    ) -> Vec<f32> {
        let mut d_raised = self.down.backward(parameters, gradients, &cache.bent, dy);
        gelu_backward(&cache.raised, &mut d_raised);
        self.up.backward(parameters, gradients, x, &d_raised)
    }
}

/// GELU in its tanh form, written with one exponential: `x · sigmoid(2u)`, where `u` is the argument of the tanh.
const SLOPE: f32 = 0.797_884_6;
const CUBIC: f32 = 0.044_715;

fn gate(x: f32) -> f32 {
    let u = SLOPE * (x + CUBIC * x * x * x);
    1.0 / (1.0 + (-2.0 * u).exp())
}

fn gelu(x: &[f32]) -> Vec<f32> {
    x.iter().map(|x| x * gate(*x)).collect()
}

/// Turns the gradient of the output into that of the input, in place.
fn gelu_backward(x: &[f32], dy: &mut [f32]) {
    for (dy, x) in dy.iter_mut().zip(x) {
        let gate = gate(*x);
        let du = SLOPE * (1.0 + 3.0 * CUBIC * x * x);
        *dy *= gate + x * gate * (1.0 - gate) * 2.0 * du;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::check::{check_gradients, numbers};

    #[test]
    fn gradients_agree_with_finite_differences() {
        let mut layout = Layout::default();
        let mlp = Mlp::new(&mut layout, 4, 0.5, 0.5);
        check_gradients(
            &layout.initial_values(1),
            &numbers(6, 3 * 4),
            |parameters, x| mlp.forward(parameters, x).0,
            |parameters, gradients, x, dy| {
                let (_, cache) = mlp.forward(parameters, x);
                mlp.backward(parameters, gradients, &cache, x, dy)
            },
        );
    }

    #[test]
    fn the_slope_of_gelu_agrees_with_finite_differences() {
        let x: Vec<f32> = numbers(5, 40).iter().map(|value| 3.0 * value).collect();
        check_gradients(
            &[],
            &x,
            |_, x| gelu(x),
            |_, _, x, dy| {
                let mut dx = dy.to_vec();
                gelu_backward(x, &mut dx);
                dx
            },
        );
    }

    #[test]
    fn far_from_zero_gelu_is_nothing_or_the_identity() {
        let y = gelu(&[-50.0, 0.0, 50.0]);
        assert_eq!((y[0], y[1], y[2]), (0.0, 0.0, 50.0));
    }
}
